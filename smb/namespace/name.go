package namespace

import (
	"strings"
	"unicode/utf8"

	"fileserver/smb/wire"
)

// Stream says which stream of an object a path names (MS-FSCC 2.1.5).
type Stream uint8

// Streams.
const (
	StreamAny   Stream = iota // none was named: a file's data, or a directory
	StreamData                // "::$DATA": a file
	StreamIndex               // "::$INDEX_ALLOCATION": a directory
	StreamNamed               // another one, of a file or a directory
)

// Path is a parsed path.
type Path struct {
	Elems  []string // as on disk; none: the share's root
	Stream Stream
	Name   string // of the named stream, as the client gives it
	// Slash: a separator followed the last element, which has to be a directory then.
	Slash bool
}

// maxDepth bounds the elements of a path: each costs a lookup, and memory.
const maxDepth = 512

// sfm are the characters that U+F020 and the following stand for (SFM; MS-FSCC 2.1.5.2 forbids them in names).
const sfm = "\"*:<>?\\| ."

// Parse parses the name of a CREATE, which is relative to the share (MS-SMB2 2.2.13, MS-FSCC 2.1.5). With posix (the client
// uses the POSIX extensions) "/" separates elements, too, and names may have any characters.
func Parse(name []byte, posix bool) (Path, wire.Status) {
	var p Path
	s, err := wire.UTF16(name)
	if err != nil {
		return p, wire.StatusInvalidParameter
	}
	if s == "" {
		return p, wire.StatusSuccess
	}
	if posix {
		s = strings.ReplaceAll(s, "/", `\`)
	}
	if s[0] == '\\' {
		return p, wire.StatusInvalidParameter // MS-SMB2 3.3.5.9
	}
	if s[len(s)-1] == '\\' {
		s, p.Slash = s[:len(s)-1], true
	}
	n := strings.Count(s, `\`) + 1
	if n > maxDepth {
		return p, wire.StatusObjectNameInvalid
	}
	p.Elems = make([]string, 0, n)
	for e := range strings.SplitSeq(s, `\`) {
		if !posix && len(p.Elems) == n-1 {
			var st wire.Status
			if e, p.Name, p.Stream, st = cutStream(e); st != wire.StatusSuccess {
				return p, st
			}
			if e == "" && n == 1 && (p.Stream == StreamIndex || p.Stream == StreamNamed && !p.Slash) {
				p.Elems = nil // of the root itself
				return p, wire.StatusSuccess
			}
		}
		if st := check(e, posix); st != wire.StatusSuccess {
			return p, st
		}
		p.Elems = append(p.Elems, unmap(e))
	}
	if p.Slash && (p.Stream == StreamData || p.Stream == StreamNamed) {
		return p, wire.StatusObjectNameInvalid
	}
	return p, wire.StatusSuccess
}

// cutStream cuts the stream's name and type off an element (MS-FSCC 2.1.5.3). A stream's name may have characters that
// a file's may not.
func cutStream(e string) (base, stream string, which Stream, st wire.Status) {
	i := strings.IndexByte(e, ':')
	if i < 0 {
		return e, "", StreamAny, wire.StatusSuccess
	}
	name, kind, typed := strings.Cut(e[i+1:], ":")
	switch {
	case typed && strings.EqualFold(kind, "$INDEX_ALLOCATION") && (name == "" || strings.EqualFold(name, "$I30")):
		return e[:i], "", StreamIndex, wire.StatusSuccess
	case typed && !strings.EqualFold(kind, "$DATA"), !typed && name == "", strings.ContainsAny(name, "/\x00"), len(name) > maxStreamName:
		return e, "", 0, wire.StatusObjectNameInvalid
	case name == "":
		return e[:i], "", StreamData, wire.StatusSuccess
	}
	return e[:i], name, StreamNamed, wire.StatusSuccess
}

// check reports whether an element can be a name (MS-FSCC 2.1.5.2).
func check(e string, posix bool) wire.Status {
	switch e {
	case "", ".":
		return wire.StatusObjectNameInvalid
	case "..":
		return wire.StatusObjectPathSyntaxBad
	}
	for i := range len(e) {
		switch c := e[i]; {
		case c == 0, c < ' ' && !posix:
			return wire.StatusObjectNameInvalid
		case posix:
		case strings.IndexByte(`"*/:<>?|`, c) >= 0:
			return wire.StatusObjectNameInvalid
		}
	}
	if u := unmap(e); u != e && (u == "." || u == ".." || strings.IndexByte(u, 0) >= 0) {
		return wire.StatusObjectNameInvalid // the mapped form of a forbidden name is forbidden, too
	}
	return wire.StatusSuccess
}

// unmap replaces characters of the private use area by the plain ones that they stand for.
func unmap(e string) string {
	if !strings.Contains(e, "\xef\x80") { // U+F000 to U+F03F
		return e
	}
	b := make([]byte, 0, len(e))
	for i := 0; i < len(e); {
		r, n := utf8.DecodeRuneInString(e[i:])
		switch {
		case r > 0xf000 && r < 0xf020:
			b = append(b, byte(r))
		case r >= 0xf020 && int(r-0xf020) < len(sfm):
			b = append(b, sfm[r-0xf020])
		default:
			b = append(b, e[i:i+n]...)
		}
		i += n
	}
	return string(b)
}

// OnDisk returns the name on disk for a client's name: mapped characters become plain ones.
func OnDisk(name string) string { return unmap(name) }

// Visible returns the name that clients see for a name on disk: characters that they may not use are mapped.
func Visible(name string) string {
	if !mapped(name) {
		return name
	}
	b := make([]byte, 0, len(name)+8)
	for i := range len(name) {
		c := name[i]
		r := rune(0)
		if c < ' ' {
			r = 0xf000 + rune(c)
		} else if j := strings.IndexByte(sfm, c); j >= 0 && (c != ' ' && c != '.' || i == len(name)-1) {
			r = 0xf020 + rune(j)
		}
		if r != 0 {
			b = utf8.AppendRune(b, r)
			continue
		}
		b = append(b, c)
	}
	return string(b)
}

// mapped reports whether Visible changes the name.
func mapped(name string) bool {
	for i := range len(name) {
		switch c := name[i]; c {
		case '"', '*', ':', '<', '>', '?', '\\', '|':
			return true
		case ' ', '.':
			if i == len(name)-1 {
				return true
			}
		default:
			if c < ' ' {
				return true
			}
		}
	}
	return false
}

// AppendName appends a name on disk, or a path of names separated by "/", as clients see it: UTF-16LE, with mapped characters
// and "\" as separator.
func AppendName(b []byte, path string) []byte {
	for i := 0; ; i++ {
		e, rest, more := strings.Cut(path, "/")
		if i > 0 {
			b = append(b, '\\', 0)
		}
		if e != "." && e != ".." { // those are in targets of links only
			e = Visible(e)
		}
		b = wire.AppendUTF16(b, e)
		if !more {
			return b
		}
		path = rest
	}
}
