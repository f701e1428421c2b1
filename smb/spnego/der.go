package spnego

// Tags (X.690 8.1.2).
const (
	tagOctets   = 0x04
	tagOID      = 0x06
	tagEnum     = 0x0a
	tagSequence = 0x30
	tagApp0     = 0x60 // [APPLICATION 0], RFC 2743 3.1
	tagContext  = 0xa0 // [0], [1] … explicit
	tagString   = 0x1b // GeneralString
)

// element splits the first element off b. It accepts definite lengths of at most three bytes.
func element(b []byte) (tag byte, content, rest []byte, err error) {
	if len(b) < 2 {
		return 0, nil, nil, malformed("an element of %d bytes", len(b))
	}
	tag, n, at := b[0], int(b[1]), 2
	if tag&0x1f == 0x1f {
		return 0, nil, nil, malformed("tag %#02x", tag)
	}
	if n >= 0x80 {
		k := n & 0x7f
		if k == 0 || k > 3 || len(b) < 2+k {
			return 0, nil, nil, malformed("a length of %d bytes", k)
		}
		n, at = 0, 2+k
		for _, c := range b[2:at] {
			n = n<<8 | int(c)
		}
	}
	if n > len(b)-at {
		return 0, nil, nil, malformed("an element of %d bytes, %d are left", n, len(b)-at)
	}
	return tag, b[at : at+n : at+n], b[at+n:], nil
}

// expect is element for one tag.
func expect(b []byte, tag byte) (content, rest []byte, err error) {
	got, content, rest, err := element(b)
	if err == nil && got != tag {
		err = malformed("tag %#02x where %#02x is due", got, tag)
	}
	return content, rest, err
}

// wrap appends an element.
func wrap(b []byte, tag byte, content []byte) []byte {
	b = append(b, tag)
	switch n := len(content); {
	case n < 0x80:
		b = append(b, byte(n))
	case n < 0x100:
		b = append(b, 0x81, byte(n))
	case n < 0x10000:
		b = append(b, 0x82, byte(n>>8), byte(n))
	default:
		b = append(b, 0x83, byte(n>>16), byte(n>>8), byte(n))
	}
	return append(b, content...)
}
