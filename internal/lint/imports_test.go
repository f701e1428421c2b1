package lint

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "fileserver"

// owners are the modules that only certain packages may import, so that the rest
// stays independent of them. Those without an owner are for tests.
var owners = map[string][]string{
	"github.com/spf13/viper":              {"config"},
	"github.com/spf13/cobra":              {"cmd/fileserver"},
	"github.com/prometheus/client_golang": {"internal/metrics"},
	"go.etcd.io/bbolt":                    {"internal/state", "vfs/posix"},
	"github.com/Mellanox/rdmamap":         {"rdma/discover"},
	"github.com/vishvananda/netlink":      {"rdma/discover"},
	"github.com/buildbarn/go-xdr":         nil,
	"github.com/google/go-cmp":            nil,
	"github.com/hanwen/go-fuse":           {"vfs/vfstest/fusetest"},
	"github.com/hirochachacha/go-smb2":    nil,
	"github.com/rogpeppe/go-internal":     nil,
	"go.uber.org/goleak":                  {"rdma/rdmatest"},
	"pgregory.net/rapid":                  {"vfs/vfstest", "rdma/rdmatest"},
}

// untabled are packages without code of the product.
var untabled = []string{"internal/lint"}

// rule is what one entry of the table in docs/architecture.md may import: the
// package of that name and those below it that have no entry of their own. They
// may import each other, and the packages of the other entries in the row.
type rule struct {
	entry  string
	row    int
	all    bool
	except []string // with all
	may    []string // patterns
}

var code = regexp.MustCompile("`([^`]+)`")

func words(cell string) []string {
	var out []string
	for _, m := range code.FindAllStringSubmatch(cell, -1) {
		out = append(out, m[1])
	}
	return out
}

// table reads the rules from the document: the table is the law.
func table(t *testing.T) []rule {
	t.Helper()
	text, err := os.ReadFile(root + "/docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	var rules []rule
	row := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 3 || !strings.Contains(cells[0], "`") {
			continue
		}
		may := strings.TrimSpace(cells[2])
		row++
		r := rule{row: row, all: strings.HasPrefix(may, "everything")}
		switch {
		case r.all:
			r.except = words(may)
		case may != "nothing":
			if r.may = words(may); len(r.may) == 0 {
				t.Errorf("docs/architecture.md: %q is not a list of packages, nothing, or everything", may)
			}
		}
		for _, entry := range words(cells[0]) {
			r.entry = strings.TrimSuffix(entry, "/...")
			rules = append(rules, r)
		}
	}
	if len(rules) < 10 {
		t.Fatalf("found only %d packages in the table of docs/architecture.md", len(rules))
	}
	return rules
}

// find is the rule of a package: the longest entry that is its path, or above it.
func find(rules []rule, pkg string) *rule {
	var best *rule
	for i, r := range rules {
		if (pkg == r.entry || strings.HasPrefix(pkg, r.entry+"/")) && (best == nil || len(r.entry) > len(best.entry)) {
			best = &rules[i]
		}
	}
	return best
}

func matches(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		if tree, ok := strings.CutSuffix(p, "/..."); ok {
			return pkg == tree || strings.HasPrefix(pkg, tree+"/")
		}
		ok, _ := path.Match(p, pkg)
		return ok || pkg == "cmd/"+module && p == "cmd"
	})
}

func (r *rule) allows(rules []rule, pkg string) bool {
	if other := find(rules, pkg); other != nil && other.row == r.row {
		return true
	}
	if r.all {
		return !matches(r.except, pkg)
	}
	return matches(r.may, pkg)
}

// TestImports enforces the table of docs/architecture.md. Tests may import what they
// like, and so may programs for development, which no package can depend on.
func TestImports(t *testing.T) {
	rules := table(t)
	told := map[string]bool{}
	for _, s := range sources(t) {
		tool := s.ast.Name.Name == "main" && !strings.HasPrefix(s.dir(), "cmd/")
		if s.test() || tool {
			continue
		}
		r := find(rules, s.dir())
		if r == nil {
			if !told[s.dir()] && !slices.Contains(untabled, s.dir()) {
				t.Errorf("package %s is not in the table of docs/architecture.md: add what it is and what it may import", s.dir())
			}
			told[s.dir()] = true
			continue
		}
		for _, p := range s.imports() {
			if ours, ok := strings.CutPrefix(p, module+"/"); ok && !r.allows(rules, ours) {
				t.Errorf("%s imports %s, which docs/architecture.md does not allow for %s", s.name, ours, r.entry)
			}
			for mod, only := range owners {
				if (p == mod || strings.HasPrefix(p, mod+"/")) && !slices.Contains(only, s.dir()) {
					t.Errorf("%s imports %s, which only %v may", s.name, p, only)
				}
			}
		}
	}
}

func TestRules(t *testing.T) {
	rules := []rule{
		{row: 1, entry: "rdma", may: []string{"internal/slab"}},
		{row: 2, entry: "rdma/rdmatest/mem", may: []string{"rdma"}},
		{row: 3, entry: "nfs/v3", may: []string{"nfs"}}, {row: 3, entry: "nfs/v4", may: []string{"nfs", "nfs/rpc"}},
		{row: 4, entry: "internal/app/server", all: true, except: []string{"cmd"}},
	}
	for _, tc := range []struct {
		from, to string
		want     bool
	}{
		{"rdma", "internal/slab", true}, {"rdma", "rdma/rdmatest/mem", false}, {"rdma/rdmatest/mem", "rdma", true}, {"rdma/rdmatest/mem", "internal/slab", false},
		{"nfs/v4", "nfs/rpc", true}, {"nfs/v4/state", "nfs/v4", true}, {"nfs/v4", "rdma", false}, {"nfs/v4", "nfs/v3", true},
		{"internal/app/server", "rdma/rdmatest/mem", true}, {"internal/app/server", "cmd/fileserver", false},
	} {
		if got := find(rules, tc.from).allows(rules, tc.to); got != tc.want {
			t.Errorf("%s imports %s: allowed %v, want %v", tc.from, tc.to, got, tc.want)
		}
	}
	if r := find(rules, "vfs"); r != nil {
		t.Errorf("vfs has the rule of %s", r.entry)
	}
}
