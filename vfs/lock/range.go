package lock

import "math"

// Range is the bytes [Off, Off+Len). If Len is all ones, or the range would pass the byte 2^64-1, it ends with that
// byte. An empty range has no bytes and locks nothing.
type Range struct{ Off, Len uint64 }

// ToEnd is the length of a range without end.
const ToEnd uint64 = math.MaxUint64

// last returns the last byte of a range that is not empty.
func (r Range) last() uint64 {
	if r.Len == ToEnd || r.Len > math.MaxUint64-r.Off {
		return math.MaxUint64
	}
	return r.Off + r.Len - 1
}

// rangeOf returns the range from first to last. If last is the byte 2^64-1, Len is ToEnd.
func rangeOf(first, last uint64) Range {
	if last == math.MaxUint64 {
		return Range{first, ToEnd}
	}
	return Range{first, last - first + 1}
}

// Conflict is a lock in the way.
type Conflict struct {
	Owner     Owner
	Range     Range // of the lock; Len is ToEnd if it has no end
	Exclusive bool
	// Full reports that no lock is in the way, but the owner or its client has reached its [Limits].
	Full bool
}

// conflict returns the first lock of another owner that conflicts with a lock of o from first to last.
func (f *file) conflict(o *Owner, first, last uint64, exclusive bool) *segment {
	return f.locks.conflict(o, first, last, exclusive)
}

func (f *file) holds(o *Owner) bool { return f.locks.held[*o] != nil }

// cut removes the bytes first to last from the locks of o, splitting locks that extend beyond them.
func (f *file) cut(o *Owner, first, last uint64) bool {
	taken := f.locks.take(o, first, last)
	for _, s := range taken {
		if s.first < first {
			f.locks.insert(o, s.first, first-1, s.exclusive)
		}
		if s.last > last {
			f.locks.insert(o, last+1, s.last, s.exclusive)
		}
	}
	return len(taken) > 0
}

// add locks the bytes first to last for o, which must not hold them, and merges them with adjacent locks of the
// same kind.
func (f *file) add(o *Owner, first, last uint64, exclusive bool) {
	from, to := max(first, 1)-1, min(last, math.MaxUint64-1)+1
	for _, s := range f.locks.take(o, from, to) {
		if s.exclusive != exclusive {
			f.locks.insert(o, s.first, s.last, s.exclusive)
			continue
		}
		first, last = min(first, s.first), max(last, s.last)
	}
	f.locks.insert(o, first, last, exclusive)
}
