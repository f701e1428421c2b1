package lock

import (
	"fmt"
	"slices"

	"fileserver/vfs"
)

// Caching is what a client may cache of a file: the state of a lease (MS-SMB2 2.2.13.2.8). A level II oplock is
// CacheRead, an exclusive one CacheRead|CacheWrite, a batch one all three.
type Caching uint8

// What may be cached.
const (
	CacheRead   Caching = 1 // data and attributes read
	CacheHandle Caching = 2 // opens, after the client's close
	CacheWrite  Caching = 4 // data written

	allCaching = CacheRead | CacheHandle | CacheWrite
)

// CacheKey identifies the holder of opens and caches: a lease, or one open with an oplock. Claims and actions of a
// key do not break the caches of the same key. Holders that cache nothing use the zero key.
type CacheKey struct {
	Proto  uint8
	Client uint64
	ID     [16]byte
}

// Cache is a client's right to cache a file. It is released exactly once.
type Cache struct {
	m      *Manager
	file   FileKey
	key    CacheKey
	recall func(from, to Caching, ack bool)

	// Guarded by the shard's lock.
	f        *file // nil once released
	state    Caching
	breaking bool    // the client has been notified and has not acknowledged
	to       Caching // the state that the client was told to reduce to
	wanted   Caching // the state that others want it to reduce to, perhaps less than to
	waiters  []*Recall
}

// Recall lets an action wait until other clients have given up the caches in its way.
type Recall struct {
	pending int // guarded by the shard's lock
	done    chan struct{}
}

// Done returns a channel that is closed when no cache is in the way any more.
func (r *Recall) Done() <-chan struct{} { return r.done }

// Cache grants the part of want that does not conflict and returns the claim, or nil if nothing is granted. The
// opens of the same key do not conflict. The caller must first have recalled the write caches of others.
//
// recall tells the client to reduce its caching from one state to another. ack says whether the client must answer
// ([Cache.Acknowledge]); if not, the claim is reduced already. The goroutine whose action conflicts calls recall,
// one call at a time. recall must not block. It runs without locks of this package, but its caller may hold the
// locks of its own protocol's client.
func (m *Manager) Cache(k FileKey, key CacheKey, want Caching, recall func(from, to Caching, ack bool)) *Cache {
	s := m.lock(&k)
	defer s.mu.Unlock()
	f := s.file(&k)
	defer s.trim(f)
	c := &Cache{m: m, file: k, key: key, recall: recall, f: f, wanted: allCaching}
	if c.state = f.cacheable(key, want); c.state == 0 {
		return nil
	}
	f.caches = append(f.caches, c)
	m.cachers(&k).Add(1)
	m.caches.Add(1)
	return c
}

// cacheable returns the part of want that can be granted to the key.
func (f *file) cacheable(key CacheKey, want Caching) Caching {
	if f.claims > f.holders[key] || f.locks.n > 0 && f.foreignLocks(key) {
		want &^= CacheWrite
	}
	if f.locks.n > 0 && f.foreignLocks(key) {
		want = 0
	}
	for _, c := range f.caches {
		if c.key == key {
			continue
		}
		if c.state&CacheWrite != 0 { // not recalled, or not acknowledged yet
			return 0
		}
		want &^= CacheWrite
	}
	if want&CacheRead == 0 { // the others make no sense without it
		return 0
	}
	return want
}

// foreignLocks reports whether clients other than the key's hold byte-range locks.
func (f *file) foreignLocks(key CacheKey) bool {
	for o := range f.locks.held {
		if o.Proto != key.Proto || o.Client != key.Client {
			return true
		}
	}
	return false
}

// State returns what the client may cache. Until the client has answered a recall, that is the state before the
// recall.
func (c *Cache) State() (state Caching, breaking bool) {
	s := c.m.lock(&c.file)
	defer s.mu.Unlock()
	return c.state, c.breaking
}

// Upgrade adds to the claim the part of want that does not conflict, and returns the new state. A claim that is
// being recalled does not change.
func (c *Cache) Upgrade(want Caching) Caching {
	s := c.m.lock(&c.file)
	defer s.mu.Unlock()
	if c.f != nil && !c.breaking {
		if got := c.f.cacheable(c.key, want|c.state); got&c.state == c.state {
			c.state = got
		}
	}
	return c.state
}

// Reduce gives up a part of the claim without a recall.
func (c *Cache) Reduce(to Caching) { c.settle(func() bool { c.state &= to; return false }) }

