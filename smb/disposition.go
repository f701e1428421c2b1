package smb

import (
	"context"

	"fileserver/smb/namespace"
	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/lock"
)

// mayBeDeleted checks that the open's file can be deleted: not if it is read-only and that is not to be ignored, the share's root, or a directory that
// is not empty (MS-FSA 2.1.5.15.3).
func (o *Open) mayBeDeleted(ctx context.Context, i *info, readonly bool) wire.Status {
	dir, _, _ := o.session.srv.links.where(o.link, o.tree.share.FS)
	switch {
	case dir == nil && !o.named():
		return wire.StatusCannotDelete
	case i.dos&wire.FileAttributeReadonly != 0 && !readonly:
		return wire.StatusCannotDelete
	case !o.dir:
		return wire.StatusSuccess
	}
	empty := true
	_, err := o.node.ReadDir(ctx, o.cred, 0, 0, false, func(*vfs.DirEntry) bool { empty = false; return false })
	switch {
	case vfs.StatusOf(err) == vfs.ErrAccess: // then the attempt will tell
	case err != nil:
		return statusOf(err)
	case !empty:
		return wire.StatusDirectoryNotEmpty
	}
	return wire.StatusSuccess
}

// setDeletePending has the open's file deleted when the last open of its name is closed, or not any more, by flags (wire.Disposition…);
// with POSIX semantics it loses the name at once (FileDispositionInformation, FileDispositionInformationEx: MS-FSCC 2.4.11). DELETE access is the caller's to check.
func (o *Open) setDeletePending(ctx context.Context, r *request, flags uint32) wire.Status {
	on, posix := flags&wire.DispositionDelete != 0, flags&wire.DispositionPosixSemantics != 0
	links := &o.session.srv.links
	if on {
		i, err := o.info(ctx)
		if err != nil {
			return statusOf(err)
		}
		if st := o.mayBeDeleted(ctx, &i, flags&wire.DispositionIgnoreReadonlyAttribute != 0); st != wire.StatusSuccess {
			return st
		}
		if posix && !o.named() {
			return statusOf(links.unlink(ctx, o.link, o.tree.share.FS, r.cred()))
		}
	}
	if o.named() {
		o.session.srv.streams.setPending(o.stream.s, on)
		return wire.StatusSuccess
	}
	links.setPending(o.link, on, r.cred())
	return wire.StatusSuccess
}

// deletePending reports whether the file will be deleted, as FileStandardInformation says.
func (o *Open) deletePending() bool {
	return o.session.srv.links.isPending(o.link) || o.stream != nil && o.session.srv.streams.isPending(o.stream.s)
}

// parent is the directory of the open's name, and the name in it: what a rename is from. The reference is
// the caller's. The share's root has none, and cannot be renamed.
func (o *Open) parent(ctx context.Context) (vfs.Node, string, wire.Status) {
	dir, name, _ := o.session.srv.links.where(o.link, o.tree.share.FS)
	if dir == nil {
		return nil, "", wire.StatusAccessDenied
	}
	n, err := o.tree.share.FS.Resolve(ctx, dir.Handle())
	return n, name, statusOf(err)
}

// moved notes that the open's name has become what obj names, replacing obj.Node if there is one. It may take
// obj.Dir over; obj is released by the caller as ever.
func (o *Open) moved(_ context.Context, obj *namespace.Object) {
	var replaced *lock.FileKey
	if obj.Node != nil {
		k := obj.Node.Identity()
		replaced = &k
	}
	o.session.srv.links.move(o.link, o.tree.share.FS, obj, replaced)
}

// openBelow reports whether a stream of the open's file is open, or something in its directory or further down: then it cannot be renamed (MS-FSA 2.1.5.15.11).
func (o *Open) openBelow() bool {
	return len(o.session.srv.streams.open(o.link.key)) > 0 || o.dir && o.session.srv.links.below(o.link, o.tree.share.FS)
}
