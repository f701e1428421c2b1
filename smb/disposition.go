package smb

import (
	"context"

	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/notify"
)

// disposition is what becomes of a name or a named stream when its last open is closed: IsDeleted of MS-FSA 2.1.1.4 and 2.1.1.5.
// Each link and each stream has one, which the mutex of its table guards.
//
// There are two ways to ask for a deletion: SET_INFO asks at once (2.1.5.15.3), FILE_DELETE_ON_CLOSE when the open is closed that
// has it (2.1.5.5, phase 1). From then on it is pending. The last open deletes (2.1.5.5, phases 2 and 3).
type disposition struct {
	opens   int
	pending bool      // it will be deleted with the last open; meanwhile nobody opens it
	gone    bool      // it has been deleted or replaced already
	cred    *vfs.Cred // on whose behalf it will be deleted
}

// set has it deleted with the last open, on behalf of c; nil: not any more.
func (d *disposition) set(c *vfs.Cred) { d.pending, d.cred = c != nil, c }

// due reports whether the open that is being closed has to delete it.
func (d *disposition) due() bool { return d.opens == 1 && d.pending && !d.gone }

// leave takes the open away from its stream and its name (MS-FSA 2.1.5.5). FILE_DELETE_ON_CLOSE is about the stream if the open is
// of one, otherwise about the name.
func (o *Open) leave(ctx context.Context) {
	srv := o.srv
	path := o.path()
	var name, stream *vfs.Cred // on whose behalf they are to be deleted from now on
	switch {
	case !o.deletes:
	case o.named():
		stream = o.cred
	default:
		name = o.cred
	}
	if o.stream != nil {
		deleted, err := srv.streams.leave(ctx, o.stream.s, o.object(), stream)
		if deleted {
			ref, _ := srv.streams.where(o.stream.s)
			o.streamed(ctx, notify.RemovedStream, ref.Name)
		}
		if err != nil {
			srv.cfg.Logger.Info("smb: stream not deleted on close", "share", o.share.Name, "path", path, "err", err)
		}
	}
	if err := srv.links.leave(ctx, o.link, o.share.FS, name); err != nil {
		srv.cfg.Logger.Info("smb: not deleted on close", "share", o.share.Name, "path", path, "err", err)
	}
}

// mayBeDeleted checks that the open's file can be deleted (MS-FSA 2.1.5.15.3). The share's root cannot, nor a directory that
// is not empty, nor a read-only file unless readonly is set.
func (o *Open) mayBeDeleted(ctx context.Context, i *info, readonly bool) wire.Status {
	dir, _, _ := o.srv.links.where(o.link, o.share.FS)
	switch {
	case dir == nil && !o.named():
		return wire.StatusCannotDelete
	case i.dos&wire.FileAttributeReadonly != 0 && !readonly:
		return wire.StatusCannotDelete
	case !o.dir || o.object().Kind() != vfs.KindDirectory: // a reparse point has taken the place of some
		return wire.StatusSuccess
	}
	empty := true
	_, err := o.object().ReadDir(ctx, o.cred, 0, 0, false, func(*vfs.DirEntry) bool { empty = false; return false })
	switch {
	case vfs.StatusOf(err) == vfs.ErrAccess: // then the attempt will show it
	case err != nil:
		return statusOf(err)
	case !empty:
		return wire.StatusDirectoryNotEmpty
	}
	return wire.StatusSuccess
}

// setDeletePending has the open's stream or name deleted with its last open, or not any more, as the flags say (wire.Disposition…). With
// POSIX semantics the file loses the name at once (FileDispositionInformation, FileDispositionInformationEx: MS-FSCC 2.4.11). The
// caller checks DELETE access.
func (o *Open) setDeletePending(ctx context.Context, r *request, flags uint32) wire.Status {
	links := &o.srv.links
	var c *vfs.Cred // on whose behalf
	if flags&wire.DispositionDelete != 0 {
		c = r.cred()
		i, err := o.info(ctx)
		if err != nil {
			return statusOf(err)
		}
		if st := o.mayBeDeleted(ctx, &i, flags&wire.DispositionIgnoreReadonlyAttribute != 0); st != wire.StatusSuccess {
			return st
		}
		if flags&wire.DispositionPosixSemantics != 0 && !o.named() {
			return statusOf(links.unlink(ctx, o.link, o.share.FS, c))
		}
	}
	if o.named() {
		o.srv.streams.setPending(o.stream.s, c)
	} else {
		links.setPending(o.link, c)
	}
	return wire.StatusSuccess
}

// deletePending reports whether the file or the stream will be deleted, as FileStandardInformation says.
func (o *Open) deletePending() bool {
	return o.srv.links.isPending(o.link) || o.stream != nil && o.srv.streams.isPending(o.stream.s)
}
