package doctor

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestCodesAreDocumented looks up the codes of findings and attempts, and the fields of the JSON, in docs/operations.md.
func TestCodesAreDocumented(t *testing.T) {
	b, err := os.ReadFile("../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, doc, _ := strings.Cut(string(b), "## The doctor")
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile("(?:Code: |say\\(|Code, [^\"\n]* = (?:true, )?)\"([a-z0-9-]+)\"|json:\"([a-z_]+)")
	seen := map[string]bool{}
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range code.FindAllStringSubmatch(string(text), -1) {
			name := m[1] + m[2]
			if !seen[name] && !regexp.MustCompile("[`.]"+name+"(?:\\[\\])?`").MatchString(doc) {
				t.Errorf("%s: docs/operations.md does not have %s", f, name)
			}
			seen[name] = true
		}
	}
	if len(seen) < 100 {
		t.Errorf("%d codes and fields: are they still written so?", len(seen))
	}
}
