package lock

import "slices"

// segment is a lock of the bytes first to last.
type segment struct {
	owner       Owner
	first, last uint64
	exclusive   bool
}

// chunkMax is the size at which a chunk is split. Tests make it small.
var chunkMax = 128

// chunk is a part of a list. It is not empty.
type chunk struct {
	segs []segment // by first
	last uint64    // the last byte of any of them
}

// list is the locks of a file, by first byte. It is kept in chunks that tell how far they reach, so that a client with
// a hundred thousand locks does not make others' locks slow.
type list struct {
	chunks []*chunk
	n      int
	held   map[Owner]int // segments of each owner
}

// insert adds a segment behind those with the same first byte.
func (l *list) insert(s segment) {
	l.n++
	if l.held == nil {
		l.held = make(map[Owner]int)
	}
	l.held[s.owner]++
	if len(l.chunks) == 0 {
		l.chunks = []*chunk{{segs: []segment{s}, last: s.last}}
		return
	}
	i, _ := slices.BinarySearchFunc(l.chunks, s.first, func(c *chunk, first uint64) int { return order(c.segs[0].first, first) })
	c := l.chunks[max(i-1, 0)] // the last one that begins before s, or at it
	k, _ := slices.BinarySearchFunc(c.segs, s.first, func(e segment, first uint64) int { return order(e.first, first) })
	c.segs = slices.Insert(c.segs, k, s)
	c.last = max(c.last, s.last)
	if len(c.segs) > chunkMax {
		half := len(c.segs) / 2
		next := &chunk{segs: slices.Clone(c.segs[half:])}
		c.segs = slices.Clip(c.segs[:half])
		c.measure()
		next.measure()
		l.chunks = slices.Insert(l.chunks, max(i-1, 0)+1, next)
	}
}

// order puts what is looked for behind what is equal.
func order(have, want uint64) int {
	if have <= want {
		return -1
	}
	return 1
}

// measure finds out how far the chunk reaches.
func (c *chunk) measure() {
	c.last = 0
	for i := range c.segs {
		c.last = max(c.last, c.segs[i].last)
	}
}

// overlap calls fn for the segments that have bytes of first to last, by first byte, until fn returns false.
func (l *list) overlap(first, last uint64, fn func(*segment) bool) {
	for _, c := range l.chunks {
		if c.segs[0].first > last {
			return
		}
		if c.last < first {
			continue
		}
		for i := range c.segs {
			s := &c.segs[i]
			if s.first > last {
				return
			}
			if s.last >= first && !fn(s) {
				return
			}
		}
	}
}

// take removes the segments of o that have bytes of first to last, and returns them.
func (l *list) take(o *Owner, first, last uint64) (taken []segment) {
	if l.held[*o] == 0 {
		return nil
	}
	empty := false
	for _, c := range l.chunks {
		if c.segs[0].first > last {
			break
		}
		if c.last < first {
			continue
		}
		before := len(taken)
		c.segs = slices.DeleteFunc(c.segs, func(s segment) bool {
			hit := s.first <= last && s.last >= first && s.owner == *o
			if hit {
				taken = append(taken, s)
			}
			return hit
		})
		if len(taken) > before {
			c.measure()
			empty = empty || len(c.segs) == 0
		}
	}
	if empty {
		l.chunks = slices.DeleteFunc(l.chunks, func(c *chunk) bool { return len(c.segs) == 0 })
	}
	l.n -= len(taken)
	if l.held[*o] -= len(taken); l.held[*o] == 0 {
		delete(l.held, *o)
	}
	return taken
}
