package namespace

import (
	"fmt"
	"strings"
	"testing"
)

func TestShortName(t *testing.T) {
	for name, want := range map[string]string{
		"short.txt": "SHORT.TXT", "UPPER": "UPPER", "a": "A", "12345678.abc": "12345678.ABC", "x~1": "X~1",
		// These are kept by clients: they must not change.
		"a long name.text": "A15HNX~A.TEX", "with space": "", ".profile": "", "a.b.c": "", "é": "", "a+b": "", "trailing.": "", "ends.toolong": "", "..x": "", "~~~~~~~~~": "",
	} {
		short, madeUp := ShortName(name)
		if !madeUp {
			if short != want || MadeUp(name) {
				t.Errorf("%q: %q", name, short)
			}
			continue
		}
		if !MadeUp(short) || !MadeUp(strings.ToLower(short)) || !isShort(short) {
			t.Errorf("%q: %q is not of the form", name, short)
		}
		if other, _ := ShortName(strings.ToUpper(name)); other != short {
			t.Errorf("%q: %q, in capitals %q", name, short, other)
		}
		if want != "" && short != want {
			t.Errorf("%q: %q, want %q", name, short, want)
		}
	}
	if s, _ := ShortName(".profile"); s[0] != 'P' || strings.Contains(s, ".") {
		t.Errorf(".profile: %q", s)
	}
	for _, no := range []string{"", "ABCDEF~1.", "ABCDEF~1.TEXT", "ABCDE~12", "ABCDEF~", "ABCDEF~1.T.T", "ABCDEF~12", "ABC EF~1", "ABCDEF~1.T_T", "long name"} {
		if MadeUp(no) {
			t.Errorf("%q could be made up", no)
		}
	}
	seen := map[string]string{}
	for i := range 20000 {
		name := fmt.Sprintf("a file with number %d.jpeg", i)
		short, _ := ShortName(name)
		if other := seen[short]; other != "" {
			t.Errorf("%q and %q are both %q", name, other, short)
		}
		seen[short] = name
	}
}

func FuzzShortName(f *testing.F) {
	for _, s := range []string{"", "a", "Long name.text", "\xff", "a\uf022b", "....", "é.é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if short, madeUp := ShortName(s); !isShort(short) || madeUp && !MadeUp(short) {
			t.Errorf("%q: %q", s, short)
		}
	})
}

// A made-up name leads where the long one does, unless two have it.
func TestWalkShort(t *testing.T) {
	tr := newTree(t, Options{})
	tr.make("A long directory/A long file.text", "same name/Twice named", "same name/twice NAMED", "A:B.text")
	dir, _ := ShortName("A long directory")
	file, _ := ShortName("a long FILE.text")
	twice, _ := ShortName("Twice named")
	mapped, _ := ShortName(Visible("A:B.text"))
	tr.expect(strings.ToLower(dir)+`\`+file, 0, "A long directory/A long file.text", nil)
	tr.expect(mapped, 0, "A:B.text", nil)
	tr.expect(file, 0, "!"+file, nil)
	tr.expect(dir, Exact, "!"+dir, nil)
	tr.expect(`same name\`+twice, 0, "!same name/"+twice, nil)
	tr.make("A long directory/" + file) // what is there wins
	tr.expect(dir+`\`+file, 0, "A long directory/"+file, nil)
	tr.v = New(tr.fs, Options{CaseSensitive: true})
	tr.expect(dir, 0, "!"+dir, nil)
}
