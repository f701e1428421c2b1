package smb

import (
	"slices"

	"fileserver/smb/wire"
	"fileserver/vfs/lock"
)

// lockWait is the state of a LOCK that waits until the conflicting locks are released. Whoever releases a lock that
// may be in the way ends the wait, and the LOCK tries again. If the open ends, the LOCK fails with
// STATUS_RANGE_NOT_LOCKED.
type lockWait struct {
	cleared bool         // a wait has ended because what was in the way had gone
	wait    *wait        // nil: it does not wait
	waiter  *lock.Waiter // the arbiter's waiter, if a lock that the arbiter knows is in the way
}

// waitFor waits for a lock that is not available now.
func (q *lockRequest) waitFor(r *request, b byteRange) wire.Status {
	o := r.open
	w, st := r.beginAsync()
	if w == nil {
		return st
	}
	if q.wait = w; !o.ranges.addWait(w) {
		return wire.StatusRangeNotLocked
	}
	for {
		// Try again: the wait is registered now, so that no release of a lock is missed.
		st, why := o.lockRange(b, w)
		switch {
		case st == wire.StatusSuccess:
			q.leave(o)
			return r.lockDone(o)
		case st != wire.StatusLockNotGranted:
			q.leave(o)
			return st
		case why != inTheWay:
			return statusParked
		}
		rg := lock.Range{Off: b.off, Len: max(b.len, 1)}
		var err error
		q.waiter, err = o.srv.cfg.Locks.Wait(o.key, o.lockOwner(), rg, b.exclusive, func() { w.end(wire.StatusSuccess) })
		switch {
		case err != nil: // the wait would never end
			q.leave(o)
			return wire.StatusLockNotGranted
		case q.waiter != nil:
			return statusParked
		}
	}
}

// resumed implements resumer. The conflicting lock may have been released just before the open ended: then the LOCK
// was granted, and the end of the open has released it.
func (q *lockRequest) resumed(r *request, st wire.Status) (wire.Status, bool) {
	q.leave(r.open)
	q.cleared = st == wire.StatusSuccess
	if q.goneWithOpen(r.open) {
		return r.replyEmpty(), false
	}
	return st, q.cleared
}

// goneWithOpen reports whether the lock was granted, for a moment: its way was clear before the open ended.
func (q *lockRequest) goneWithOpen(o *Open) bool { return q.cleared && o.ended.Load() }

// leave unregisters the wait everywhere.
func (q *lockRequest) leave(o *Open) {
	if q.waiter != nil {
		q.waiter.Cancel()
		q.waiter = nil
	}
	if q.wait != nil {
		o.ranges.removeWait(q.wait)
		q.wait = nil
	}
}

// addWait registers a wait, which ends when the open releases a lock. It returns false if the open has ended.
func (s *ranges) addWait(w *wait) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.waits = append(s.waits[:len(s.waits):len(s.waits)], w)
	return true
}

// removeWait undoes addWait.
func (s *ranges) removeWait(w *wait) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// The slice is copied, because unlockRange and unlockAll go through it without the mutex to end the waits.
	s.waits = slices.DeleteFunc(slices.Clone(s.waits), func(o *wait) bool { return o == w })
}
