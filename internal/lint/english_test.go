package lint

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// phrase is a way to write that docs/style.md rules out, and what to write instead.
type phrase struct {
	bad     *regexp.Regexp
	instead string
}

// The expressions are split, so that they do not find themselves.
var phrases = []phrase{
	{regexp.MustCompile(`(?i)\btells ` + `(whether|if)\b`), `write "reports whether"`},
	{regexp.MustCompile(`(?i)failed ` + `to \w+ed\b`), `an error does not begin with it`},
}

// called finds comments that a name ending in Locked says better.
var called = regexp.MustCompile(`(?i)\bcalled with (\S+ ){1,3}` + `held\b`)

// maxCalled is how many such comments are left, until the packages that have them are
// rewritten: it only goes down.
const maxCalled = 89

func TestPhrases(t *testing.T) {
	n := 0
	for _, s := range sources(t) {
		for _, g := range s.ast.Comments {
			text := strings.Join(strings.Fields(g.Text()), " ")
			for _, p := range phrases {
				if m := p.bad.FindString(text); m != "" {
					t.Errorf("%s:%d: %q in a comment: %s (docs/style.md)", s.name, s.line(g.Pos()), m, p.instead)
				}
			}
			n += len(called.FindAllString(text, -1))
		}
	}
	if n > maxCalled {
		t.Errorf("%d comments say \"called with … held\", more than the %d that are left: name the function fooLocked", n, maxCalled)
	}
	t.Logf("%d comments say \"called with … held\"", n)
}

// TestFileNames wants files named for what is in them.
func TestFileNames(t *testing.T) {
	bad := regexp.MustCompile(`(^|_)(more|misc|utils?)(_test)?\.go$`)
	for _, s := range sources(t) {
		if bad.MatchString(s.base()) {
			t.Errorf("%s: name the file for what is in it", s.name)
		}
	}
}

// maxColumns is the longest line of a document, characters.
const maxColumns = 100

var address = regexp.MustCompile(`https?://\S+`)

// longLines returns the numbers of the lines that are too long. Tables, code and
// addresses cannot be wrapped.
func longLines(text string) (list []int) {
	code := false
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			code = !code
		case code, strings.HasPrefix(line, "|"), strings.HasPrefix(line, "    "):
		case utf8.RuneCountInString(address.ReplaceAllString(line, "")) > maxColumns:
			list = append(list, n)
		}
	}
	return list
}

func TestMarkdown(t *testing.T) {
	found := 0
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != root && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".md":
			return nil
		}
		found++
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, name)
		for _, n := range longLines(string(text)) {
			t.Errorf("%s:%d: more than %d columns", filepath.ToSlash(rel), n, maxColumns)
		}
		if m := leftover.Find(text); m != nil {
			t.Errorf("%s: %s: finish it, or state the limit", filepath.ToSlash(rel), m)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 5 {
		t.Errorf("found only %d documents", found)
	}
}

func TestLongLines(t *testing.T) {
	long := strings.Repeat("x", maxColumns+1)
	for name, tc := range map[string]struct {
		text string
		want int
	}{
		"long":            {long + "\n", 1},
		"just long":       {long[1:] + "\n", 0},
		"characters":      {strings.Repeat("é", maxColumns) + "\n", 0},
		"a table":         {"| " + long + " |\n", 0},
		"code":            {"```\n" + long + "\n```\n", 0},
		"behind code":     {"```\n```\n" + long + "\n", 1},
		"indented":        {"    " + long + "\n", 0},
		"an address":      {"see https://example.com/" + long + "\n", 0},
		"and more":        {"see https://example.com/ " + long + "\n", 1},
		"without its end": {long, 1},
	} {
		if got := longLines(tc.text); len(got) != tc.want {
			t.Errorf("%s: lines %v, want %d", name, got, tc.want)
		}
	}
}

// TestPhrasesAreFound: a rule that finds nothing would hold nothing.
func TestPhrasesAreFound(t *testing.T) {
	for _, text := range []string{"it tells " + "whether that worked", "Flag tells " + "if it came"} {
		if !phrases[0].bad.MatchString(text) {
			t.Errorf("%q passes", text)
		}
	}
	for _, text := range []string{"Called with mu " + "held.", "called with c.mu " + "held"} {
		if !called.MatchString(text) {
			t.Errorf("%q passes", text)
		}
	}
}
