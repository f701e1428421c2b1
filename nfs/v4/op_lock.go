package v4

import (
	"fileserver/nfs"
	"fileserver/nfs/v4/proto"
	"fileserver/nfs/v4/state"
	"fileserver/nfs/xdr"
	"fileserver/vfs/lock"
)

// Kinds of locks (RFC 8881 18.10.1). The blocking kinds only announce that the client will ask again.
const (
	readLT = 1 + iota
	writeLT
	readwLT
	writewLT
)

type lockArgs struct {
	kind    uint32
	reclaim bool
	rng     lock.Range
	fresh   bool          // new_lock_owner
	sid     proto.StateID // of the open, or of the locks
	owner   []byte
}

func (a *lockArgs) decode(c *compound) bool {
	d := c.d
	a.kind, a.reclaim = d.Uint32(), d.Bool()
	a.rng.Off, a.rng.Len = d.Uint64(), d.Uint64()
	if a.fresh = d.Bool(); a.fresh {
		d.Uint32() // open_seqid
		a.sid = proto.DecodeStateID(d)
		d.Uint32() // lock_seqid
		d.Uint64() // clientid, that of the session whatever it says (RFC 8881 18.10.3)
		a.owner = d.Opaque(proto.OpaqueLimit)
	} else {
		a.sid = proto.DecodeStateID(d)
		d.Uint32()
	}
	if a.kind < readLT || a.kind > writewLT {
		d.Fail(xdr.ErrBadValue)
	}
	return c.badXDR()
}

// badRange returns NFS4ERR_INVAL for an empty range or one that overflows (RFC 8881 18.10.3).
func badRange(r *lock.Range) proto.Status {
	if r.Len == 0 || r.Len != lock.ToEnd && r.Len-1 > ^uint64(0)-r.Off {
		return proto.ErrInval
	}
	return proto.OK
}

// lock is LOCK (RFC 8881 18.10).
func (c *compound) lock() proto.Status {
	var a lockArgs
	if a.decode(c) {
		return proto.ErrBadXDR
	}
	if st := c.cur.regular(); st != proto.OK {
		return st
	}
	if st := badRange(&a.rng); st != proto.OK {
		return st
	}
	if st := c.mayClaim(a.reclaim); st != proto.OK {
		return st
	}
	if st := c.resolve(&a.sid); st != proto.OK {
		return st
	}
	key := c.cur.key()
	if st := c.recall(&key, nfs.KeepToChange); st != proto.OK {
		return st
	}
	write := a.kind == writeLT || a.kind == writewLT
	var l *state.LockState
	var st proto.Status
	if a.fresh {
		l, st = c.client.BeginLock(&a.sid, key, a.owner, write)
	} else {
		l, st = c.client.ContinueLock(&a.sid, key, write, false)
	}
	if st != proto.OK {
		return st
	}
	denied := c.tryLock(key, l.Owner, a.rng, write, false)
	sid, closed := c.client.EndLock(l, denied == nil)
	switch {
	case denied != nil && denied.Full:
		return proto.ErrDelay
	case denied != nil && a.reclaim:
		return proto.ErrReclaimConflict
	case denied != nil:
		c.denied(denied)
		return proto.ErrDenied
	case closed:
		c.srv.cfg.Locks.UnlockAll(key, l.Owner)
		return proto.ErrBadStateID
	}
	c.stateID(sid)
	return proto.OK
}

// mayClaim reports whether the client may be given new state, or reclaim some (RFC 8881 8.4.2.1).
func (c *compound) mayClaim(reclaim bool) proto.Status {
	g := c.srv.clients.Grace()
	switch {
	case reclaim && (!g.Active() || c.client.ReclaimDone()):
		return proto.ErrNoGrace
	case reclaim && !g.MayReclaim(c.client.Record()):
		return proto.ErrNoGrace
	case !reclaim && (g.Active() || !c.client.ReclaimDone()):
		return proto.ErrGrace
	}
	if reclaim {
		g.Reclaimed(c.now)
	}
	return proto.OK
}

// tryLock takes a lock, or tests for one, and returns what conflicts. Courtesy towards an expired holder ends.
func (c *compound) tryLock(key lock.FileKey, o lock.Owner, r lock.Range, write, test bool) *lock.Conflict {
	m := c.srv.cfg.Locks
	for {
		var denied *lock.Conflict
		if test {
			denied = m.Test(key, o, r, write)
		} else {
			denied = m.Lock(key, o, r, write)
		}
		if denied == nil || denied.Full || denied.Owner.Proto != state.ProtoNFS4 {
			return denied
		}
		a, expired := c.srv.clients.Expire(denied.Owner.Client, c.now)
		c.srv.act(a)
		if !expired {
			return denied
		}
	}
}

// denied appends a LOCK4denied.
func (c *compound) denied(d *lock.Conflict) {
	c.uint64(d.Range.Off)
	c.uint64(d.Range.Len)
	if d.Exclusive {
		c.uint32(writeLT)
	} else {
		c.uint32(readLT)
	}
	var client uint64
	var owner string
	if d.Owner.Proto == state.ProtoNFS4 {
		client, owner = d.Owner.Client, d.Owner.ID
	}
	c.uint64(client)
	c.r.Head = xdr.AppendString(c.r.Head, owner)
}

// stateID appends a stateid4, and makes it the current one.
func (c *compound) stateID(sid proto.StateID) {
	c.r.Head = sid.Append(c.r.Head)
	c.curSID = sid
}

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
	err := c.srv.cfg.Locks.Unlock(key, l.Owner, a.rng)
	sid, closed := c.client.EndLock(l, err == nil)
	switch {
	case closed:
		return proto.ErrBadStateID
	case err != nil:
		return statusOf(err)
	}
	c.stateID(sid)
	return proto.OK
}
