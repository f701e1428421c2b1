package v4

import (
	"fileserver/nfs/v4/proto"
	"fileserver/nfs/v4/state"
)

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

type openDowngradeArgs struct {
	sid          proto.StateID
	access, deny uint32
}

func (a *openDowngradeArgs) decode(c *compound) bool {
	a.sid = proto.DecodeStateID(c.d)
	c.d.Uint32() // seqid
	a.access, a.deny = c.d.Uint32(), c.d.Uint32()
	return c.badXDR()
}

// openDowngrade is OPEN_DOWNGRADE (RFC 8881 18.18).
func (c *compound) openDowngrade() proto.Status {
	var a openDowngradeArgs
	if a.decode(c) {
		return proto.ErrBadXDR
	}
	a.access &^= wantMask
	if a.access == 0 || a.access > 3 || a.deny > 3 {
		return proto.ErrInval
	}
	if st := c.cur.regular(); st != proto.OK {
		return st
	}
	if st := c.resolve(&a.sid); st != proto.OK {
		return st
	}
	sid, act, st := c.client.Downgrade(&a.sid, c.cur.key(), state.Share(a.access), state.Share(a.deny))
	c.srv.act(act)
	if st != proto.OK {
		return st
	}
	c.stateID(sid)
	return proto.OK
}
