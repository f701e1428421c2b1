package lock

import (
	"fmt"

	"fileserver/vfs"
)

// Access is a set of accesses that an open claims or denies (RFC 8881 18.16: share_access, share_deny; MS-SMB2
// 2.2.13: ShareAccess, inverted).
type Access uint8

// Accesses.
const (
	Read   Access = 1
	Write  Access = 2
	Delete Access = 4 // removing or renaming; only SMB denies it

	bits = 3
)

// ShareConflict is the error of a claim that conflicts with the opens of others. It wraps [vfs.ErrShareViolation].
type ShareConflict struct {
	Held   Access // accesses of others that the claim wanted to deny
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

// Open claims accesses to a file for the holder and denies accesses to others. The error is a [*ShareConflict].
// Open does not recall what others cache; [Manager.OpenRecall] does.
func (m *Manager) Open(k FileKey, holder CacheKey, access, deny Access) (*Open, error) {
	o, _, err := m.OpenRecall(k, holder, access, deny, allCaching)
	return o, err
}

// OpenRecall first reduces the caches of all others to keep, and then does [Manager.Open]. Both are one step, so
// that no other call is granted a cache in between. If the Recall is not nil and there is no error, nothing is
// claimed: the caller waits for the Recall and tries again.
//
// If the error is a [*ShareConflict], the Recall is that of the handles that others cache, because those clients
// may have closed the files already. It is nil if no client has to answer.
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

// Change replaces what the open claims, or fails with a [*ShareConflict] and changes nothing. It never fails if the
// open claims no more than before.
func (o *Open) Change(access, deny Access) error {
	_, err := o.ChangeRecall(access, deny, allCaching)
	return err
}

// ChangeRecall does for [Open.Change] what [Manager.OpenRecall] does for [Manager.Open]. If it returns a Recall,
// nothing has changed.
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

// claim changes what the open claims, unless that conflicts with others' claims or the caches of others must be
// reduced to keep first. The returned calls notify the clients. The caller holds the shard's lock.
func (o *Open) claim(access, deny Access, keep Caching) (*Recall, []func(), error) {
	was, wasDeny := o.access, o.deny
	if err := o.change(access, deny); err != nil {
		rc, calls := o.f.recall(o.holder, CacheRead|CacheWrite)
		return rc, calls, err
	}
	rc, calls := o.f.recall(o.holder, keep)
	if rc != nil {
		_ = o.change(was, wasDeny) // cannot fail: the old claims are still free
	}
	return rc, calls, nil
}

// change is [Open.Change]; the caller holds the shard's lock.
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

// Close gives up the claim.
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

// Claims returns the accesses that the open claims and denies.
func (o *Open) Claims() (access, deny Access) {
	s := o.m.lock(&o.key)
	defer s.mu.Unlock()
	return o.access, o.deny
}

// Claims returns the accesses that all opens of a file together claim and deny. Other opens may follow at once.
func (m *Manager) Claims(k FileKey) (access, deny Access) {
	s := m.lock(&k)
	defer s.mu.Unlock()
	if f := s.files[k]; f != nil {
		return members(&f.access), members(&f.deny)
	}
	return 0, 0
}

// claimed counts an open of the holder that begins or ceases to claim anything.
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

// Others reports whether any other holder claims anything of the file.
func (m *Manager) Others(k FileKey, holder CacheKey) bool {
	s := m.lock(&k)
	defer s.mu.Unlock()
	f := s.files[k]
	return f != nil && f.claims > f.holders[holder]
}

// count adds n to the number of opens with each of the accesses and denials.
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

// CheckIO checks I/O without an open: whether it may read (or write) r. It returns [vfs.ErrShareViolation] if an
// open denies that. Locks do not forbid I/O. o is the owner on whose behalf the I/O is, or the zero Owner.
//
// If no open of the file denies anything, it takes no mutex and allocates nothing.
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
