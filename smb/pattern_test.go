package smb

import (
	"strings"
	"testing"
	"time"
)

func TestPattern(t *testing.T) {
	for _, c := range []struct{ pattern, yes, no string }{
		{"*", "a|.|a.b|", ""},
		{"", "a|b.c", ""},
		{"a", "a|A", "b|aa|"},
		{"*.txt", "a.txt|.TXT|a.b.txt", "txt|a.txt.|a.tx"},
		{"?", "a|ä|.", "|ab"},
		{"a?c", "abc|a.c", "ac|abbc"},
		{"*a*b*", "ab|xaxbx|aab", "ba|a|b"},
		{"ÄÖ*", "äöü|ÄÖ", "ao"},
		{"<.txt", "a.txt|a.b.txt", "a.txt.x|txt"},
		{"<", "a|ab", "a.b|."},        // never the last dot
		{"<\"*", "a|a.b|a.b.c", ""},   // what *.* becomes
		{"a>>", "a|ab|abc", "abcd|b"}, // a??
		{"a>>.c", "a.c|ab.c|abc.c", "abcd.c|a.d"},
		{"abc\"", "abc|abc.", "abcd|abc.d"},
		{"abc\"d", "abc.d", "abcd|abc"},
	} {
		p := parsePattern(c.pattern)
		for _, n := range strings.Split(c.yes, "|") {
			if !p.match(n) && (n != "" || c.pattern == "*") {
				t.Errorf("%q does not match %q", n, c.pattern)
			}
		}
		for _, n := range strings.Split(c.no, "|") {
			if c.no != "" && p.match(n) {
				t.Errorf("%q matches %q", n, c.pattern)
			}
		}
	}
}

// matchSlowly is the same by recursion, straight from the rules.
func matchSlowly(p, n []rune) bool {
	if len(p) == 0 {
		return len(n) == 0
	}
	dots := strings.Count(string(n), ".")
	switch p[0] {
	case '*':
		return matchSlowly(p[1:], n) || len(n) > 0 && matchSlowly(p, n[1:])
	case '<':
		return matchSlowly(p[1:], n) || len(n) > 0 && (n[0] != '.' || dots > 1) && matchSlowly(p, n[1:])
	case '>':
		if len(n) == 0 || n[0] == '.' {
			return matchSlowly(p[1:], n)
		}
		return matchSlowly(p[1:], n[1:])
	case '"':
		if len(n) == 0 {
			return matchSlowly(p[1:], n)
		}
		return n[0] == '.' && matchSlowly(p[1:], n[1:])
	}
	return len(n) > 0 && (p[0] == '?' || p[0] == n[0]) && matchSlowly(p[1:], n[1:])
}

func FuzzPattern(f *testing.F) {
	f.Add("<.a>>", "B.A.ab")
	f.Add("*a<\"?", "..a")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		pattern, name = strings.ToUpper(pattern), strings.ToUpper(name)
		if len(pattern) > 8 || len(name) > 8 || pattern == "" || strings.ToUpper(pattern) != pattern || strings.ToUpper(name) != name {
			return
		}
		p := parsePattern(pattern)
		if got, want := p.match(name), matchSlowly([]rune(pattern), []rune(name)); got != want {
			t.Errorf("%q matches %q: %v", name, pattern, got)
		}
	})
}

// TestPatternTime has patterns that backtracking takes ages for.
func TestPatternTime(t *testing.T) {
	p := parsePattern(strings.Repeat("*a", 100) + "b")
	start := time.Now()
	if p.match(strings.Repeat("a", 255)) {
		t.Error("it matches")
	}
	if d := time.Since(start); d > time.Second {
		t.Errorf("it takes %v", d)
	}
}
