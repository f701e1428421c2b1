package smb

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"fileserver/smb/namespace"
)

// pattern is a search pattern of QUERY_DIRECTORY (MS-FSA 2.1.4.4). Besides * and ? it may have the wildcards that
// stand for the rules of DOS. "<" matches as * up to the last dot. ">" matches as ?, and also matches nothing at a
// dot or at the end. A double quote matches a dot or the end.
type pattern struct {
	chars []rune // case folded; nil: matches everything
	wild  bool
	// short is the pattern if it may be a generated name of 8.3 characters, which stands for another name.
	short string
}

// parsePattern reads a pattern.
func parsePattern(s string) pattern {
	if s == "" || s == "*" {
		return pattern{wild: true}
	}
	p := pattern{chars: make([]rune, 0, len(s))}
	for _, r := range s {
		switch r {
		case '*', '?', '<', '>', '"':
			p.wild = true
		}
		if n := len(p.chars); r == '*' && n > 0 && p.chars[n-1] == '*' {
			continue
		}
		p.chars = append(p.chars, foldRune(r))
	}
	if namespace.MadeUp(s) {
		p.short = strings.ToUpper(s)
	}
	return p
}

func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		if 'a' <= r && r <= 'z' {
			r -= 'a' - 'A'
		}
		return r
	}
	return unicode.ToUpper(r)
}

// match reports whether a name matches. Its time is proportional to the length of name times that of the pattern.
func (p *pattern) match(name string) bool {
	if p.chars == nil {
		return true
	}
	// now[i] reports whether the first i characters of the pattern match what has been read of the name.
	var buf [2][64]bool
	now, next := buf[0][:], buf[1][:]
	if n := len(p.chars) + 1; n > len(now) {
		now, next = make([]bool, n), make([]bool, n)
	} else {
		now, next = now[:n], next[:n]
	}
	lastDot := strings.LastIndexByte(name, '.')
	now[0] = true
	for at, r := range name {
		clear(next)
		f := foldRune(r)
		for i, c := range p.chars {
			if !now[i] {
				continue
			}
			switch c {
			case '*':
				next[i], now[i+1] = true, true
			case '<':
				// "<" matches no more than what precedes the last dot.
				next[i], now[i+1] = next[i] || at != lastDot, true
			case '?':
				next[i+1] = true
			case '>':
				if r == '.' {
					now[i+1] = true
				} else {
					next[i+1] = true
				}
			case '"':
				next[i+1] = next[i+1] || r == '.'
			default:
				next[i+1] = next[i+1] || c == f
			}
		}
		now, next = next, now
	}
	for i, c := range p.chars {
		if now[i] && (c == '*' || c == '<' || c == '>' || c == '"') {
			now[i+1] = true
		}
	}
	return now[len(p.chars)]
}
