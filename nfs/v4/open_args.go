package v4

import (
	"fileserver/nfs/v4/proto"
	"fileserver/nfs/xdr"
)

// How a file is created (RFC 8881 18.16.1).
const (
	unchecked = iota
	guarded
	exclusive40
	exclusive41
)

// What an OPEN claims.
const (
	claimNull = iota
	claimPrevious
	claimDelegateCur
	claimDelegatePrev
	claimFH
	claimDelegCurFH
	claimDelegPrevFH
)

// share_access beyond the accesses: what the client wants of delegations.
const (
	wantMask    = 0x3ff00
	wantDeleg   = 0xff00
	wantNoDeleg = 0x0400
	wantCancel  = 0x0500
)

type openArgs struct {
	access, deny uint32
	owner        []byte
	create       bool
	mode         uint32
	verifier     proto.Verifier
	attrs        fattr
	claim        uint32
	name         []byte
	delegation   uint32 // CLAIM_PREVIOUS
}

func (a *openArgs) decode(c *compound) bool {
	d := c.d
	d.Uint32() // seqid
	a.access, a.deny = d.Uint32(), d.Uint32()
	d.Uint64() // clientid, that of the session whatever it says (RFC 8881 18.16.3)
	a.owner = d.Opaque(proto.OpaqueLimit)
	a.create = d.Bool()
	if a.create {
		a.decodeHow(d)
	}
	a.claim = d.Uint32()
	switch a.claim {
	case claimNull, claimDelegatePrev:
		a.name = d.Opaque(proto.MaxName)
	case claimPrevious:
		a.delegation = d.Uint32()
	case claimDelegateCur:
		proto.DecodeStateID(d)
		a.name = d.Opaque(proto.MaxName)
	case claimDelegCurFH:
		proto.DecodeStateID(d)
	case claimFH, claimDelegPrevFH:
	default:
		d.Fail(xdr.ErrBadValue)
	}
	return c.badXDR()
}

func (a *openArgs) decodeHow(d *xdr.Decoder) {
	a.mode = d.Uint32()
	switch a.mode {
	case unchecked, guarded:
		a.attrs = decodeFattr(d)
	case exclusive40:
		a.verifier = proto.DecodeVerifier(d)
	case exclusive41:
		a.verifier = proto.DecodeVerifier(d)
		a.attrs = decodeFattr(d)
	default:
		d.Fail(xdr.ErrBadValue)
	}
}
