package lock

import (
	"fmt"
	"slices"

	"fileserver/vfs"
)

// Caching is what a client may keep of a file without asking: the state of a
// lease (MS-SMB2 2.2.13.2.8). An oplock of level II is CacheRead, an exclusive one
// CacheRead|CacheWrite, a batch one all three.
type Caching uint8

// What may be cached.
const (
	CacheRead   Caching = 1 // data and attributes read
	CacheHandle Caching = 2 // opens, beyond their close
	CacheWrite  Caching = 4 // data written

	allCaching = CacheRead | CacheHandle | CacheWrite
)

// CacheKey is who opens and caches. Claims and actions of one key do not break what it caches: those of a lease's opens, or of
// one open with an oplock. The zero key is of those who cache nothing.
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
	breaking bool    // the client has been told, and has not answered
	to       Caching // what it has been told to come down to
	wanted   Caching // what others want it to come down to, perhaps less
	waiters  []*Recall
}

// Recall is an action that waits until others have given up caching what is in its way.
type Recall struct {
	pending int // guarded by the shard's lock
	done    chan struct{}
}

// Done is closed when nobody is in the way any more.
func (r *Recall) Done() <-chan struct{} { return r.done }

// Cache grants of want what does not conflict, and returns the claim; nil if
// that is nothing. The opens of the key itself are in nobody's way. Others
// who cache writes must have been recalled before.
//
// recall tells the client to come down from one state to another, and whether it must
// answer ([Cache.Acknowledge]); without an answer due the claim is down already. It is called by whoever is in conflict, one call at a
// time, and must not block: without locks of this package, but the caller may hold those of its own protocol's client.
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

// cacheable is what of want can be granted to the key.
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
		if c.state&CacheWrite != 0 { // not recalled, or not answered yet
			return 0
		}
		want &^= CacheWrite
	}
	if want&CacheRead == 0 { // nothing makes sense without
		return 0
	}
	return want
}

// foreignLocks reports whether others than the key's client hold byte-range locks.
func (f *file) foreignLocks(key CacheKey) bool {
	for o := range f.locks.held {
		if o.Proto != key.Proto || o.Client != key.Client {
			return true
		}
	}
	return false
}

// State is what the client may cache: while it has not answered a recall, what it had before.
func (c *Cache) State() (state Caching, breaking bool) {
	s := c.m.lock(&c.file)
	defer s.mu.Unlock()
	return c.state, c.breaking
}

// Upgrade adds to the claim what of want does not conflict, and returns the
// state. A claim that is being recalled stays as it is.
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

// Reduce gives a part of the claim up, unasked.
func (c *Cache) Reduce(to Caching) { c.settle(func() bool { c.state &= to; return false }) }

// Acknowledge is the client's answer to a recall: the state it has come down to.
// [vfs.ErrInvalid] if none was due, or the state is more than it was told.
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

// Revoke ends a recall that has gone unanswered: the claim is down to what was wanted.
func (c *Cache) Revoke() {
	c.settle(func() bool {
		if c.breaking {
			c.state &= c.to & c.wanted
			c.breaking = false
		}
		return false
	})
}

// Release gives the claim up as a whole.
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

// settle changes the state by f, then tells those who wait, or the client if it must come down further.
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

// answer tells those who wait that the claim is out of their way. The shard is locked.
func (c *Cache) answer() {
	for _, r := range c.waiters {
		if r.pending--; r.pending == 0 {
			close(r.done)
		}
	}
	c.waiters = nil
	c.wanted = allCaching
}

// begin starts a recall down to what is wanted, and returns the call that tells
// the client. The shard is locked.
func (c *Cache) begin() func() {
	from := c.state
	c.to = c.state & c.wanted
	if c.to&CacheRead == 0 {
		c.to = 0 // handles and writes are not kept alone
	}
	ack := from&(CacheHandle|CacheWrite) != 0
	if c.breaking = ack; !ack {
		c.state = c.to
	}
	to, recall := c.to, c.recall
	return func() { recall(from, to, ack) }
}

// Caching reports whether anybody caches anything: who would first have to find out which file is meant need not.
func (m *Manager) Caching() bool { return m.caches.Load() > 0 }

// Recall makes everybody but the key come down to keep: before data is opened
// (CacheRead|CacheHandle), a share reservation is in the way (CacheRead|CacheWrite), or data
// is changed or locked (0). It returns nil if nobody has to answer; otherwise the action waits for Done.
//
// Where nobody caches the file it takes neither lock nor memory.
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

// recall begins recalls of what others than the key cache beyond keep. The Recall is nil if nobody has to answer; the calls tell the clients.
// The shard is locked.
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
