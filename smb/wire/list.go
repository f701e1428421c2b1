package wire

// List is a chain of entries being built: every entry begins with the offset of the next one, counted
// from itself (MS-FSCC 2.4.10 and others). Entries that do not fit are not added.
type List struct {
	b          []byte
	base, last int
	limit      int
}

// NewList begins a list at the end of b that gets no longer than limit bytes.
func NewList(b []byte, limit int) List { return List{b: b, base: len(b), last: -1, limit: limit} }

// Bytes is what the list began at, with the list.
func (l *List) Bytes() []byte { return l.b }

// Len is the length of the list in bytes.
func (l *List) Len() int { return len(l.b) - l.base }

// Empty reports whether there is no entry.
func (l *List) Empty() bool { return l.last < 0 }

// begin returns where the next entry is appended: aligned, behind the others.
func (l *List) begin(align int) []byte {
	return pad(l.b, l.base, align)
}

// end takes the entry that begins at start of b, or leaves it if it is too much.
func (l *List) end(b []byte, start int) bool {
	if len(b)-l.base > l.limit {
		return false
	}
	if l.last >= 0 {
		put32(b, l.last, start-l.last)
	}
	l.b, l.last = b, start
	return true
}

// entry splits the first entry off a chain that came from the peer. An entry has at least min bytes; rest is nil
// after the last.
func entry(b []byte, min int, align uint32) (e, rest []byte, err error) {
	if len(b) < min {
		return nil, nil, malformed("entry of %d bytes, %d are needed", len(b), min)
	}
	next := le.Uint32(b)
	if next == 0 {
		return b, nil, nil
	}
	if next%align != 0 || uint64(next) < uint64(min) || uint64(next) > uint64(len(b)) {
		return nil, nil, malformed("next entry at %d of %d bytes", next, len(b))
	}
	return b[:next:next], b[next:], nil
}
