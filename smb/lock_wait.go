package smb

import (
	"context"
	"slices"
	"sync"

	"fileserver/smb/wire"
	"fileserver/vfs/lock"
)

// lockWait is a LOCK that waits until what is in its way is unlocked. Whoever wakes
// it has it try again; it ends with the lock, or with the status that ends it.
type lockWait struct {
	r *request
	o *Open
	b byteRange

	mu     sync.Mutex
	parked bool        // who sets it to false resumes the request
	missed bool        // it has been woken while it was not parked
	status wire.Status // with which it has been ended; 0: it has not been
	waiter *lock.Waiter
}

// waitLock makes the request wait for a lock.
func (r *request) waitLock(ctx context.Context, o *Open, b byteRange) wire.Status {
	w := &lockWait{r: r, o: o, b: b}
	s := &o.ranges
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return wire.StatusRangeNotLocked
	}
	s.waiters = append(s.waiters[:len(s.waiters):len(s.waiters)], w)
	s.mu.Unlock()
	if st := r.goAsync(w.end); st != wire.StatusPending {
		w.leave()
		return st
	}
	return w.step(ctx, r)
}

// step tries, and parks the request again if something is in the way still.
func (w *lockWait) step(_ context.Context, r *request) wire.Status {
	m := w.o.session.srv.cfg.Locks
	for {
		w.mu.Lock()
		st, waiter := w.status, w.waiter
		w.missed, w.waiter = false, nil
		w.mu.Unlock()
		if waiter != nil {
			waiter.Cancel()
		}
		why := inOwnWay
		if st == wire.StatusSuccess {
			if st, why = w.o.lockRange(w.b, w); st == wire.StatusSuccess {
				w.leave()
				return r.lockDone(w.o)
			}
		}
		if st != wire.StatusLockNotGranted {
			w.leave()
			return st
		}
		if why == inTheWay {
			var err error
			r := lock.Range{Off: w.b.off, Len: max(w.b.len, 1)}
			waiter, err = m.Wait(w.o.key, w.o.lockOwner(), r, w.b.exclusive, w.again)
			if err != nil { // it would wait for ever
				w.leave()
				return wire.StatusLockNotGranted
			}
			if waiter == nil {
				continue
			}
		}
		w.mu.Lock()
		w.waiter = waiter
		w.parked = !w.missed && w.status == wire.StatusSuccess
		parked := w.parked
		w.mu.Unlock()
		if parked {
			return statusParked
		}
	}
}

// again has the request try again.
func (w *lockWait) again() { w.end(wire.StatusSuccess) }

// end ends the wait with a status; with success the request tries again. The request is touched
// only if it is parked.
func (w *lockWait) end(st wire.Status) {
	w.mu.Lock()
	if w.status == wire.StatusSuccess {
		w.status = st
	}
	parked := w.parked
	w.parked, w.missed = false, true
	w.mu.Unlock()
	if parked {
		w.r.resume(w.step)
	}
}

// leave ends that the open knows of the wait.
func (w *lockWait) leave() {
	s := &w.o.ranges
	s.mu.Lock()
	// Copied, because who wakes the waiters goes through the list without the lock.
	s.waiters = slices.DeleteFunc(slices.Clone(s.waiters), func(o *lockWait) bool { return o == w })
	s.mu.Unlock()
}
