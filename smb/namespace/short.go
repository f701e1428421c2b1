package namespace

import (
	"context"
	"strings"

	"fileserver/vfs"
)

// A name that is not of the 8.3 form (MS-FSCC 2.1.5.2.1) has a generated short name, such as "L3KZ0A~Q.TXT": one character of
// the name, five of a hash of the name without its case, "~", one more of the hash, and the extension, cut if necessary. It
// depends neither on the other names in the directory nor on restarts. If two names in a directory have the same short name,
// it finds neither.

const (
	hashDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	shortBase  = 8 // characters in front of the dot
	shortTilde = 6 // where "~" is
)

// ShortName returns the 8.3 name for a name that clients see: the name itself in capitals, or a generated one.
func ShortName(name string) (short string, madeUp bool) {
	if s := strings.ToUpper(name); isShort(s) {
		return s, false
	}
	base, ext := name, ""
	if dot := strings.LastIndexByte(name, '.'); dot > 0 {
		base, ext = name[:dot], name[dot+1:]
	}
	h := shortHash(name)
	var buf [shortBase + 4]byte
	b := append(buf[:0], '_')
	for i := range len(base) {
		if c := shortChar(base[i]); c != 0 {
			b[0] = c
			break
		}
	}
	for range shortTilde - 1 {
		b = append(b, hashDigits[h%uint64(len(hashDigits))])
		h /= uint64(len(hashDigits))
	}
	b = append(b, '~', hashDigits[h%uint64(len(hashDigits))], '.')
	for i := 0; i < len(ext) && len(b) < len(buf); i++ {
		if c := shortChar(ext[i]); c != 0 {
			b = append(b, c)
		}
	}
	return strings.TrimSuffix(string(b), "."), true
}

// shortHash is a hash (FNV-1a) of a name without its case.
func shortHash(name string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for _, r := range name {
		for r = upper(r); ; r >>= 8 {
			h = (h ^ uint64(r&0xff)) * 0x100000001b3
			if r < 0x100 {
				break
			}
		}
	}
	return h ^ h>>32
}

// shortChar returns the character of a generated name for r: a letter or digit, or 0 if it is left out.
func shortChar(c byte) byte {
	switch {
	case 'a' <= c && c <= 'z':
		return c - ('a' - 'A')
	case 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return c
	}
	return 0
}

// isShort reports whether an upper-case name has the form of 8.3 characters.
func isShort(name string) bool {
	base, ext, dot := strings.Cut(name, ".")
	if len(base) < 1 || len(base) > shortBase || dot && len(ext) < 1 || len(ext) > 3 {
		return false
	}
	for _, part := range [...]string{base, ext} {
		for i := range len(part) {
			if c := part[i]; shortChar(c) != c && strings.IndexByte("!#$%&'()-@^_`{}~", c) < 0 {
				return false
			}
		}
	}
	return true
}

// MadeUp reports whether a name could be one that [ShortName] has made up.
func MadeUp(name string) bool {
	base, ext, dot := strings.Cut(name, ".")
	if len(base) != shortBase || base[shortTilde] != '~' || dot && len(ext) < 1 || len(ext) > 3 {
		return false
	}
	for i := range len(base) {
		if i != shortTilde && shortChar(base[i]) == 0 && (i > 0 || base[i] != '_') {
			return false
		}
	}
	for i := range len(ext) {
		if shortChar(ext[i]) == 0 {
			return false
		}
	}
	return true
}

// short returns the only name in dir whose generated short name is name. It reads the directory, because few programs use
// such names.
func short(ctx context.Context, c *vfs.Cred, dir vfs.Node, name string) (found string, err error) {
	want, n := strings.ToUpper(name), 0
	_, err = dir.ReadDir(ctx, c, 0, 0, false, func(e *vfs.DirEntry) bool {
		if s, madeUp := ShortName(Visible(e.Name)); madeUp && s == want {
			found = e.Name
			n++
		}
		return true
	})
	if err == nil && n != 1 {
		err = vfs.ErrNotFound
	}
	return found, err
}
