package wire

import "unicode/utf8"

// MaxNameLen is the length of the longest name on the wire, bytes: lengths of names have 16 bits.
const MaxNameLen = 0xfffe

// AppendUTF16 appends s as UTF-16LE. It restores the surrogate halves that [UTF16] kept. Every other byte that is not
// UTF-8 becomes U+FFFD.
func AppendUTF16(b []byte, s string) []byte {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			b = append(b, c, 0)
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			if h, ok := surrogate(s[i:]); ok {
				b = le.AppendUint16(b, h)
				i += 3
				continue
			}
		}
		i += n
		if r >= 0x10000 {
			r -= 0x10000
			b = le.AppendUint16(b, uint16(0xd800|r>>10))
			b = le.AppendUint16(b, uint16(0xdc00|r&0x3ff))
			continue
		}
		b = le.AppendUint16(b, uint16(r))
	}
	return b
}

// surrogate decodes a surrogate half in the form that UTF16 writes.
func surrogate(s string) (uint16, bool) {
	if len(s) < 3 || s[0] != 0xed || s[1]&0xe0 != 0xa0 || s[2]&0xc0 != 0x80 {
		return 0, false
	}
	return 0xd000 | uint16(s[1]&0x3f)<<6 | uint16(s[2]&0x3f), true
}

// UTF16Len returns the length of s as UTF-16LE, bytes.
func UTF16Len(s string) int {
	n := 0
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			n, i = n+2, i+1
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			if _, ok := surrogate(s[i:]); ok {
				size = 3
			}
		}
		if n += 2; r >= 0x10000 {
			n += 2
		}
		i += size
	}
	return n
}

// UTF16 decodes b, which is UTF-16LE. Windows allows an unpaired surrogate half in names. It becomes the three bytes
// that UTF-8 would have for it, so that different names stay different and AppendUTF16 can restore them. An odd length
// is malformed.
func UTF16(b []byte) (string, error) {
	if len(b)%2 != 0 {
		return "", malformed("UTF-16 of %d bytes", len(b))
	}
	return string(appendUTF8(make([]byte, 0, len(b)/2+len(b)/8), b)), nil
}

func appendUTF8(s, b []byte) []byte {
	for ; len(b) >= 2; b = b[2:] {
		c := le.Uint16(b)
		switch {
		case c < utf8.RuneSelf:
			s = append(s, byte(c))
		case c&0xf800 != 0xd800:
			s = utf8.AppendRune(s, rune(c))
		case c < 0xdc00 && len(b) >= 4 && le.Uint16(b[2:])&0xfc00 == 0xdc00:
			s = utf8.AppendRune(s, 0x10000+rune(c&0x3ff)<<10+rune(le.Uint16(b[2:])&0x3ff))
			b = b[2:]
		default:
			s = append(s, 0xed, 0x80|byte(c>>6&0x3f), 0x80|byte(c&0x3f))
		}
	}
	return s
}
