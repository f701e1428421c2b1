package lock

import "math/rand/v2"

// tree is a search tree of segments by first byte (a treap). Each node knows the last byte and the owners of the
// segments below it.
type tree struct {
	root  *node
	steps int // nodes looked at, for tests
}

type node struct {
	seg         *segment
	rank        uint32 // random, and not less than those below: this keeps the tree flat
	left, right *node
	all, excl   extent // of the segments from here down, and of the exclusive ones among them
}

// extent summarizes segments.
type extent struct {
	last uint64   // the last byte of all of them
	by   *holding // their owner: nil if there are no segments, several if more than one owner has them
}

// several stands for more than one owner.
var several = new(holding)

func (e *extent) add(x extent) {
	switch {
	case x.by == nil:
		return
	case e.by == nil:
		e.by = x.by
	case e.by != x.by:
		e.by = several
	}
	e.last = max(e.last, x.last)
}

// measure computes the extents of the segments from here down.
func (n *node) measure() {
	own := extent{n.seg.last, n.seg.by}
	n.all, n.excl = own, extent{}
	if n.seg.exclusive {
		n.excl = own
	}
	for _, below := range [...]*node{n.left, n.right} {
		if below != nil {
			n.all.add(below.all)
			n.excl.add(below.excl)
		}
	}
}

// before reports whether s comes before x.
func (s *segment) before(x *segment) bool {
	return s.first < x.first || s.first == x.first && s.serial < x.serial
}

func (t *tree) insert(s *segment) {
	x := &node{seg: s, rank: rand.Uint32()}
	t.root = t.put(t.root, x)
}

func (t *tree) put(n, x *node) *node {
	if n == nil {
		x.measure()
		return x
	}
	t.steps++
	switch {
	case x.rank > n.rank:
		x.left, x.right = t.split(n, x.seg)
		x.measure()
		return x
	case x.seg.before(n.seg):
		n.left = t.put(n.left, x)
	default:
		n.right = t.put(n.right, x)
	}
	n.measure()
	return n
}

// split splits the nodes into those before s and those after it.
func (t *tree) split(n *node, s *segment) (left, right *node) {
	if n == nil {
		return nil, nil
	}
	t.steps++
	if n.seg.before(s) {
		n.right, right = t.split(n.right, s)
		left = n
	} else {
		left, n.left = t.split(n.left, s)
		right = n
	}
	n.measure()
	return left, right
}

// remove removes a segment, which must be in the tree.
func (t *tree) remove(s *segment) { t.root = t.cut(t.root, s) }

func (t *tree) cut(n *node, s *segment) *node {
	t.steps++
	switch {
	case n.seg == s:
		return t.join(n.left, n.right)
	case s.before(n.seg):
		n.left = t.cut(n.left, s)
	default:
		n.right = t.cut(n.right, s)
	}
	n.measure()
	return n
}

// join is the reverse of split.
func (t *tree) join(a, b *node) *node {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	t.steps++
	top := a
	if a.rank > b.rank {
		a.right = t.join(a.right, b)
	} else {
		top = b
		b.left = t.join(a, b.left)
	}
	top.measure()
	return top
}

// overlap calls fn for the segments that overlap first to last, in their order, until fn returns false.
func (t *tree) overlap(first, last uint64, fn func(*segment) bool) { t.visit(t.root, first, last, fn) }

func (t *tree) visit(n *node, first, last uint64, fn func(*segment) bool) bool {
	if n == nil || n.all.last < first {
		return true
	}
	t.steps++
	switch {
	case !t.visit(n.left, first, last, fn):
		return false
	case n.seg.first > last:
		return true
	case n.seg.last >= first && !fn(n.seg):
		return false
	}
	return t.visit(n.right, first, last, fn)
}

// conflict returns the first segment that conflicts with a lock from first to last and is not in o, which may be
// nil.
func (t *tree) conflict(o *holding, first, last uint64, exclusive bool) *segment {
	return t.inWay(t.root, o, first, last, exclusive)
}

func (t *tree) inWay(n *node, o *holding, first, last uint64, exclusive bool) *segment {
	if n == nil {
		return nil
	}
	t.steps++
	e := &n.excl
	if exclusive {
		e = &n.all
	}
	if e.by == nil || e.by == o || e.last < first {
		return nil
	}
	if s := t.inWay(n.left, o, first, last, exclusive); s != nil {
		return s
	}
	s := n.seg
	switch {
	case s.first > last:
		return nil
	case s.last >= first && s.by != o && (exclusive || s.exclusive):
		return s
	}
	return t.inWay(n.right, o, first, last, exclusive)
}
