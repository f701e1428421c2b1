package v4

import "fileserver/nfs/v4/proto"

type closeArgs struct {
	seq uint32 // ignored (RFC 8881 18.2.3)
	sid proto.StateID
}

func (a *closeArgs) decode(c *compound) bool {
	a.seq, a.sid = c.d.Uint32(), proto.DecodeStateID(c.d)
	return c.badXDR()
}

// close is CLOSE (RFC 8881 18.2). Locks taken through the open are unlocked.
func (c *compound) close() proto.Status {
	var a closeArgs
	if a.decode(c) {
		return proto.ErrBadXDR
	}
	if st := c.cur.regular(); st != proto.OK {
		return st
	}
	if st := c.resolve(&a.sid); st != proto.OK {
		return st
	}
	act, st := c.client.CloseOpen(&a.sid, c.cur.key())
	if st != proto.OK {
		return st
	}
	c.srv.act(act)
	c.curSID = proto.InvalidStateID
	c.stateID(proto.InvalidStateID)
	return proto.OK
}