// Acknowledge is the client's answer to a recall: to is the state it has reduced to. It fails with [vfs.ErrInvalid]
// if no answer was due, or if to is more than the recall allowed.
func (c *Cache) Acknowledge(to Caching) error {
	var err error
	c.settle(func() bool {
		switch {
		case !c.breaking:
			err = fmt.Errorf("vfs/lock: no answer is due: %w", vfs.ErrInvalid)
			return false
		case to&^c.to != 0:
			err = fmt.Errorf("vfs/lock: caching %#x kept, %#x is allowed: %w", to, c.to, vfs.ErrInvalid)
			return false
		}
		c.state, c.breaking = to, false
		return true
	})
	return err
}

// Revoke ends a recall that the client has not answered. It reduces the claim to the state that others want.
func (c *Cache) Revoke() {
	c.settle(func() bool {
		if c.breaking {
			c.state &= c.to & c.wanted
			c.breaking = false
		}
		return false
	})
}

// Release gives up the whole claim.
func (c *Cache) Release() {
	s := c.m.lock(&c.file)
	if c.f == nil {
		s.mu.Unlock()
		panic("vfs/lock: cache released twice")
	}
	f := c.f
	c.f, c.state, c.breaking = nil, 0, false
	f.caches = slices.DeleteFunc(f.caches, func(o *Cache) bool { return o == c })
	c.m.cachers(&c.file).Add(-1)
	c.m.caches.Add(-1)
	c.answer()
	s.trim(f)
	s.mu.Unlock()
}

// settle changes the state by f. It then wakes the recalls that wait for it, or recalls the client again if it must
// reduce further.
func (c *Cache) settle(f func() (again bool)) {
	s := c.m.lock(&c.file)
	if c.f == nil {
		s.mu.Unlock()
		return
	}
	again := f()
	var call func()
	if !c.breaking {
		if again && c.state&^c.wanted != 0 {
			call = c.begin()
		}
		if !c.breaking {
			c.answer()
		}
	}
	s.mu.Unlock()
	if call != nil {
		call()
	}
}

// answer tells the waiting recalls that the claim is out of their way. The caller holds the shard's lock.
func (c *Cache) answer() {
	for _, r := range c.waiters {
		if r.pending--; r.pending == 0 {
			close(r.done)
		}
	}
	c.waiters = nil
	c.wanted = allCaching
}

// begin starts a recall down to the wanted state, and returns the call that notifies the client. The caller holds
// the shard's lock.
func (c *Cache) begin() func() {
	from := c.state
	c.to = c.state & c.wanted
	if c.to&CacheRead == 0 {
		c.to = 0 // CacheHandle and CacheWrite need CacheRead
	}
	ack := from&(CacheHandle|CacheWrite) != 0
	if c.breaking = ack; !ack {
		c.state = c.to
	}
	to, recall := c.to, c.recall
	return func() { recall(from, to, ack) }
}

// Caching reports whether any client caches anything. If not, the caller need not find out which file it is about.
func (m *Manager) Caching() bool { return m.caches.Load() > 0 }

// Recall reduces all caches but those of the key to keep. keep is CacheRead|CacheHandle before data is opened,
// CacheRead|CacheWrite if a share reservation is in the way, and 0 before data is changed or locked. It returns nil
// if no client has to answer; otherwise the action waits for Done.
//
// If no client caches the file, it takes no mutex and allocates nothing.
func (m *Manager) Recall(k FileKey, key CacheKey, keep Caching) *Recall {
	if m.cachers(&k).Load() == 0 {
		return nil
	}
	s := m.lock(&k)
	f := s.files[k]
	if f == nil {
		s.mu.Unlock()
		return nil
	}
	r, calls := f.recall(key, keep)
	s.mu.Unlock()
	call(calls)
	return r
}

// recall begins the recalls of what keys other than key cache beyond keep. The Recall is nil if no client has to
// answer; the calls notify the clients. The caller holds the shard's lock.
func (f *file) recall(key CacheKey, keep Caching) (r *Recall, calls []func()) {
	for _, c := range f.caches {
		if c.key == key || c.state&^keep == 0 {
			continue
		}
		if !c.breaking {
			c.wanted = keep
			calls = append(calls, c.begin())
		} else {
			c.wanted &= keep
		}
		if c.breaking {
			if r == nil {
				r = &Recall{done: make(chan struct{})}
			}
			r.pending++
			c.waiters = append(c.waiters, r)
		}
	}
	return r, calls
}
