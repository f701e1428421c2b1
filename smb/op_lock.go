package smb

import (
	"context"

	"fileserver/smb/wire"
)

// opLock handles LOCK (MS-SMB2 3.3.5.14).
func opLock(ctx context.Context, r *request) wire.Status {
	q, err := wire.ParseLockRequest(r.msg)
	if err != nil {
		return wire.StatusInvalidParameter
	}
	o, st := r.file(q.FileID)
	if st != wire.StatusSuccess {
		return st
	}
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
		return r.await(rc, lockRecalled)
	}
	return r.lock(ctx, o, q.Locks)
}

// lockRecalled goes on when nobody caches the file any more.
func lockRecalled(ctx context.Context, r *request) wire.Status {
	q, err := wire.ParseLockRequest(r.msg)
	if err != nil {
		return wire.StatusInvalidParameter
	}
	return r.lock(ctx, r.open, q.Locks)
}

// unlock gives locks back, until one fails (MS-SMB2 3.3.5.14.1).
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

// lock takes all the locks of the list, or none (MS-SMB2 3.3.5.14.2). Only a single one may wait.
func (r *request) lock(ctx context.Context, o *Open, list wire.LockElements) wire.Status {
	n := list.Len()
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
				return r.waitLock(ctx, o, b)
			}
		}
		if st != wire.StatusSuccess {
			undo(i)
			return st
		}
	}
	return r.lockDone(o)
}

// lockOf is what an element of a LOCK asks for.
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
