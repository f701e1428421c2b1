package v4

import "fileserver/nfs/v4/proto"

// lookup is LOOKUP (RFC 8881 18.13).
func (c *compound) lookup() proto.Status {
	raw := c.d.Opaque(proto.MaxName)
	if c.badXDR() {
		return proto.ErrBadXDR
	}
	t, st := c.find(raw)
	if st != proto.OK {
		return st
	}
	if t.export != nil {
		if st := c.usable(t.export); st != proto.OK {
			return st
		}
	}
	c.setCurrent(t)
	return proto.OK
}

// find is the object of a name in the current filehandle. Whether the caller may use it is not checked yet if it is another export's.
func (c *compound) find(raw []byte) (target, proto.Status) {
	if st := c.directory(); st != proto.OK {
		return target{}, st
	}
	name, st := c.name(raw)
	if st != proto.OK {
		return target{}, st
	}
	at := c.cur.pseudo
	if at == nil {
		at = c.covered(&c.cur)
	}
	if at != nil {
		if n := at.child(name); n != nil && c.visible(n) {
			t, err := c.enter(n)
			return t, statusOf(err)
		}
		if c.cur.node == nil {
			return target{}, proto.ErrNoEnt
		}
	}
	n, err := c.cur.node.Lookup(c.ctx, c.creds(), name)
	if err != nil {
		return target{}, statusOf(err)
	}
	return c.hold(c.cur.export, n), proto.OK
}
