package lock

// segment is a lock of the bytes first to last. It does not change while it is in a list.
type segment struct {
	by          *holding
	first, last uint64
	exclusive   bool
	serial      uint64 // orders segments with the same first byte: the later ones come after
}

// holding is the set of locks that an owner has on a file. Its segments do not overlap.
type holding struct {
	owner Owner
	tree  tree
	n     int
}

// list is the locks of a file by first byte: all of them, and those of each owner. The time to find one grows with
// the logarithm of their number, and locks of the same owner are skipped together. So a client with a million locks
// does not make those of others slow.
type list struct {
	all    tree
	n      int
	held   map[Owner]*holding
	serial uint64
}

// insert adds a lock of o after the locks with the same first byte. o must not have locked any of its bytes.
func (l *list) insert(o *Owner, first, last uint64, exclusive bool) {
	h := l.held[*o]
	if h == nil {
		if l.held == nil {
			l.held = make(map[Owner]*holding)
		}
		h = &holding{owner: *o}
		l.held[*o] = h
	}
	l.n++
	h.n++
	l.serial++
	s := &segment{h, first, last, exclusive, l.serial}
	l.all.insert(s)
	h.tree.insert(s)
}

// overlap calls fn for the segments that overlap first to last, ordered by first byte, until fn returns false.
func (l *list) overlap(first, last uint64, fn func(*segment) bool) { l.all.overlap(first, last, fn) }

// take removes the segments of o that overlap first to last, and returns them.
func (l *list) take(o *Owner, first, last uint64) (taken []*segment) {
	h := l.held[*o]
	if h == nil {
		return nil
	}
	h.tree.overlap(first, last, func(s *segment) bool {
		taken = append(taken, s)
		return true
	})
	if len(taken) == l.n { // the only owner releases all its locks
		*l = list{serial: l.serial}
		return taken
	}
	for _, s := range taken {
		l.all.remove(s)
	}
	l.n -= len(taken)
	if h.n -= len(taken); h.n == 0 {
		delete(l.held, *o)
		return taken
	}
	for _, s := range taken {
		h.tree.remove(s)
	}
	return taken
}

// conflict returns the first lock of another owner that conflicts with a lock of o from first to last.
func (l *list) conflict(o *Owner, first, last uint64, exclusive bool) *segment {
	return l.all.conflict(l.held[*o], first, last, exclusive)
}
