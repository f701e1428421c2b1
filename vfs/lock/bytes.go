package lock

import "math"

// Lock gives o the range, shared or exclusive, replacing what it holds there; or returns a lock of another owner that is in
// the way, and changes nothing.
func (m *Manager) Lock(k FileKey, o Owner, r Range, exclusive bool) *Conflict {
	if r.Len == 0 {
		return nil
	}
	var ready []func()
	defer func() { call(ready) }()
	s := m.lock(&k)
	defer s.mu.Unlock()
	f := s.file(&k)
	first, last := r.Off, r.last()
	if c := f.conflict(&o, first, last, exclusive); c != nil {
		return c.conflict()
	}
	held, before := f.holds(&o), f.locks.n
	cut := f.cut(&o, first, last)
	f.add(&o, first, last, exclusive)
	m.counted(&k, f.locks.n-before)
	if !held {
		m.owners.add(&o, &k)
	}
	if cut && !exclusive { // perhaps less than before
		ready = f.wake()
	}
	return nil
}

// counted notes that the file has n locks more.
func (m *Manager) counted(k *FileKey, n int) {
	if n != 0 {
		m.ranges[m.hash(k)%denyBuckets].Add(int32(n))
	}
}

// Test returns the lock that Lock would, without locking anything. Where the file has no locks it takes neither lock nor memory.
func (m *Manager) Test(k FileKey, o Owner, r Range, exclusive bool) *Conflict {
	if r.Len == 0 || m.ranges[m.hash(&k)%denyBuckets].Load() == 0 {
		return nil
	}
	return m.test(&k, &o, r, exclusive)
}

func (m *Manager) test(k *FileKey, o *Owner, r Range, exclusive bool) *Conflict {
	s := m.lock(k)
	defer s.mu.Unlock()
	if f := s.files[*k]; f != nil {
		if c := f.conflict(o, r.Off, r.last(), exclusive); c != nil {
			return c.conflict()
		}
	}
	return nil
}

// Unlock takes the range from o, whether it holds all, some or none of it.
func (m *Manager) Unlock(k FileKey, o Owner, r Range) {
	if r.Len == 0 {
		return
	}
	call(m.unlock(&k, &o, r))
}

func (m *Manager) unlock(k *FileKey, o *Owner, r Range) []func() {
	s := m.lock(k)
	defer s.mu.Unlock()
	f := s.files[*k]
	if f == nil {
		return nil
	}
	before := f.locks.n
	if !f.cut(o, r.Off, r.last()) {
		return nil
	}
	m.counted(k, f.locks.n-before)
	if !f.holds(o) {
		m.owners.remove(o, k)
	}
	ready := f.wake()
	s.trim(f)
	return ready
}

// UnlockAll takes all locks of the file from o.
func (m *Manager) UnlockAll(k FileKey, o Owner) { m.Unlock(k, o, Range{0, ToEnd}) }

// Held reports whether o holds any lock of the file.
func (m *Manager) Held(k FileKey, o Owner) bool {
	s := m.lock(&k)
	defer s.mu.Unlock()
	f := s.files[k]
	return f != nil && f.holds(&o)
}

// Locks are the locks of a file, by first byte.
func (m *Manager) Locks(k FileKey) []Conflict {
	s := m.lock(&k)
	defer s.mu.Unlock()
	f := s.files[k]
	if f == nil {
		return nil
	}
	all := make([]Conflict, 0, f.locks.n)
	f.locks.overlap(0, math.MaxUint64, func(s *segment) bool {
		all = append(all, *s.conflict())
		return true
	})
	return all
}

func (s *segment) conflict() *Conflict {
	return &Conflict{s.owner, rangeOf(s.first, s.last), s.exclusive}
}

func call(fns []func()) {
	for _, fn := range fns {
		fn()
	}
}
