package lock

import (
	"fmt"

	"fileserver/vfs"
)

// Access is a set of accesses, claimed or denied (RFC 8881 18.16: share_access, share_deny; MS-SMB2 2.2.13: ShareAccess, inverted).
type Access uint8

// Accesses.
const (
	Read   Access = 1
	Write  Access = 2
	Delete Access = 4 // to remove or rename; only SMB denies it

	bits = 3
)

// ShareConflict is the error of a claim that others' opens forbid. It is a [vfs.ErrShareViolation].
type ShareConflict struct {
	Held   Access // accesses of others that the claim would have denied
	Denied Access // accesses of the claim that others deny
}

// Error implements error.
func (c *ShareConflict) Error() string {
	return fmt.Sprintf("share violation: others have access %#x, and deny %#x", uint8(c.Held), uint8(c.Denied))
}

// Unwrap makes errors.Is and [vfs.StatusOf] find [vfs.ErrShareViolation].
func (c *ShareConflict) Unwrap() error { return vfs.ErrShareViolation }

// Open is a claim on a file. It is closed exactly once.
type Open struct {
	m            *Manager
	f            *file // nil once closed
	key          FileKey
	access, deny Access
}

// Open claims accesses of a file and denies accesses to others. The error is a [*ShareConflict].
func (m *Manager) Open(k FileKey, access, deny Access) (*Open, error) {
	s := m.lock(&k)
	defer s.mu.Unlock()
	f := s.file(&k)
	o := &Open{m: m, f: f, key: k}
	f.opens++
	if err := o.change(access, deny); err != nil {
		f.opens--
		s.trim(f)
		return nil, err
	}
	return o, nil
}

// Change replaces what the open claims, or fails with a [*ShareConflict] and changes nothing. To claim no more than
// before never fails.
func (o *Open) Change(access, deny Access) error {
	s := o.m.lock(&o.key)
	defer s.mu.Unlock()
	if o.f == nil {
		panic("vfs/lock: change of a closed open")
	}
	return o.change(access, deny)
}

// change is Change with the shard locked.
func (o *Open) change(access, deny Access) error {
	f := o.f
	f.count(o.access, o.deny, -1)
	held, denied := members(&f.access)&deny, members(&f.deny)&access
	if held|denied != 0 {
		f.count(o.access, o.deny, +1)
		return &ShareConflict{Held: held, Denied: denied}
	}
	f.count(access, deny, +1)
	bucket := &o.m.deny[o.m.hash(&o.key)%denyBuckets]
	switch {
	case o.deny == 0 && deny != 0:
		bucket.Add(1)
	case o.deny != 0 && deny == 0:
		bucket.Add(-1)
	}
	if was, is := o.access|o.deny != 0, access|deny != 0; was != is {
		if is {
			f.claims++
		} else {
			f.claims--
		}
	}
	o.access, o.deny = access, deny
	return nil
}

// Close gives the claim up.
func (o *Open) Close() {
	s := o.m.lock(&o.key)
	defer s.mu.Unlock()
	if o.f == nil {
		panic("vfs/lock: open closed twice")
	}
	o.change(0, 0) // never fails
	o.f.opens--
	s.trim(o.f)
	o.f = nil
}

// Claims tells what the open claims.
func (o *Open) Claims() (access, deny Access) {
	s := o.m.lock(&o.key)
	defer s.mu.Unlock()
	return o.access, o.deny
}

// Claims tells what all opens of a file claim together. It is no promise: another open may follow at once.
func (m *Manager) Claims(k FileKey) (access, deny Access) {
	s := m.lock(&k)
	defer s.mu.Unlock()
	if f := s.files[k]; f != nil {
		return members(&f.access), members(&f.deny)
	}
	return 0, 0
}

// count adds n to the numbers of opens.
func (f *file) count(access, deny Access, n int) {
	for i := range bits {
		if access&(1<<i) != 0 {
			f.access[i] += n
		}
		if deny&(1<<i) != 0 {
			f.deny[i] += n
		}
	}
}

func members(counts *[bits]int) (a Access) {
	for i, n := range counts {
		if n > 0 {
			a |= 1 << i
		}
	}
	return a
}

// CheckIO reports whether somebody who has no open of the file may read (or write) r: [vfs.ErrShareViolation] if
// an open denies it. Locks do not forbid I/O. o is the owner on whose behalf it is, the zero Owner if there is none.
//
// Where no open of the file denies anything, it takes neither lock nor memory.
func (m *Manager) CheckIO(k FileKey, o Owner, r Range, write bool) error {
	if m.deny[m.hash(&k)%denyBuckets].Load() == 0 {
		return nil
	}
	return m.checkDeny(&k, write)
}

func (m *Manager) checkDeny(k *FileKey, write bool) error {
	want := Read
	if write {
		want = Write
	}
	s := m.lock(k)
	defer s.mu.Unlock()
	if f := s.files[*k]; f != nil && members(&f.deny)&want != 0 {
		return vfs.ErrShareViolation
	}
	return nil
}
