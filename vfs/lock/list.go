package lock

// segment is a lock of the bytes first to last. It does not change while it is in a list.
type segment struct {
	by          *holding
	first, last uint64
	exclusive   bool
	serial      uint64 // tells those with the same first byte apart: the later ones are behind
}

// holding is what an owner has locked of a file. Its segments do not overlap.
type holding struct {
	owner Owner
	tree  tree
	n     int
}

// list is the locks of a file, by first byte: all of them, and those of each owner. What it takes to find one grows with the logarithm of
// their number, and locks of the same owner are passed over together, so that a client with a million locks does not make others' slow.
type list struct {
	all    tree
	n      int
	held   map[Owner]*holding
	serial uint64
}

// insert adds a lock of o, of bytes that o has not locked, behind those with the same first byte.
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

// overlap calls fn for the segments that have bytes of first to last, by first byte, until fn returns false.
func (l *list) overlap(first, last uint64, fn func(*segment) bool) { l.all.overlap(first, last, fn) }

// take removes the segments of o that have bytes of first to last, and returns them.
func (l *list) take(o *Owner, first, last uint64) (taken []*segment) {
	h := l.held[*o]
	if h == nil {
		return nil
	}
	h.tree.overlap(first, last, func(s *segment) bool {
		taken = append(taken, s)
		return true
	})
	if len(taken) == l.n { // the only owner gives everything up
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

// conflict finds the first lock of another owner that forbids o one of first to last.
func (l *list) conflict(o *Owner, first, last uint64, exclusive bool) *segment {
	return l.all.conflict(l.held[*o], first, last, exclusive)
}
