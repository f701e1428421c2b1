package v4

import (
	"fileserver/nfs/v4/proto"
	"fileserver/nfs/xdr"
	"fileserver/vfs/lock"
)

type lockTArgs struct {
	kind  uint32
	rng   lock.Range
	owner []byte
}

func (a *lockTArgs) decode(c *compound) bool {
	d := c.d
	a.kind = d.Uint32()
	a.rng.Off, a.rng.Len = d.Uint64(), d.Uint64()
	d.Uint64() // clientid
	a.owner = d.Opaque(proto.OpaqueLimit)
	if a.kind < readLT || a.kind > writewLT {
		d.Fail(xdr.ErrBadValue)
	}
	return c.badXDR()
}

// lockT is LOCKT (RFC 8881 18.11).
func (c *compound) lockT() proto.Status {
	var a lockTArgs
	if a.decode(c) {
		return proto.ErrBadXDR
	}
	if st := c.cur.regular(); st != proto.OK {
		return st
	}
	if st := badRange(&a.rng); st != proto.OK {
		return st
	}
	if c.srv.clients.Grace().Active() {
		return proto.ErrGrace
	}
	write := a.kind == writeLT || a.kind == writewLT
	if d := c.tryLock(c.cur.key(), c.client.LockOwner(string(a.owner)), a.rng, write, true); d != nil {
		c.denied(d)
		return proto.ErrDenied
	}
	return proto.OK
}
