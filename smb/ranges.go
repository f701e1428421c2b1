package smb

import (
	"math"
	"sync"
	"sync/atomic"

	"fileserver/smb/wire"
	"fileserver/vfs/lock"
)

// byteRange is a byte-range lock of an open. An open may have several that are equal.
type byteRange struct {
	off, len  uint64
	exclusive bool
}

// last is the last byte; there is none if the length is 0.
func (b *byteRange) last() uint64 { return b.off + b.len - 1 }

// has reports whether the lock includes any of the bytes first to last.
func (b *byteRange) has(first, last uint64) bool {
	return b.len > 0 && b.off <= last && b.last() >= first
}

// meets reports whether two ranges overlap. A range of length 0 is a place between two bytes: it overlaps a range
// that has both of these bytes.
func (b *byteRange) meets(c *byteRange) bool {
	if b.len == 0 {
		b, c = c, b
	}
	if c.len == 0 {
		return b.len > 0 && b.off < c.off && c.off <= b.last()
	}
	return b.has(c.off, c.last())
}

// ranges are the byte-range locks of an open. The arbiter knows the union of the ranges, with the open as its owner;
// where locks overlap, the strongest counts. SMB takes and releases locks one by one, and has its own rules for
// conflicts within an open (MS-FSA 2.1.4.10, 2.1.5.8, 2.1.5.9).
//
// Lock order: mu, then zeroLocks.mu or the arbiter.
type ranges struct {
	count atomic.Int32 // of list

	mu        sync.Mutex
	list      []byteRange
	waits     []*wait // the waits of this open's LOCKs
	closed    bool
	sequences lockSequences
}

// lockOwner returns the open as an owner of byte-range locks.
func (o *Open) lockOwner() lock.Owner {
	return lock.Owner{Proto: lockProto, Client: o.serial}
}

// lockedByOthers reports whether byte-range locks forbid a READ or WRITE. Locks of other opens can forbid either; the
// open's own shared locks forbid a WRITE (MS-FSA 2.1.4.10).
func (o *Open) lockedByOthers(off, n uint64, write bool) bool {
	if n == 0 {
		return false
	}
	m := o.srv.cfg.Locks
	if m.Test(o.key, o.lockOwner(), lock.Range{Off: off, Len: n}, write) != nil {
		return true
	}
	if !write || o.ranges.count.Load() == 0 {
		return false
	}
	o.ranges.mu.Lock()
	defer o.ranges.mu.Unlock()
	for i := range o.ranges.list {
		if l := &o.ranges.list[i]; !l.exclusive && l.has(off, off+n-1) {
			return true
		}
	}
	return false
}

// obstacle says why a lock is not granted.
type obstacle uint8

const (
	inOwnWay   obstacle = iota // a lock of the same open, or another reason
	inTheWay                   // another open's lock, which the arbiter knows
	zeroLength                 // another open's lock of length 0
	tooMany                    // no conflict: the open, or its client, has reached its limit of locks
)

// lockRange takes a lock, or returns why it is not granted. If the reason is another open's lock of length 0, w, if
// it is not nil, ends when a lock of length 0 is released.
func (o *Open) lockRange(b byteRange, w *wait) (wire.Status, obstacle) {
	s := &o.ranges
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return wire.StatusRangeNotLocked, inOwnWay
	}
	for i := range s.list {
		// An open may take a shared lock over its own locks, but not an exclusive one.
		if b.exclusive && s.list[i].meets(&b) {
			return wire.StatusLockNotGranted, inOwnWay
		}
	}
	limits := o.srv.cfg.Locks.Limits()
	if limits.PerOwner > 0 && len(s.list) >= limits.PerOwner || limits.PerClient > 0 && o.home.session.ranges.Load() >= int64(limits.PerClient) {
		return wire.StatusInsufficientResources, tooMany
	}
	zero := &o.srv.zeroLocks
	if b.len == 0 {
		zero.add(o, &b)
		c := o.srv.cfg.Locks.Test(o.key, o.lockOwner(), lock.Range{Off: b.off, Len: 1}, b.exclusive)
		if c != nil && c.Range.Off < b.off { // c is the first conflict: no other begins before it
			zero.remove(o, &b)
			return wire.StatusLockNotGranted, inTheWay
		}
	} else {
		claimed, c := o.claimGapsLocked(&b)
		switch {
		case c != nil && c.Full:
			return wire.StatusInsufficientResources, tooMany
		case c != nil:
			return wire.StatusLockNotGranted, inTheWay
		}
		if zero.forbid(o, &b, w) {
			o.unclaim(claimed)
			return wire.StatusLockNotGranted, zeroLength
		}
	}
	s.list = append(s.list, b)
	s.count.Add(1)
	o.home.session.ranges.Add(1)
	return wire.StatusSuccess, inOwnWay
}

