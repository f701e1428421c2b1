package v4

import "fileserver/nfs/v4/proto"

// lookupP is LOOKUPP (RFC 8881 18.14). Above an export's root lies the pseudo file system.
func (c *compound) lookupP() proto.Status {
	t, st := c.parent()
	if st != proto.OK {
		return st
	}
	if t.export != nil && t.export != c.cur.export {
		if st := c.usable(t.export); st != proto.OK {
			return st
		}
	}
	c.setCurrent(t)
	return proto.OK
}

// parent is the directory above the current filehandle.
func (c *compound) parent() (target, proto.Status) {
	if st := c.directory(); st != proto.OK {
		return target{}, st
	}
	at := c.cur.pseudo
	if at == nil {
		at = c.covered(&c.cur)
	}
	if at != nil {
		if at.parent == nil { // the root
			return target{}, proto.ErrNoEnt
		}
		t, err := c.enter(at.parent)
		return t, statusOf(err)
	}
	n, err := c.cur.node.Parent(c.ctx, c.creds())
	if err != nil {
		return target{}, statusOf(err)
	}
	return c.hold(c.cur.export, n), proto.OK
}
