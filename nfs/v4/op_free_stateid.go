package v4

import "fileserver/nfs/v4/proto"

// freeStateID is FREE_STATEID (RFC 8881 18.38).
func (c *compound) freeStateID() proto.Status {
	sid := proto.DecodeStateID(c.d)
	if c.badXDR() {
		return proto.ErrBadXDR
	}
	if st := c.resolve(&sid); st != proto.OK {
		return st
	}
	l, st := c.client.Locked(&sid)
	if st != proto.OK {
		return st
	}
	if c.srv.cfg.Locks.Held(l.File(), l.Owner) {
		return proto.ErrLocksHeld
	}
	return c.client.Free(l)
}
