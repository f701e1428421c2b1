package smb

import (
	"context"

	"fileserver/smb/wire"
)

// lockRequest is a LOCK (MS-SMB2 3.3.5.14).
type lockRequest struct {
	wire.LockRequest
	lockWait
}

func parseLock(r *request) (operation, error) {
	q, err := wire.ParseLockRequest(r.msg)
	return &lockRequest{LockRequest: q}, err
}

func (q *lockRequest) needs() needs { return needs{onOpen: true, file: q.FileID} }

func (q *lockRequest) run(_ context.Context, r *request) wire.Status {
	o := r.open
	switch {
	case o.dir:
		return wire.StatusInvalidDeviceRequest
	case o.granted&(wire.FileReadData|wire.FileWriteData|wire.FileAppendData|wire.FileExecute) == 0:
		return wire.StatusAccessDenied
	}
	if r.lockReplayed(o, q.Sequence) {
		return r.replyEmpty()
	}
	if q.Locks.At(0).Flags == wire.LockFlagUnlock {
		return r.unlock(o, q.Locks)
	}
	if rc := o.recall(0); rc != nil {
		return r.await(rc)
	}
	st := q.lock(r)
	if st == wire.StatusRangeNotLocked && q.goneWithOpen(o) {
		return r.replyEmpty()
	}
	return st
}

// unlock releases locks in the order of the list, until one fails (MS-SMB2 3.3.5.14.1).
func (r *request) unlock(o *Open, list wire.LockElements) wire.Status {
	for i := range list.Len() {
		e := list.At(i)
		if e.Flags != wire.LockFlagUnlock {
			return wire.StatusInvalidParameter
		}
		if st := o.unlockRange(e.Offset, e.Length); st != wire.StatusSuccess {
			return st
		}
	}
	return r.lockDone(o)
}

// lock takes all locks of the list, or none (MS-SMB2 3.3.5.14.2). The request may wait only if the list has a single
// lock.
func (q *lockRequest) lock(r *request) wire.Status {
	o, list, n := r.open, q.Locks, q.Locks.Len()
	undo := func(taken int) {
		for i := range taken {
			e := list.At(i)
			o.unlockRange(e.Offset, e.Length)
		}
	}
	for i := range n {
		e := list.At(i)
		b, wait, st := lockOf(&e)
		if st == wire.StatusSuccess && wait && n > 1 {
			st = wire.StatusInvalidParameter
		}
		if st == wire.StatusSuccess {
			st, _ = o.lockRange(b, nil)
			if st == wire.StatusLockNotGranted && wait {
				return q.waitFor(r, b)
			}
		}
		if st != wire.StatusSuccess {
			undo(i)
			return st
		}
	}
	return r.lockDone(o)
}

// lockOf returns the range and the kind of lock that an element of a LOCK asks for.
func lockOf(e *wire.LockElement) (b byteRange, wait bool, st wire.Status) {
	switch e.Flags &^ wire.LockFlagFailImmediately {
	case wire.LockFlagShared:
	case wire.LockFlagExclusive:
		b.exclusive = true
	default:
		return b, false, wire.StatusInvalidParameter
	}
	if b.off, b.len = e.Offset, e.Length; b.len > 0 && b.last() < b.off {
		return b, false, wire.StatusInvalidLockRange
	}
	return b, e.Flags&wire.LockFlagFailImmediately == 0, wire.StatusSuccess
}
