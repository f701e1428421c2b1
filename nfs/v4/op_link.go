package v4

import (
	"fileserver/nfs/v4/proto"
	"fileserver/vfs"
)

// link is LINK (RFC 8881 18.9): of the saved filehandle into the current one.
func (c *compound) link() proto.Status {
	raw := c.d.Opaque(proto.MaxName)
	if c.badXDR() {
		return proto.ErrBadXDR
	}
	if st := c.directory(); st != proto.OK {
		return notDir(st)
	}
	switch {
	case c.saved.kind() == vfs.KindDirectory:
		return proto.ErrIsDir
	case c.saved.export != c.cur.export:
		return proto.ErrXDev
	}
	name, st := c.name(raw)
	if st != proto.OK {
		return st
	}
	dir := c.cur.node
	defer c.lockDir(&c.cur).Unlock()
	before := c.change(dir)
	if err := dir.Link(c.ctx, c.creds(), name, c.saved.node); err != nil {
		return statusOf(err)
	}
	c.changes().Added(c.ctx, dir, name, c.saved.kind())
	if st := c.stable(c.cur.export, dir, c.saved.node); st != proto.OK {
		return st
	}
	c.changeInfo(before, c.change(dir))
	return proto.OK
}
