package v4

import (
	"fileserver/nfs/v4/proto"
	"fileserver/nfs/xdr"
)

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
	switch {
	case c.srv.clients.Session(&a.session) == nil:
		return proto.ErrBadSession
	case a.dir == 2: // CDFC4_BACK, and nothing else
		return proto.ErrInval
	}
	c.r.Head = append(c.r.Head, a.session[:]...)
	c.uint32(1) // CDFS4_FORE
	c.bool(false)
	return proto.OK
}
