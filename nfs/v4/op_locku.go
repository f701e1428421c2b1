package v4

import (
	"fileserver/nfs/v4/proto"
	"fileserver/nfs/xdr"
	"fileserver/vfs/lock"
)

type lockUArgs struct {
	kind uint32
	sid  proto.StateID
	rng  lock.Range
}

func (a *lockUArgs) decode(c *compound) bool {
	d := c.d
	a.kind = d.Uint32()
	d.Uint32() // seqid
	a.sid = proto.DecodeStateID(d)
	a.rng.Off, a.rng.Len = d.Uint64(), d.Uint64()
	if a.kind < readLT || a.kind > writewLT {
		d.Fail(xdr.ErrBadValue)
	}
	return c.badXDR()
}

// lockU is LOCKU (RFC 8881 18.12).
func (c *compound) lockU() proto.Status {
	var a lockUArgs
	if a.decode(c) {
		return proto.ErrBadXDR
	}
	if st := c.cur.regular(); st != proto.OK {
		return st
	}
	if st := badRange(&a.rng); st != proto.OK {
		return st
	}
	if st := c.resolve(&a.sid); st != proto.OK {
		return st
	}
	key := c.cur.key()
	l, st := c.client.ContinueLock(&a.sid, key, false, true)
	if st != proto.OK {
		return st
	}
	c.srv.cfg.Locks.Unlock(key, l.Owner, a.rng)
	sid, closed := c.client.EndLock(l, true)
	if closed {
		return proto.ErrBadStateID
	}
	c.stateID(sid)
	return proto.OK
}
