package v4

import (
	"fileserver/nfs/v4/proto"
	"fileserver/nfs/v4/state"
	"fileserver/nfs/xdr"
)

// decodeCallbackSec consumes callback_sec_parms4<> (RFC 8881 18.33.1), of no use without a back channel.
func decodeCallbackSec(d *xdr.Decoder) {
	for range d.Count(16, 4) {
		switch d.Uint32() {
		case 0: // AUTH_NONE
		case 1: // AUTH_SYS: authsys_parms
			d.Uint32()
			d.Opaque(255)
			d.Uint32()
			d.Uint32()
			for range d.Count(16, 4) {
				d.Uint32()
			}
		case 6: // RPCSEC_GSS
			d.Uint32()
			d.Opaque(proto.OpaqueLimit)
			d.Opaque(proto.OpaqueLimit)
		default:
			d.Fail(xdr.ErrBadValue)
		}
	}
}

func decodeSessionArgs(d *xdr.Decoder) (a state.SessionArgs) {
	a.ClientID, a.Seq, a.Flags = d.Uint64(), d.Uint32(), d.Uint32()
	a.Fore, a.Back = proto.DecodeChannelAttrs(d), proto.DecodeChannelAttrs(d)
	d.Uint32() // callback program
	decodeCallbackSec(d)
	return a
}

// createSession is CREATE_SESSION (RFC 8881 18.36). There is no back channel, and sessions do not persist: no flag is ever returned.
func (c *compound) createSession() proto.Status {
	a := decodeSessionArgs(c.d)
	if c.badXDR() {
		return proto.ErrBadXDR
	}
	n, act, st := c.srv.clients.CreateSession(a, c.caller(), c.now)
	c.srv.act(act)
	if st != proto.OK {
		return st
	}
	c.r.Head = append(c.r.Head, n.ID[:]...)
	c.uint32(n.Seq)
	c.uint32(n.Flags)
	c.r.Head = n.Back.Append(n.Fore.Append(c.r.Head))
	return proto.OK
}

// destroySession is DESTROY_SESSION (RFC 8881 18.37).
func (c *compound) destroySession() proto.Status {
	id := proto.DecodeSessionID(c.d)
	if c.badXDR() {
		return proto.ErrBadXDR
	}
	own := c.turn.Session()
	if own != nil && own.ID == id && c.index+1 < c.count {
		return proto.ErrNotOnlyOp
	}
	return c.srv.clients.DestroySession(&id, own, c.call.Conn.ID)
}

type bindConnArgs struct {
	session proto.SessionID
	dir     uint32 // channel_dir_from_client4
	rdma    bool
}

func (a *bindConnArgs) decode(c *compound) bool {
	a.session, a.dir, a.rdma = proto.DecodeSessionID(c.d), c.d.Uint32(), c.d.Bool()
	switch a.dir {
	case 1, 2, 3, 7:
	default:
		c.d.Fail(xdr.ErrBadValue)
	}
	return c.badXDR()
}

// bindConnToSession is BIND_CONN_TO_SESSION (RFC 8881 18.34): every connection serves the fore channel, none a back channel.
func (c *compound) bindConnToSession() proto.Status {
	var a bindConnArgs
	if a.decode(c) {
		return proto.ErrBadXDR
	}
	s := c.srv.clients.Session(&a.session)
	switch {
	case s == nil:
		return proto.ErrBadSession
	case a.dir == 2: // CDFC4_BACK, and nothing else
		return proto.ErrInval
	}
	s.Bind(c.call.Conn.ID)
	c.r.Head = append(c.r.Head, a.session[:]...)
	c.uint32(1) // CDFS4_FORE
	c.bool(false)
	return proto.OK
}

// backchannelCtl is BACKCHANNEL_CTL (RFC 8881 18.33). It is refused, because no session has a back channel.
func (c *compound) backchannelCtl() proto.Status {
	c.d.Uint32()
	decodeCallbackSec(c.d)
	if c.badXDR() {
		return proto.ErrBadXDR
	}
	return proto.ErrNotSupp
}
