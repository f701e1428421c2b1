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

// has reports whether the lock has bytes of first to last.
func (b *byteRange) has(first, last uint64) bool {
	return b.len > 0 && b.off <= last && b.last() >= first
}

// meets reports whether two ranges overlap. One of length 0 is a place between two bytes: it meets a range that has both.
func (b *byteRange) meets(c *byteRange) bool {
	if b.len == 0 {
		b, c = c, b
	}
	if c.len == 0 {
		return b.len > 0 && b.off < c.off && c.off <= b.last()
	}
	return b.has(c.off, c.last())
}

// ranges are the byte-range locks of an open. The arbiter knows their union, whose owner is the open: of what is
// locked more than once the strongest lock counts. That locks are taken and given back one by one, and how
// those of one open conflict, is SMB's own (MS-FSA 2.1.4.10, 2.1.5.8, 2.1.5.9).
//
// Lock order: mu, then zeroLocks.mu or the arbiter.
type ranges struct {
	count atomic.Int32 // of list

	mu        sync.Mutex
	list      []byteRange
	waits     []*wait // of LOCKs of this open
	closed    bool
	sequences lockSequences
}

// lockOwner is the open as an owner of byte-range locks.
func (o *Open) lockOwner() lock.Owner {
	return lock.Owner{Proto: lockProto, Client: o.serial}
}

// lockedByOthers reports whether byte-range locks forbid a READ or WRITE: those of others, and
// shared ones of its own a WRITE (MS-FSA 2.1.4.10).
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

// obstacle is what keeps a lock from being taken.
type obstacle uint8

const (
	inOwnWay   obstacle = iota // a lock of the same open, or something else
	inTheWay                   // another's, which the arbiter knows
	zeroLength                 // another's without bytes
	tooMany                    // none: the open, or its client, has as many locks as it may
)

// lockRange takes a lock, or tells what keeps it from that. Where it is a lock of another open without bytes w, if there is one, ends when such are
// given back.
func (o *Open) lockRange(b byteRange, w *wait) (wire.Status, obstacle) {
	s := &o.ranges
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return wire.StatusRangeNotLocked, inOwnWay
	}
	for i := range s.list {
		// A shared lock may be taken of what the open has locked itself, an exclusive one may not.
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
		if c != nil && c.Range.Off < b.off { // the first there is: another would not begin before it
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

// claimGapsLocked locks, with the arbiter, those bytes of b that the open has not locked yet: all, or none, and then c is in the
// way.
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

// unclaim unlocks what claimGapsLocked has locked.
func (o *Open) unclaim(done []lock.Range) {
	for _, r := range done {
		_ = o.srv.cfg.Locks.Unlock(o.key, o.lockOwner(), r) // each is as it was locked: none becomes two
	}
}

// parts calls fn for the parts of first to last that are locked in the same way.
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

// unlockRange gives a lock back, which must be of exactly this range (MS-FSA 2.1.5.9).
func (o *Open) unlockRange(off, n uint64) wire.Status {
	s := &o.ranges
	s.mu.Lock()
	found := -1
	for i := range s.list {
		// An exclusive one goes first: then the shared one on top of it remains.
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
				_ = m.Unlock(o.key, owner, r) // beyond the limit it stays locked until the close
			case !exclusive && b.exclusive:
				m.Lock(o.key, owner, r, false) // less than before never conflicts
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

// unlockAll gives all locks back, and ends the requests that wait for some (MS-SMB2 3.3.5.10).
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
