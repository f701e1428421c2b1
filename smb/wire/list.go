package wire

// List builds a chain of entries. Every entry begins with the offset of the next one, counted from its own beginning
// (MS-FSCC 2.4.10 and others). An entry that does not fit is not added.
type List struct {
	b          []byte
	base, last int
	limit      int
}

// NewList begins a list at the end of b, which grows by at most limit bytes.
func NewList(b []byte, limit int) List { return List{b: b, base: len(b), last: -1, limit: limit} }

// Bytes returns the bytes given to NewList, followed by the list.
func (l *List) Bytes() []byte { return l.b }

// Len returns the length of the list in bytes.
func (l *List) Len() int { return len(l.b) - l.base }

// Empty reports whether the list has no entries.
func (l *List) Empty() bool { return l.last < 0 }

// begin returns the slice to which the next entry is appended, padded to the entry's alignment.
func (l *List) begin(align int) []byte {
	return pad(l.b, l.base, align)
}

// end adds the entry that begins at b[start], if it fits.
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

// entry splits the first entry off a chain that came from the peer. It fails if the entry has less than min bytes.
// rest is nil after the last entry.
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
