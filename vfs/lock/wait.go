package lock

import (
	"slices"
	"sync"

	"fileserver/vfs"
)

// Waiter is a request that waits for a lock.
type Waiter struct {
	m           *Manager
	key         FileKey
	owner       Owner
	first, last uint64
	exclusive   bool
	notify      func()
}

// waits holds all Waiters, to find deadlocks. A Waiter leaves it when it is canceled or when its callback runs.
type waits struct {
	mu sync.Mutex
	of map[Owner]map[*Waiter]struct{}
}

// Wait registers notify to be called once, when no lock keeps o from locking r any more. The goroutine that
// releases the last conflicting lock calls it. The lock is not taken: the caller tries again. Waiters for the same
// range are called in the order in which they registered.
//
// If no lock is in the way already, Wait returns nil and will not call notify. If the owners in the way wait for o,
// perhaps through others, it fails with [vfs.ErrDeadlock].
func (m *Manager) Wait(k FileKey, o Owner, r Range, exclusive bool, notify func()) (*Waiter, error) {
	if r.Len == 0 {
		return nil, nil
	}
	w := &Waiter{m: m, key: k, owner: o, first: r.Off, last: r.last(), exclusive: exclusive}
	w.notify = func() { w.leave(); notify() }
	m.waits.mu.Lock()
	defer m.waits.mu.Unlock()
	if m.waits.cycle(w) {
		return nil, vfs.ErrDeadlock
	}
	s := m.lock(&k)
	defer s.mu.Unlock()
	f := s.files[k]
	if f == nil || f.conflict(&o, w.first, w.last, exclusive) == nil {
		return nil, nil
	}
	f.waiters = append(f.waiters, w)
	if m.waits.of[o] == nil {
		m.waits.of[o] = make(map[*Waiter]struct{})
	}
	m.waits.of[o][w] = struct{}{}
	return w, nil
}

// Cancel ends the wait. It returns false if notify has been called, or is about to be.
func (w *Waiter) Cancel() bool {
	s := w.m.lock(&w.key)
	f := s.files[w.key]
	i := -1
	if f != nil {
		if i = slices.Index(f.waiters, w); i >= 0 {
			f.waiters = slices.Delete(f.waiters, i, i+1)
			s.trim(f)
		}
	}
	s.mu.Unlock()
	if i < 0 {
		return false
	}
	w.leave()
	return true
}

// leave removes the waiter from the graph of waits.
func (w *Waiter) leave() {
	ws := &w.m.waits
	ws.mu.Lock()
	defer ws.mu.Unlock()
	delete(ws.of[w.owner], w)
	if len(ws.of[w.owner]) == 0 {
		delete(ws.of, w.owner)
	}
}

// wake removes the waiters that no lock blocks any more from the list. It returns the callbacks to run when the
// shard is unlocked.
func (f *file) wake() (ready []func()) {
	f.waiters = slices.DeleteFunc(f.waiters, func(w *Waiter) bool {
		if f.conflict(&w.owner, w.first, w.last, w.exclusive) != nil {
			return false
		}
		ready = append(ready, w.notify)
		return true
	})
	return ready
}

// blockers returns the owners of the locks in the way of w.
func (w *Waiter) blockers() (all []Owner) {
	s := w.m.lock(&w.key)
	defer s.mu.Unlock()
	f := s.files[w.key]
	if f == nil {
		return nil
	}
	own := f.locks.held[w.owner]
	for o, h := range f.locks.held {
		if h != own && h.tree.conflict(nil, w.first, w.last, w.exclusive) != nil {
			all = append(all, o)
		}
	}
	return all
}

// cycle reports whether the wait of w would close a cycle. The caller holds ws.mu, so that no other wait begins
// meanwhile.
func (ws *waits) cycle(w *Waiter) bool {
	seen := make(map[Owner]bool)
	queue := w.blockers()
	for len(queue) > 0 {
		o := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if o == w.owner {
			return true
		}
		if seen[o] {
			continue
		}
		seen[o] = true
		for other := range ws.of[o] {
			queue = append(queue, other.blockers()...)
		}
	}
	return false
}
