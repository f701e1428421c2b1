package namespace

import (
	"hash/maphash"
	"unicode"
	"unicode/utf8"
)

// upper folds the case of r to one character, as Windows does to compare names. A character outside ASCII never becomes an
// ASCII one, so that a name in another script cannot equal an ASCII name.
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

// cased reports whether another name could equal this one except for case, or for bytes that are not UTF-8.
func cased(name string) bool {
	for _, r := range name {
		if r == utf8.RuneError || upper(r) != r || unicode.ToLower(r) != r {
			return true
		}
	}
	return false
}

// Equal reports whether two names are the same to clients, which ignore case.
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
