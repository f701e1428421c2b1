package v4

import (
	"strconv"

	"fileserver/nfs/rpc"
	"fileserver/nfs/v4/proto"
	"fileserver/nfs/v4/state"
	"fileserver/nfs/xdr"
)

type exchangeIDArgs struct {
	verifier proto.Verifier
	owner    []byte
	flags    uint32
	protect  uint32 // state_protect_how4
}

func (a *exchangeIDArgs) decode(c *compound) bool {
	d := c.d
	a.verifier, a.owner = proto.DecodeVerifier(d), d.Opaque(proto.OpaqueLimit)
	a.flags, a.protect = d.Uint32(), d.Uint32()
	switch a.protect {
	case 0: // SP4_NONE
	case 1: // SP4_MACH_CRED
		proto.DecodeBitmap(d)
		proto.DecodeBitmap(d)
	case 2: // SP4_SSV
		proto.DecodeBitmap(d)
		proto.DecodeBitmap(d)
		for range 2 {
			for range d.Count(64, 4) {
				d.Opaque(proto.OpaqueLimit)
			}
		}
		d.Uint32()
		d.Uint32()
	default:
		d.Fail(xdr.ErrBadValue)
	}
	for range d.Count(1, 20) { // nfs_impl_id4
		d.Opaque(proto.OpaqueLimit)
		d.Opaque(proto.OpaqueLimit)
		d.Uint64()
		d.Uint32()
	}
	return c.badXDR()
}

// exchangeID is EXCHANGE_ID (RFC 8881 18.35).
func (c *compound) exchangeID() proto.Status {
	var a exchangeIDArgs
	if a.decode(c) {
		return proto.ErrBadXDR
	}
	switch a.protect {
	case 1: // state protection by machine credentials is of RPCSEC_GSS only (RFC 8881 18.35.3)
		return proto.ErrInval
	case 2:
		return proto.ErrEncrAlgUnsupp
	}
	e, act, st := c.srv.clients.ExchangeID(a.owner, a.verifier, c.caller(), a.flags, c.now)
	c.srv.act(act)
	if st != proto.OK {
		return st
	}
	c.uint64(e.ClientID)
	c.uint32(e.Seq)
	c.uint32(e.Flags)
	c.uint32(0) // SP4_NONE
	c.uint64(0) // so_minor_id
	c.r.Head = xdr.AppendString(c.r.Head, c.srv.owner)
	c.r.Head = xdr.AppendString(c.r.Head, c.srv.owner) // eir_server_scope
	c.uint32(0)                                        // no nfs_impl_id4
	return proto.OK
}

// caller is who the call is from.
func (c *compound) caller() state.Caller {
	return state.Caller{Principal: c.principal(), Addr: c.call.Conn.RemoteAddr.Addr().Unmap(), Conn: c.call.Conn.ID}
}

// principal is who the call authenticates as.
func (c *compound) principal() state.Principal {
	p := state.Principal{Flavor: uint32(c.call.Flavor)}
	if c.call.Flavor == rpc.AuthSys {
		p.Name = strconv.Itoa(int(c.call.Cred.UID))
		if !c.call.Conn.Privileged() && c.srv.cfg.Exports.PrivilegedPorts() {
			p.Name += " unprivileged" // who says so is not the client's root
		}
	}
	return p
}

// destroyClientID is DESTROY_CLIENTID (RFC 8881 18.50).
func (c *compound) destroyClientID() proto.Status {
	id := c.d.Uint64()
	if c.badXDR() {
		return proto.ErrBadXDR
	}
	a, st := c.srv.clients.DestroyClientID(id)
	c.srv.act(a)
	return st
}

// reclaimComplete is RECLAIM_COMPLETE (RFC 8881 18.51). No file system migrates: for one there is never anything to reclaim.
func (c *compound) reclaimComplete() proto.Status {
	oneFS := c.d.Bool()
	switch {
	case c.badXDR():
		return proto.ErrBadXDR
	case oneFS && !c.cur.isSet():
		return proto.ErrNoFileHandle
	case oneFS:
		return proto.OK
	}
	// From here on the client may have state: after a restart it is waited for.
	if c.srv.remember(c.client) != nil {
		return proto.ErrServerFault
	}
	a, st := c.srv.clients.ReclaimComplete(c.client)
	c.srv.act(a)
	return st
}
