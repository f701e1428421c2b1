package smb

import (
	"slices"

	"fileserver/smb/wire"
	"fileserver/vfs/lock"
)

// lockWait is what a LOCK keeps while it waits until what is in its way has been unlocked. Whoever may have moved that ends the
// wait, and the LOCK tries again. The end of the open ends it with STATUS_RANGE_NOT_LOCKED.
type lockWait struct {
	wait   *wait        // nil: it does not wait
	waiter *lock.Waiter // with the arbiter, if a lock that it knows is in the way
}

// waitFor waits for a lock that is not to be had now.
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
		// Once more, now that nobody is missed who unlocks something.
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
		case err != nil: // it would wait for ever
			q.leave(o)
			return wire.StatusLockNotGranted
		case q.waiter != nil:
			return statusParked
		}
	}
}

// resumed implements resumer. What was in the way may have been unlocked just before the open ended: then the lock was
// granted, and is gone with the open.
func (q *lockRequest) resumed(r *request, st wire.Status) (wire.Status, bool) {
	q.leave(r.open)
	if st == wire.StatusSuccess && r.open.ended.Load() {
		return r.replyEmpty(), false
	}
	return st, st == wire.StatusSuccess
}

// leave has nobody know of the wait any more.
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

// addWait has the wait end when the open gives back a lock; false: the open has ended.
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
	// Copied, because who ends the waits goes through the list without the lock.
	s.waits = slices.DeleteFunc(slices.Clone(s.waits), func(o *wait) bool { return o == w })
}
