package lock

import (
	"math"

	"fileserver/vfs"
)

// Lock gives o a shared or exclusive lock of the range, which replaces its locks there. If a lock of another owner
// is in the way, Lock changes nothing and returns that lock.
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
	if !m.owners.room(&o, m.limits.Load(), 1) {
		s.trim(f)
		return &Conflict{Owner: o, Range: r, Exclusive: exclusive, Full: true}
	}
	before := f.locks.n
	cut := f.cut(&o, first, last)
	f.add(&o, first, last, exclusive)
	m.counted(&k, &o, f.locks.n-before)
	if cut && !exclusive { // this may allow more than before
		ready = f.wake()
	}
	return nil
}

// counted adds n to the number of locks that o has on the file.
func (m *Manager) counted(k *FileKey, o *Owner, n int) {
	if n != 0 {
		m.owners.count(o, k, n)
		m.ranges[m.hash(k)%denyBuckets].Add(int32(n))
	}
}

// Test returns the conflict that Lock would return, without locking anything. If the file has no locks, it takes no
// mutex and allocates nothing.
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

// Unlock unlocks the range, of which o may hold all, some or none. Unlocking the middle of a lock leaves two locks.
// So any call but one for the whole file fails with [vfs.ErrTooManyFiles] if o, or its client, has twice as many
// locks as its limit.
func (m *Manager) Unlock(k FileKey, o Owner, r Range) error {
	if r.Len == 0 {
		return nil
	}
	ready, err := m.unlock(&k, &o, r)
	call(ready)
	return err
}

func (m *Manager) unlock(k *FileKey, o *Owner, r Range) ([]func(), error) {
	s := m.lock(k)
	defer s.mu.Unlock()
	f := s.files[*k]
	if f == nil {
		return nil, nil
	}
	if r != (Range{0, ToEnd}) && !m.owners.room(o, m.limits.Load(), 2) {
		return nil, vfs.ErrTooManyFiles
	}
	before := f.locks.n
	if !f.cut(o, r.Off, r.last()) {
		return nil, nil
	}
	m.counted(k, o, f.locks.n-before)
	ready := f.wake()
	s.trim(f)
	return ready, nil
}

// UnlockAll releases all locks of o on the file.
func (m *Manager) UnlockAll(k FileKey, o Owner) { _ = m.Unlock(k, o, Range{0, ToEnd}) }

// Held reports whether o holds any lock on the file.
func (m *Manager) Held(k FileKey, o Owner) bool {
	s := m.lock(&k)
	defer s.mu.Unlock()
	f := s.files[k]
	return f != nil && f.holds(&o)
}

// Locks returns the locks of a file, ordered by first byte.
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
	return &Conflict{Owner: s.by.owner, Range: rangeOf(s.first, s.last), Exclusive: s.exclusive}
}

func call(fns []func()) {
	for _, fn := range fns {
		fn()
	}
}
