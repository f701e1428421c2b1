package lock

import (
	"math"
	"slices"
)

// Range is the bytes [Off, Off+Len); with Len all ones, or beyond the last, those from Off to the byte 2^64-1. An empty range has no bytes and locks nothing.
type Range struct{ Off, Len uint64 }

// ToEnd is the length of a range without end.
const ToEnd uint64 = math.MaxUint64

// last is the last byte of a range that is not empty.
func (r Range) last() uint64 {
	if r.Len == ToEnd || r.Len > math.MaxUint64-r.Off {
		return math.MaxUint64
	}
	return r.Off + r.Len - 1
}

// rangeOf is the range from first to last; one that reaches the last byte is to the end.
func rangeOf(first, last uint64) Range {
	if last == math.MaxUint64 {
		return Range{first, ToEnd}
	}
	return Range{first, last - first + 1}
}

// segment is a lock of the bytes first to last.
type segment struct {
	owner       Owner
	first, last uint64
	exclusive   bool
}

// Conflict is a lock in the way.
type Conflict struct {
	Owner     Owner
	Range     Range // of the lock; Len is ToEnd if it has no end
	Exclusive bool
}

// conflict finds the first lock of another owner that forbids one of o.
func (f *file) conflict(o *Owner, first, last uint64, exclusive bool) *segment {
	for i := range f.locks {
		s := &f.locks[i]
		if s.first > last {
			return nil
		}
		if s.last >= first && (exclusive || s.exclusive) && s.owner != *o {
			return s
		}
	}
	return nil
}

func (f *file) holds(o *Owner) bool {
	for i := range f.locks {
		if f.locks[i].owner == *o {
			return true
		}
	}
	return false
}

// cut takes the bytes first to last out of the locks of o, splitting those that reach over them.
func (f *file) cut(o *Owner, first, last uint64) (cut bool) {
	for i := 0; i < len(f.locks) && f.locks[i].first <= last; i++ {
		s := &f.locks[i]
		if s.last < first || s.owner != *o {
			continue
		}
		cut = true
		head, tail := *s, *s
		switch {
		case s.first < first && s.last > last:
			head.last, tail.first = first-1, last+1
			f.locks = slices.Delete(f.locks, i, i+1)
			f.insert(head)
			f.insert(tail)
			return true // locks of one owner do not overlap
		case s.first < first:
			s.last = first - 1
		case s.last > last:
			tail.first = last + 1
			f.locks = slices.Delete(f.locks, i, i+1)
			f.insert(tail)
			i--
		default:
			f.locks = slices.Delete(f.locks, i, i+1)
			i--
		}
	}
	return cut
}

// add gives o the bytes first to last, which it does not hold, and joins them with neighbours of the same kind.
func (f *file) add(o *Owner, first, last uint64, exclusive bool) {
	for i := 0; i < len(f.locks); i++ {
		s := &f.locks[i]
		if s.exclusive != exclusive || s.owner != *o {
			continue
		}
		before := first > 0 && s.last == first-1
		after := last < math.MaxUint64 && s.first == last+1
		if before || after {
			first, last = min(first, s.first), max(last, s.last)
			f.locks = slices.Delete(f.locks, i, i+1)
			i--
		}
	}
	f.insert(segment{*o, first, last, exclusive})
}

func (f *file) insert(s segment) {
	i, _ := slices.BinarySearchFunc(f.locks, s.first, func(e segment, first uint64) int {
		if e.first <= first {
			return -1
		}
		return 1
	})
	f.locks = slices.Insert(f.locks, i, s)
}
