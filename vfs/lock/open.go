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
	holder       CacheKey
	access, deny Access
}

// Open claims accesses of a file for the holder and denies accesses to others. The error is a [*ShareConflict]. What others cache stays
// with them: see [Manager.OpenRecall].
func (m *Manager) Open(k FileKey, holder CacheKey, access, deny Access) (*Open, error) {
	o, _, err := m.OpenRecall(k, holder, access, deny, allCaching)
	return o, err
}

// OpenRecall is [Manager.Open] after everybody but the holder has come down to keep, in one step: no one is granted more
// in between. While somebody has to answer nothing is claimed, and the Recall is what to wait for before the next try.
//
// Where the error is a [*ShareConflict], the Recall is that of the handles that others cache: they may have closed the files already
// that are in the way. It is nil if nobody has to answer.
func (m *Manager) OpenRecall(k FileKey, holder CacheKey, access, deny Access, keep Caching) (*Open, *Recall, error) {
	s := m.lock(&k)
	f := s.file(&k)
	o := &Open{m: m, f: f, key: k, holder: holder}
	f.opens++
	rc, calls, err := o.claim(access, deny, keep)
	if rc != nil || err != nil {
		f.opens--
		s.trim(f)
		o = nil
	}
	s.mu.Unlock()
	call(calls)
	return o, rc, err
}

// Change replaces what the open claims, or fails with a [*ShareConflict] and changes nothing. To claim no more than
// before never fails.
func (o *Open) Change(access, deny Access) error {
	_, err := o.ChangeRecall(access, deny, allCaching)
	return err
}

// ChangeRecall is [Open.Change] as [Manager.OpenRecall] is [Manager.Open]: with a Recall to wait for nothing has changed.
func (o *Open) ChangeRecall(access, deny Access, keep Caching) (*Recall, error) {
	s := o.m.lock(&o.key)
	if o.f == nil {
		s.mu.Unlock()
		panic("vfs/lock: change of a closed open")
	}
	rc, calls, err := o.claim(access, deny, keep)
	s.mu.Unlock()
	call(calls)
	return rc, err
}

// claim changes what the open claims, unless others' claims forbid that or others have to come down to keep first. The
// calls tell them. The shard is locked.
func (o *Open) claim(access, deny Access, keep Caching) (*Recall, []func(), error) {
	was, wasDeny := o.access, o.deny
	if err := o.change(access, deny); err != nil {
		rc, calls := o.f.recall(o.holder, CacheRead|CacheWrite)
		return rc, calls, err
	}
	rc, calls := o.f.recall(o.holder, keep)
	if rc != nil {
		_ = o.change(was, wasDeny) // what was claimed before is free still
	}
	return rc, calls, nil
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
		f.claimed(o.holder, is)
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

// Claims are what the open claims.
func (o *Open) Claims() (access, deny Access) {
	s := o.m.lock(&o.key)
	defer s.mu.Unlock()
	return o.access, o.deny
}

// Claims are what all opens of a file claim together. Another open may follow at once.
func (m *Manager) Claims(k FileKey) (access, deny Access) {
	s := m.lock(&k)
	defer s.mu.Unlock()
	if f := s.files[k]; f != nil {
		return members(&f.access), members(&f.deny)
	}
	return 0, 0
}

// claimed counts an open of the holder that has begun, or ceased, to claim anything.
func (f *file) claimed(holder CacheKey, begins bool) {
	if f.holders == nil {
		f.holders = make(map[CacheKey]int)
	}
	if begins {
		f.claims++
		f.holders[holder]++
		return
	}
	f.claims--
	if f.holders[holder]--; f.holders[holder] == 0 {
		delete(f.holders, holder)
	}
}

// Others reports whether others than the holder claim anything of the file.
func (m *Manager) Others(k FileKey, holder CacheKey) bool {
	s := m.lock(&k)
	defer s.mu.Unlock()
	f := s.files[k]
	return f != nil && f.claims > f.holders[holder]
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
