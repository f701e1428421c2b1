package v4

import "fileserver/nfs/v4/proto"

// removeXattr is REMOVEXATTR (RFC 8276 8.4.4).
func (c *compound) removeXattr() proto.Status {
	raw := c.d.Opaque(proto.MaxName)
	if c.badXDR() {
		return proto.ErrBadXDR
	}
	x, name, st := c.xattrs(raw)
	if st != proto.OK {
		return st
	}
	n := c.cur.node
	defer c.lockDir(&c.cur).Unlock()
	before := c.change(n)
	if err := x.RemoveXattr(c.ctx, c.creds(), name); err != nil {
		return statusOf(err)
	}
	c.changes().Xattrs(c.ctx, n)
	if st := c.stable(c.cur.export, n); st != proto.OK {
		return st
	}
	c.changeInfo(before, c.change(n))
	return proto.OK
}
