package smb

import (
	"context"
	"errors"

	"fileserver/smb/namespace"
	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/lock"
	"fileserver/vfs/notify"
)

// open opens an object that exists (MS-FSA 2.1.5.1.2). again asks the caller to try again.
func (c *create) open(ctx context.Context, obj *namespace.Object) (st wire.Status, again bool) {
	links := &c.r.conn.srv.links
	k, st := c.link(obj)
	if st != wire.StatusSuccess {
		return st, false
	}
	o := newOpen(c.r, obj.Node, k)
	obj.Node = nil
	o.options, o.posix = c.q.Options, c.ctxs.posix
	dir, _, _ := links.where(k, c.share.FS)
	i, err := o.info(ctx)
	if err == nil && i.attr.Nlink == 0 {
		err = vfs.ErrNotFound // it has been deleted since it was found
		again = true
	}
	if err != nil {
		o.end(ctx)
		return statusOf(err), again
	}
	if c.named() {
		if st = c.joinStream(ctx, o); st == wire.StatusSuccess {
			st = c.mayOpenStream(&i)
		}
	} else {
		st = c.mayOpen(&i)
	}
	if st != wire.StatusSuccess {
		o.end(ctx)
		return st, false
	}
	maximal, err := c.share.rights(ctx, c.cred, o.object(), dir, &i.attr)
	if err != nil {
		o.end(ctx)
		return statusOf(err), false
	}
	rights := maximal & c.r.tree.maximalAccess()
	if !i.directory() && i.dos&wire.FileAttributeReadonly != 0 {
		rights &^= beyondReadOnly
	}
	need := c.desired &^ wire.MaximumAllowed
	o.granted = need
	if c.desired&wire.MaximumAllowed != 0 {
		o.granted |= rights
	}
	switch c.q.Disposition {
	case wire.FileSupersede:
		need |= wire.Delete | wire.FileWriteData
	case wire.FileOverwrite, wire.FileOverwriteIf:
		need |= wire.FileWriteData
	}
	if c.q.Options&wire.FileDeleteOnClose != 0 {
		need |= wire.Delete
	}
	if o.stream != nil && !c.found {
		need |= wire.FileWriteData
	}
	if need&^rights != 0 {
		o.end(ctx)
		return wire.StatusAccessDenied, false
	}
	if st := c.mayDelete(ctx, o, &i); st != wire.StatusSuccess {
		o.end(ctx)
		return st, false
	}
	st, rc := c.claim(o)
	if rc != nil {
		c.tries++
		o.end(ctx) // everything may have changed once the oplock is broken
		return c.r.await(rc), false
	}
	switch {
	case st != wire.StatusSuccess:
	case o.stream != nil:
		st, again = c.openStream(ctx, o)
	default:
		st = c.openFile(ctx, o, &i)
	}
	if st != wire.StatusSuccess {
		o.end(ctx)
		return st, again
	}
	return c.finish(ctx, o, maximal), false
}

// mayOpen checks whether the request may open an object with these attributes.
func (c *create) mayOpen(i *info) wire.Status {
	isDir := i.attr.Kind == vfs.KindDirectory
	switch {
	case c.q.Disposition == wire.FileCreate:
		return wire.StatusObjectNameCollision
	case isDir && (c.q.Options&wire.FileNonDirectoryFile != 0 || c.does(newContents)):
		return wire.StatusFileIsADirectory
	case !isDir && c.q.Options&wire.FileDirectoryFile != 0:
		return wire.StatusNotADirectory
	case i.tag() != 0 && c.q.Options&wire.FileOpenReparsePoint == 0:
		return wire.StatusIOReparseTagNotHandled
	case !c.does(newContents):
		return wire.StatusSuccess
	case i.attr.Kind != vfs.KindRegular, i.dos&wire.FileAttributeReadonly != 0:
		return wire.StatusAccessDenied
	case i.dos&^c.q.FileAttributes&(wire.FileAttributeHidden|wire.FileAttributeSystem) != 0:
		return wire.StatusAccessDenied
	}
	return wire.StatusSuccess
}

// mayDelete checks whether FILE_DELETE_ON_CLOSE may delete the object. A directory must be empty only when it is
// closed: one that is not empty then stays, and the client gets no error.
func (c *create) mayDelete(ctx context.Context, o *Open, i *info) wire.Status {
	if c.q.Options&wire.FileDeleteOnClose == 0 {
		return wire.StatusSuccess
	}
	if st := o.mayBeDeleted(ctx, i, false); st != wire.StatusDirectoryNotEmpty {
		return st
	}
	return wire.StatusSuccess
}

