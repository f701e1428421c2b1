package v4

import (
	"fileserver/nfs/v4/proto"
	"fileserver/vfs"
)

// rename is RENAME (RFC 8881 18.26): from the saved filehandle to the current one.
func (c *compound) rename() proto.Status {
	from, to := c.d.Opaque(proto.MaxName), c.d.Opaque(proto.MaxName)
	if c.badXDR() {
		return proto.ErrBadXDR
	}
	if st := c.directory(); st != proto.OK {
		return notDir(st)
	}
	switch {
	case c.saved.kind() != vfs.KindDirectory:
		return proto.ErrNotDir
	case c.saved.readOnly():
		return proto.ErrROFS
	case c.saved.export != c.cur.export:
		return proto.ErrXDev
	}
	oldName, st := c.name(from)
	if st != proto.OK {
		return st
	}
	newName, st := c.name(to)
	if st != proto.OK {
		return st
	}
	if st := c.recallName(&c.saved, oldName); st != proto.OK {
		return st
	}
	if st := c.recallName(&c.cur, newName); st != proto.OK {
		return st
	}
	src, dst := c.saved.node, c.cur.node
	one, two := c.srv.cfg.Dirs.Lock2(c.cur.export.FS.Caps().FSID, src.Handle(), dst.Handle())
	defer one.Unlock()
	defer two.Unlock()
	srcBefore, dstBefore := c.change(src), c.change(dst)
	told := c.changes()
	was, replaced := told.Named(c.ctx, src, oldName), told.Named(c.ctx, dst, newName)
	if err := src.Rename(c.ctx, c.creds(), oldName, dst, newName); err != nil {
		return statusOf(err)
	}
	told.Renamed(c.ctx, src, oldName, was, dst, newName, replaced)
	if st := c.stable(c.cur.export, src, dst); st != proto.OK {
		return st
	}
	c.changeInfo(srcBefore, c.change(src))
	c.changeInfo(dstBefore, c.change(dst))
	return proto.OK
}
