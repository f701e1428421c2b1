package v4

import (
	"fileserver/nfs/v4/proto"
)

// testStateID is TEST_STATEID (RFC 8881 18.48).
func (c *compound) testStateID() proto.Status {
	n := c.d.Count(1024, 16)
	if c.badXDR() {
		return proto.ErrBadXDR
	}
	c.uint32(uint32(n))
	for range n {
		sid := proto.DecodeStateID(c.d)
		c.uint32(uint32(c.client.Test(&sid)))
	}
	return proto.OK
}

// freeStateID is FREE_STATEID (RFC 8881 18.38).
func (c *compound) freeStateID() proto.Status {
	sid := proto.DecodeStateID(c.d)
	if c.badXDR() {
		return proto.ErrBadXDR
	}
	if st := c.resolve(&sid); st != proto.OK {
		return st
	}
	l, st := c.client.FindLocks(&sid)
	if st != proto.OK {
		return st
	}
	if c.srv.cfg.Locks.Held(l.File(), l.Owner) {
		return proto.ErrLocksHeld
	}
	return c.client.Free(l)
}