// claimGapsLocked locks, with the arbiter, the bytes of b that the open has not locked yet. It locks all of them or
// none; if none, c is the conflict.
func (o *Open) claimGapsLocked(b *byteRange) (done []lock.Range, c *lock.Conflict) {
	m, owner := o.srv.cfg.Locks, o.lockOwner()
	o.ranges.parts(b.off, b.last(), func(r lock.Range, held, _ bool) {
		if held || c != nil {
			return
		}
		if c = m.Lock(o.key, owner, r, b.exclusive); c == nil {
			done = append(done, r)
		}
	})
	if c != nil {
		o.unclaim(done)
	}
	return done, c
}

// unclaim releases the locks that claimGapsLocked has taken.
func (o *Open) unclaim(done []lock.Range) {
	for _, r := range done {
		_ = o.srv.cfg.Locks.Unlock(o.key, o.lockOwner(), r) // each range is one that was locked as such, so that no lock is split
	}
}

// parts calls fn for each part of first to last that is locked in one way.
func (s *ranges) parts(first, last uint64, fn func(r lock.Range, held, exclusive bool)) {
	for at := first; ; {
		end, held, exclusive := last, false, false
		for i := range s.list {
			l := &s.list[i]
			switch {
			case !l.has(at, last):
			case l.off > at:
				end = min(end, l.off-1)
			default:
				end = min(end, l.last())
				held, exclusive = true, exclusive || l.exclusive
			}
		}
		r := lock.Range{Off: at, Len: end - at + 1}
		if at == 0 && end == math.MaxUint64 {
			r.Len = lock.ToEnd
		}
		fn(r, held, exclusive)
		if end == last {
			return
		}
		at = end + 1
	}
}

// unlockRange releases a lock of exactly this range (MS-FSA 2.1.5.9).
func (o *Open) unlockRange(off, n uint64) wire.Status {
	s := &o.ranges
	s.mu.Lock()
	found := -1
	for i := range s.list {
		// An exclusive lock is released first, so that a shared lock of the same range remains.
		if l := &s.list[i]; l.off == off && l.len == n && (found < 0 || l.exclusive) {
			if found = i; l.exclusive {
				break
			}
		}
	}
	if found < 0 {
		s.mu.Unlock()
		return wire.StatusRangeNotLocked
	}
	b := s.list[found]
	s.list = append(s.list[:found], s.list[found+1:]...)
	s.count.Add(-1)
	o.home.session.ranges.Add(-1)
	if b.len > 0 {
		m, owner := o.srv.cfg.Locks, o.lockOwner()
		s.parts(b.off, b.last(), func(r lock.Range, held, exclusive bool) {
			switch {
			case !held:
				_ = m.Unlock(o.key, owner, r) // if the limit of locks is reached, the range stays locked until the close
			case !exclusive && b.exclusive:
				m.Lock(o.key, owner, r, false) // a downgrade never conflicts
			}
		})
	}
	waits := s.waits
	s.mu.Unlock()
	if b.len == 0 {
		o.srv.zeroLocks.remove(o, &b)
	}
	for _, w := range waits {
		w.end(wire.StatusSuccess)
	}
	return wire.StatusSuccess
}

// unlockAll releases all locks, and ends the requests that wait for one (MS-SMB2 3.3.5.10).
func (o *Open) unlockAll() {
	s := &o.ranges
	s.mu.Lock()
	s.closed = true
	list, waits := s.list, s.waits
	s.list, s.waits = nil, nil
	s.count.Store(0)
	o.home.session.ranges.Add(-int64(len(list)))
	s.mu.Unlock()
	for _, w := range waits {
		w.end(wire.StatusRangeNotLocked)
	}
	for i := range list {
		if list[i].len == 0 {
			o.srv.zeroLocks.remove(o, &list[i])
		}
	}
	if len(list) > 0 {
		o.srv.cfg.Locks.UnlockAll(o.key, o.lockOwner())
	}
}
