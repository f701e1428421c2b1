package namespace

import (
	"hash/maphash"
	"unicode"
	"unicode/utf8"
)

// upper is r without its case: one character for one, as Windows compares. Characters that would become ASCII stay
// what they are, so that no name of letters of other scripts is one of commands.
func upper(r rune) rune {
	if r < utf8.RuneSelf {
		if 'a' <= r && r <= 'z' {
			r -= 'a' - 'A'
		}
		return r
	}
	if u := unicode.ToUpper(r); u >= utf8.RuneSelf {
		return u
	}
	return r
}

// cased reports whether another name could be the same as this one but for case (or for being no UTF-8).
func cased(name string) bool {
	for _, r := range name {
		if r == utf8.RuneError || upper(r) != r || unicode.ToLower(r) != r {
			return true
		}
	}
	return false
}

// Equal reports whether clients take two names for the same.
func Equal(a, b string) bool {
	for a != "" && b != "" {
		r, n := utf8.DecodeRuneInString(a)
		s, m := utf8.DecodeRuneInString(b)
		if r != s && upper(r) != upper(s) {
			return false
		}
		a, b = a[n:], b[m:]
	}
	return a == b
}

// fold hashes a name without its case.
func fold(seed maphash.Seed, name string) uint64 {
	var buf [256]byte
	b := buf[:0]
	for _, r := range name {
		b = utf8.AppendRune(b, upper(r))
	}
	return maphash.Bytes(seed, b)
}