// claim claims the file for the open, after all others have given up the caches that the open would invalidate. Until
// they have, it returns a Recall to wait for.
func (c *create) claim(o *Open) (wire.Status, *lock.Recall) {
	locks := c.r.conn.srv.cfg.Locks
	access, deny := claims(o.granted, c.q.ShareAccess)
	if c.does(newContents) {
		// Replacing the contents is a write, even if the open itself does not ask for write access.
		if access, deny = claims(o.granted|wire.FileWriteData, c.q.ShareAccess); o.granted&sharing == 0 {
			deny = 0
		}
	}
	if o.granted&^undisturbing == 0 && access|deny == 0 {
		return wire.StatusSuccess, nil
	}
	keep := lock.CacheRead | lock.CacheHandle
	if c.does(newContents) {
		keep = 0
	}
	claim, rc, err := locks.OpenRecall(o.key, o.cacheKey(), access, deny, keep)
	switch {
	case err != nil:
		return wire.StatusSharingViolation, rc
	case rc != nil:
		return wire.StatusSuccess, rc
	}
	o.claim = claim
	if st, rc := c.acrossStreams(o, deny); st != wire.StatusSuccess || rc != nil {
		return st, rc
	}
	if access, deny = claims(o.granted, c.q.ShareAccess); c.does(newContents) {
		if err := claim.Change(access, deny); err != nil {
			return wire.StatusSharingViolation, nil
		}
	}
	return wire.StatusSuccess, nil
}

// openFile opens the file's data, if the open is of the data, and replaces it, if the request says so.
func (c *create) openFile(ctx context.Context, o *Open, i *info) wire.Status {
	c.action = wire.FileOpened
	if i.attr.Kind == vfs.KindDirectory {
		return wire.StatusSuccess
	}
	if i.attr.Kind != vfs.KindRegular {
		if o.granted&(wire.FileReadData|wire.FileWriteData|wire.FileAppendData) != 0 && c.q.Options&wire.FileOpenReparsePoint == 0 &&
			c.desired&wire.MaximumAllowed == 0 {
			return wire.StatusAccessDenied // the server does not open devices, pipes and sockets
		}
		return wire.StatusSuccess
	}
	if err := o.openData(ctx, c.cred, 0); err != nil {
		return statusOf(err)
	}
	if !c.does(newContents) {
		return wire.StatusSuccess
	}
	if st := c.fits(ctx); st != wire.StatusSuccess {
		return st
	}
	c.action = wire.FileOverwritten
	if c.q.Disposition == wire.FileSupersede {
		c.action = wire.FileSuperseded
	}
	if err := o.object().SetAttr(ctx, c.cred, &vfs.SetAttr{Mask: vfs.AttrSize | vfs.AttrMtime, MtimeNow: true}); err != nil {
		return statusOf(err)
	}
	if err := c.r.conn.srv.streams.removeAll(ctx, o.key, o.object()); err != nil {
		return statusOf(err)
	}
	m := i.meta
	if m.Known || c.q.FileAttributes&(namespace.Stored&^wire.FileAttributeArchive) != 0 {
		m.Known, m.Attributes = true, c.q.FileAttributes&wire.FileAttributesSettable|wire.FileAttributeArchive
		if err := namespace.StoreMeta(ctx, o.object(), &m); err != nil && !errors.Is(err, vfs.ErrUnsupported) {
			return statusOf(err)
		}
	}
	o.changed(ctx, notify.Size|notify.LastWrite|notify.Attributes)
	return c.applyEAs(ctx, o)
}

// openData opens the file with the access that the open was granted. The caller has checked the rights. flags are
// added to that access.
func (o *Open) openData(ctx context.Context, cred *vfs.Cred, flags vfs.OpenFlags) (err error) {
	if o.granted&(wire.FileReadData|wire.FileExecute) != 0 {
		flags |= vfs.OpenRead
	}
	if o.granted&(wire.FileWriteData|wire.FileAppendData) != 0 {
		flags |= vfs.OpenWrite
	}
	switch {
	case flags&(vfs.OpenRead|vfs.OpenWrite) == 0:
		return nil
	case o.stream != nil:
		o.file = o.stream
		return nil
	}
	o.file, err = o.object().Open(ctx, cred, flags)
	return err
}

// applyEAs sets the extended attributes that came with the request (MS-SMB2 3.3.5.9.1).
func (c *create) applyEAs(ctx context.Context, o *Open) wire.Status {
	if len(c.ctxs.ea) == 0 {
		return wire.StatusSuccess
	}
	x, ok := o.object().(vfs.Xattrer)
	if !ok {
		return wire.StatusEAsNotSupported
	}
	for ea := range c.ctxs.ea.All() {
		name := string(ea.Name)
		if namespace.OwnXattr(name) {
			return wire.StatusAccessDenied
		}
		if len(ea.Value) == 0 {
			continue
		}
		if err := x.SetXattr(ctx, c.cred, name, ea.Value, 0); err != nil {
			return statusOf(err)
		}
	}
	return wire.StatusSuccess
}
