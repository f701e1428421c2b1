package lint

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// maxLines is the longest a Go file may be.
const maxLines = 700

// root is the module's directory, seen from this package.
const root = "../.."

// source is a Go file of the module.
type source struct {
	name string // from the root, with slashes
	text []byte
	ast  *ast.File
	fset *token.FileSet
}

func (s *source) test() bool   { return strings.HasSuffix(s.name, "_test.go") }
func (s *source) dir() string  { return path.Dir(s.name) }
func (s *source) base() string { return path.Base(s.name) }

func (s *source) line(p token.Pos) int { return s.fset.Position(p).Line }

func (s *source) imports() []string {
	var out []string
	for _, i := range s.ast.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		out = append(out, p)
	}
	return out
}

// sources parses every Go file of the module, but for test data and modules inside.
func sources(t *testing.T) []*source {
	t.Helper()
	var out []*source
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name == root {
				return nil
			}
			_, err := os.Stat(filepath.Join(name, "go.mod"))
			if d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") || err == nil {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		s := &source{name: filepath.ToSlash(rel), fset: token.NewFileSet()}
		if s.text, err = os.ReadFile(name); err != nil {
			return err
		}
		s.ast, err = parser.ParseFile(s.fset, rel, s.text, parser.ParseComments)
		out = append(out, s)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 10 {
		t.Fatalf("found only %d Go files below %s", len(out), root)
	}
	return out
}

func run(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// tags are the sets of build tags that the code is checked with: that of the
// provider for RDMA devices where rdma-core's headers are.
func tags() []string {
	list := []string{""}
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	cmd := exec.Command(cc, "-E", "-x", "c", "-")
	cmd.Stdin = strings.NewReader("#include <infiniband/verbs.h>\n#include <rdma/rdma_cma.h>\n")
	if os.Getenv("CGO_ENABLED") != "0" && cmd.Run() == nil {
		list = append(list, "rdmacore")
	}
	return list
}

func TestVet(t *testing.T) {
	for _, tag := range tags() {
		run(t, "vet", "-tags="+tag, "./...")
	}
}

// TestStaticcheck runs the version pinned in internal/tools.
func TestStaticcheck(t *testing.T) {
	run(t, "tool", "-modfile=internal/tools/go.mod", "staticcheck", "./...")
	if list := tags(); len(list) > 1 { // all of it twice takes long
		run(t, "tool", "-modfile=internal/tools/go.mod", "staticcheck", "-tags="+list[1], "./rdma/...", "./internal/app/server/...", "./cmd/...")
	}
}

// TestWithoutC builds the server as it is delivered: without a C library.
func TestWithoutC(t *testing.T) {
	t.Setenv("CGO_ENABLED", "0")
	run(t, "build", "-o", os.DevNull, "./cmd/fileserver")
}

func TestFormat(t *testing.T) {
	for _, s := range sources(t) {
		if out, err := format.Source(s.text); err != nil || !bytes.Equal(out, s.text) {
			t.Errorf("%s is not formatted by gofmt (%v)", s.name, err)
		}
	}
}

func TestFileSize(t *testing.T) {
	for _, s := range sources(t) {
		if n := bytes.Count(s.text, []byte("\n")); n > maxLines {
			t.Errorf("%s has %d lines, more than %d: split it by what it is about", s.name, n, maxLines)
		}
	}
}

// TestUnsafe keeps every use of unsafe in files whose name says so.
func TestUnsafe(t *testing.T) {
	for _, s := range sources(t) {
		for _, p := range s.imports() {
			if (p == "unsafe" || p == "C") && !strings.HasSuffix(strings.TrimSuffix(s.base(), "_test.go"), "_unsafe") &&
				!strings.HasSuffix(s.base(), "_unsafe.go") {
				t.Errorf("%s imports %s: move what needs it to a file named *_unsafe.go", s.name, p)
			}
		}
	}
}

// leftover finds the marks of unfinished work. Split, so as not to find itself.
var leftover = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME)\b`)

func TestLeftovers(t *testing.T) {
	for _, s := range sources(t) {
		for _, g := range s.ast.Comments {
			for _, c := range g.List {
				if m := leftover.FindString(c.Text); m != "" {
					t.Errorf("%s:%d: %s in a comment: finish it, or state the limit in the documentation", s.name, s.line(c.Pos()), m)
				}
			}
		}
	}
}

// TestPackageComments wants every package to say what it is for.
func TestPackageComments(t *testing.T) {
	has := map[string]bool{}
	for _, s := range sources(t) {
		if !s.test() {
			has[s.dir()] = has[s.dir()] || s.ast.Doc != nil
		}
	}
	for dir, ok := range has {
		if !ok {
			t.Errorf("package %s has no comment that says what it is", dir)
		}
	}
}
