package smb

import (
	"context"

	"fileserver/smb/wire"
	"fileserver/vfs"
)

// mayBeDeleted checks that the open's file can be deleted: not if it is read-only, the share's root, or a directory that
// is not empty (MS-FSA 2.1.5.15.3).
func (o *Open) mayBeDeleted(ctx context.Context, i *info) wire.Status {
	dir, _, _ := o.session.srv.links.where(o.link)
	switch {
	case dir == nil:
		return wire.StatusCannotDelete
	case i.attributes&wire.FileAttributeReadonly != 0:
		return wire.StatusCannotDelete
	case !o.dir:
		return wire.StatusSuccess
	}
	empty := true
	_, err := o.node.ReadDir(ctx, &o.session.user.Cred, 0, 0, false, func(*vfs.DirEntry) bool { empty = false; return false })
	switch {
	case vfs.StatusOf(err) == vfs.ErrAccess: // then the attempt will tell
	case err != nil:
		return statusOf(err)
	case !empty:
		return wire.StatusDirectoryNotEmpty
	}
	return wire.StatusSuccess
}

// setDelete has the open's file deleted when the last open of its name is closed, or not any more: FileDispositionInformation
// (MS-FSCC 2.4.11). The open needs DELETE, which the caller has checked.
func (o *Open) setDelete(ctx context.Context, del bool) wire.Status {
	if del {
		i, err := o.info(ctx)
		if err != nil {
			return statusOf(err)
		}
		if st := o.mayBeDeleted(ctx, &i); st != wire.StatusSuccess {
			return st
		}
	}
	o.session.srv.links.setPending(o.link, del, &o.session.user.Cred)
	return wire.StatusSuccess
}

// deletePending tells whether the file will be deleted, as FileStandardInformation says.
func (o *Open) deletePending() bool { return o.session.srv.links.isPending(o.link) }

// path is the open's path from the share's root, elements separated by "/", "" for the root.
func (o *Open) path() string {
	_, _, path := o.session.srv.links.where(o.link)
	return path
}

// info asks what there is to say of the open's file.
func (o *Open) info(ctx context.Context) (info, error) {
	_, name, _ := o.session.srv.links.where(o.link)
	return o.tree.share.infoOf(ctx, o.node, name)
}
