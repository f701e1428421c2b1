package smb

import (
	"context"
	"errors"

	"fileserver/smb/namespace"
	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/lock"
)

// make creates a file or directory under a name that does not exist (MS-FSA 2.1.5.1.1). again asks the caller to try
// again.
func (c *create) make(ctx context.Context, obj *namespace.Object) (st wire.Status, again bool) {
	isDir := c.q.Options&wire.FileDirectoryFile != 0
	deletes := c.q.Options&wire.FileDeleteOnClose != 0
	switch {
	case !c.does(mayCreate):
		return wire.StatusObjectNameNotFound, false
	case c.share.readOnly():
		return wire.StatusAccessDenied, false
	case c.named() && !namespace.HasStreams(ctx, obj.Dir):
		return c.noStreams(), false
	case deletes && c.q.FileAttributes&wire.FileAttributeReadonly != 0:
		return wire.StatusCannotDelete, false
	case c.r.conn.srv.links.dying(obj.Dir.Identity()):
		return wire.StatusDeletePending, false
	}
	if st := c.fits(ctx); st != wire.StatusSuccess {
		return st, false
	}
	set := vfs.SetAttr{Mask: vfs.AttrMode, Mode: c.mode(isDir)}
	n, err := c.makeNode(ctx, obj, isDir, &set)
	if err != nil {
		if vfs.StatusOf(err) == vfs.ErrExist {
			return wire.StatusObjectNameCollision, true // another client created it first
		}
		return statusOf(err), false
	}
	c.share.view().Added(ctx, obj.Dir, obj.Name)
	obj.Node, obj.Entry = n, n.Handle()
	k, st := c.link(obj)
	if st != wire.StatusSuccess {
		return st, false
	}
	o := newOpen(c.r, n, k)
	obj.Node = nil
	o.options, o.posix = c.q.Options, c.ctxs.posix
	if c.r.conn.srv.cfg.Locks.Changes.Active() {
		dir, name, path := c.r.conn.srv.links.where(k, c.share.FS)
		o.added(ctx, &namespace.Object{Dir: dir, Name: name, Path: path}, n.Kind())
	}
	if c.named() {
		st = c.makeStream(ctx, o)
	}
	if st == wire.StatusSuccess {
		var rc *lock.Recall
		if st, rc = c.claimNew(o); rc != nil {
			c.tries++
			o.end(ctx)
			return c.r.await(rc), false
		}
		if st != wire.StatusSuccess {
			o.end(ctx) // others already use the new object
			return st, false
		}
		st = c.furnish(ctx, o)
	}
	if st != wire.StatusSuccess {
		c.undo(o)
		o.end(ctx)
		return st, false
	}
	c.action = wire.FileCreated
	return c.finish(ctx, o, wire.FileAllAccess), false
}

// makeNode creates the file or directory.
func (c *create) makeNode(ctx context.Context, obj *namespace.Object, isDir bool, set *vfs.SetAttr) (n vfs.Node, err error) {
	defer c.r.conn.srv.cfg.Locks.LockNames(obj.Dir.Identity()).Unlock()
	if isDir {
		return obj.Dir.Mkdir(ctx, c.cred, obj.Name, set)
	}
	n, _, err = obj.Dir.Create(ctx, c.cred, obj.Name, true, set)
	return n, err
}

// claimNew claims the object that the request has just created. Others may already have it open: the request fails if
// they do not share, and may try again after the Recall, if there is one. Other caches are recalled too, but nobody
// waits for that, because their owners opened the object at the same time as this request.
func (c *create) claimNew(o *Open) (wire.Status, *lock.Recall) {
	o.granted = c.desired &^ wire.MaximumAllowed
	if c.desired&wire.MaximumAllowed != 0 {
		o.granted |= wire.FileAllAccess
	}
	locks := c.r.conn.srv.cfg.Locks
	access, deny := claims(o.granted, c.q.ShareAccess)
	claim, err := locks.Open(o.key, o.cacheKey(), access, deny)
	if err != nil {
		return wire.StatusSharingViolation, locks.Recall(o.key, o.cacheKey(), lock.CacheRead|lock.CacheWrite)
	}
	o.claim = claim
	locks.Recall(o.key, o.cacheKey(), lock.CacheRead|lock.CacheHandle)
	return wire.StatusSuccess, nil
}

// undo deletes the object that the request has created, unless others have opened it.
func (c *create) undo(o *Open) {
	if !c.r.conn.srv.cfg.Locks.Others(o.link.key, o.cacheKey()) {
		c.r.conn.srv.links.setPendingAlone(o.link, c.cred)
	}
}

// furnish gives the new object the attributes that the request names, and opens it for the client.
func (c *create) furnish(ctx context.Context, o *Open) wire.Status {
	if !o.dir {
		// The creator of a file has the access that it asks for, whatever the file's mode says.
		if err := o.openData(ctx, c.cred, vfs.AccessOwnerOverride); err != nil {
			return statusOf(err)
		}
	}
	if st := c.secure(ctx, o); st != wire.StatusSuccess {
		return st
	}
	a := c.q.FileAttributes & wire.FileAttributesSettable
	if !o.dir {
		a |= wire.FileAttributeArchive
	}
	if a&^wire.FileAttributeArchive != 0 {
		m := namespace.Meta{Known: true, Attributes: a}
		if err := namespace.StoreMeta(ctx, o.object(), &m); err != nil && !errors.Is(err, vfs.ErrUnsupported) {
			return statusOf(err)
		}
	}
	return c.applyEAs(ctx, o)
}

// mode returns the new object's mode.
func (c *create) mode(isDir bool) uint32 {
	if c.ctxs.posix {
		return c.ctxs.mode & 0o7777
	}
	return c.share.mode(isDir)
}

// fits checks that there is room for the allocation size of the create context AlSi. The reservation is only a hint:
// storage is allocated as the file is written (MS-SMB2 3.3.5.9.3).
func (c *create) fits(ctx context.Context) wire.Status {
	if c.ctxs.allocate == 0 {
		return wire.StatusSuccess
	}
	s, err := c.share.FS.StatFS(ctx, c.cred)
	switch {
	case err != nil:
		return statusOf(err)
	case c.ctxs.allocate > s.AvailBytes:
		return wire.StatusDiskFull
	}
	return wire.StatusSuccess
}
