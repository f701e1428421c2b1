package v4

import (
	"fileserver/nfs/v4/proto"
	"fileserver/vfs"
)

// remove is REMOVE (RFC 8881 18.25): of a directory or anything else.
func (c *compound) remove() proto.Status {
	raw := c.d.Opaque(proto.MaxName)
	if c.badXDR() {
		return proto.ErrBadXDR
	}
	if st := c.directory(); st != proto.OK {
		return notDir(st)
	}
	name, st := c.name(raw)
	if st != proto.OK {
		return st
	}
	if st := c.recallName(&c.cur, name); st != proto.OK {
		return st
	}
	dir, cred := c.cur.node, c.creds()
	defer c.lockDir(&c.cur).Unlock()
	before := c.change(dir)
	was := c.changes().Named(c.ctx, dir, name)
	err := dir.Remove(c.ctx, cred, name, false)
	if vfs.StatusOf(err) == vfs.ErrIsDir {
		err = dir.Remove(c.ctx, cred, name, true)
	}
	if err != nil {
		return statusOf(err)
	}
	c.changes().Removed(c.ctx, dir, name, was)
	if st := c.stable(c.cur.export, dir); st != proto.OK {
		return st
	}
	c.changeInfo(before, c.change(dir))
	return proto.OK
}
