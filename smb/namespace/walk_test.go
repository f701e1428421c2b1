package namespace

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/vfstest/mem"
)

// tree is a file system and what the tests do with it.
type tree struct {
	t   testing.TB
	fs  *mem.FS
	v   *View
	ctx context.Context
	c   *vfs.Cred
}

func newTree(t testing.TB, o Options) *tree {
	fs := mem.New(mem.Options{})
	t.Cleanup(func() {
		if nodes, files := fs.Outstanding(); nodes != 0 || files != 0 {
			t.Errorf("%d nodes not released, %d files not closed", nodes, files)
		}
	})
	return &tree{t, fs, New(fs, o), context.Background(), &vfs.Cred{}}
}

// make makes "a/b" a file, "a/b/" a directory, "a/b -> x" a link.
func (tr *tree) make(list ...string) {
	tr.t.Helper()
	for _, s := range list {
		path, target, link := strings.Cut(s, " -> ")
		elems := strings.Split(strings.TrimSuffix(path, "/"), "/")
		dir, err := tr.fs.Root(tr.ctx)
		for i, e := range elems {
			if err != nil {
				tr.t.Fatal(err)
			}
			var n vfs.Node
			set := &vfs.SetAttr{Mask: vfs.AttrMode, Mode: 0o755}
			switch {
			case i < len(elems)-1 || strings.HasSuffix(path, "/"):
				if n, err = dir.Lookup(tr.ctx, tr.c, e); err != nil {
					n, err = dir.Mkdir(tr.ctx, tr.c, e, set)
				}
			case link:
				n, err = dir.Symlink(tr.ctx, tr.c, e, target, set)
			default:
				n, _, err = dir.Create(tr.ctx, tr.c, e, true, set)
			}
			dir.Release()
			dir = n
		}
		if err != nil {
			tr.t.Fatal(err)
		}
		dir.Release()
	}
}

// walk returns what a path leads to: its path, "!" in front of what does not exist, and what really is there.
func (tr *tree) walk(name string, how How) (string, error) {
	tr.t.Helper()
	p, st := parse(name, how&NoLinks != 0)
	if st != wire.StatusSuccess {
		return "", st
	}
	o, err := tr.v.Walk(tr.ctx, tr.c, &p, how)
	if err != nil {
		return fmt.Sprintf("%s+%d", o.Target, o.Rest), err
	}
	defer o.Release()
	switch {
	case o.Node == nil:
		return "!" + o.Path, nil
	case o.Entry != o.Node.Handle():
		return "@" + o.Path, nil
	}
	return o.Path, nil
}

func (tr *tree) expect(name string, how How, want string, st error) {
	tr.t.Helper()
	if got, err := tr.walk(name, how); got != want || err != st {
		tr.t.Errorf("%s: %q %v, want %q %v", name, got, err, want, st)
	}
}

func TestWalk(t *testing.T) {
	tr := newTree(t, Options{})
	tr.make("dir/sub/File.txt", "dir/Both", "dir/both", "top", "dir/a:b", "dir/12", "dir/\xff\xfeX")
	for name, want := range map[string]string{
		"": "", "dir": "dir", `DIR\Sub\FILE.TXT`: "dir/sub/File.txt", `dir\both`: "dir/both", `dir\Both`: "dir/Both", `dir\new`: "!dir/new", "TOP": "top",
		"dir\\A\uf022B": "dir/a:b", "dir\\\ufffd\ufffdx": "dir/\xff\xfeX", `Dir\New\`: "!dir/New", "dir\\12": "dir/12",
	} {
		tr.expect(name, 0, want, nil)
	}
	if got, err := tr.walk(`dir\BOTH`, 0); err != nil || !Equal(got, "dir/both") {
		t.Errorf("%q %v", got, err)
	}
	for _, name := range []string{`none\x`, `top\x`, `dir\sub\file.txt\x`} {
		tr.expect(name, 0, "+0", wire.StatusObjectPathNotFound)
	}
	tr.expect("TOP", Exact, "!TOP", nil)
	tr.expect(strings.Repeat("x", 300), 0, "+0", wire.StatusObjectNameInvalid)
	tr.v = New(tr.fs, Options{CaseSensitive: true})
	tr.expect("TOP", 0, "!TOP", nil)
}

func TestWalkLinks(t *testing.T) {
	tr := newTree(t, Options{})
	tr.make("a/b/file", "a/up -> ../a/b", "a/b/top -> ../../a/b/file", "a/self -> .", "a/out -> ../../x", "a/abs -> /etc", "a/none -> b/none", "a/loop -> loop",
		"chain0 -> a", "a/viafile -> b/file/..", "a/b/dots -> ..", "a/empty -> b//./file")
	for i := range maxLinks + 1 {
		tr.make(fmt.Sprintf("chain%d -> chain%d", i+1, i))
	}
	const stopped = wire.StatusStoppedOnSymlink
	tr.expect(`a\up\file`, 0, "a/up/file", nil)
	tr.expect(`a\UP\FILE`, 0, "a/up/file", nil)
	tr.expect(`a\up`, 0, "@a/up", nil)
	tr.expect(`a\up`, LastLink, "a/up", nil)
	tr.expect(`a\b\top`, 0, "@a/b/top", nil)
	tr.expect(`a\self`, 0, "@a/self", nil)
	tr.expect(`a\self\self\b\file`, 0, "a/self/self/b/file", nil)
	tr.expect(`a\b\dots\b\file`, 0, "a/b/dots/b/file", nil)
	tr.expect(`a\empty`, 0, "@a/empty", nil)
	tr.expect(`a\out`, 0, "../../x+0", stopped)
	tr.expect(`a\out\y\z`, 0, "../../x+2", stopped)
	tr.expect(`a\abs`, 0, "/etc+0", stopped)
	tr.expect(`a\abs\passwd`, LastLink, "/etc+1", stopped)
	tr.expect(`a\none`, 0, "b/none+0", stopped)
	tr.expect(`a\loop`, 0, "loop+0", stopped)
	tr.expect(`a\viafile`, 0, "b/file/..+0", stopped)
	tr.expect(`a\b\top\x`, 0, "+0", wire.StatusObjectPathNotFound)
	tr.expect(`chain3\b`, 0, "chain3/b", nil)
	tr.expect(fmt.Sprintf(`chain%d`, maxLinks+1), 0, fmt.Sprintf("chain%d+0", maxLinks), stopped)
	tr.expect(`a\up`, NoLinks, "../a/b+0", stopped)
	tr.expect(`a\up`, NoLinks|LastLink, "a/up", nil)
}

// What others change is seen, and what the server makes itself does not cost reading the directory again.
func TestWalkChanges(t *testing.T) {
	tr := newTree(t, Options{})
	tr.make("d/Alpha")
	tr.expect(`d\ALPHA`, 0, "d/Alpha", nil)
	tr.expect(`d\BETA`, 0, "!d/BETA", nil)
	reads := 0
	tr.fs.SetHook(func(_ context.Context, op mem.Op, _ vfs.Handle) error {
		if op == mem.OpReadDir {
			reads++
		}
		return nil
	})
	tr.make("d/Beta")
	tr.expect(`d\BETA`, 0, "d/Beta", nil)
	if reads != 1 {
		t.Errorf("%d readings after a change by others", reads)
	}
	for i := range 50 {
		name := fmt.Sprintf("New%d", i)
		tr.expect(`d\`+name, 0, "!d/"+name, nil)
		tr.make("d/" + name)
		p, _ := parse("d", false)
		o, err := tr.v.Walk(tr.ctx, tr.c, &p, 0)
		if err != nil {
			t.Fatal(err)
		}
		tr.v.Added(tr.ctx, o.Node, name)
		o.Release()
		tr.expect(`d\`+strings.ToUpper(name), 0, "d/"+name, nil)
	}
	if reads != 1 {
		t.Errorf("%d readings after changes of our own", reads)
	}
}

// Tables are bounded, and big directories keep no names.
func TestTables(t *testing.T) {
	tr := newTree(t, Options{})
	for i := range bigTable + 10 {
		tr.make(fmt.Sprintf("big/File%d", i))
	}
	tr.expect(`big\FILE7`, 0, "big/File7", nil)
	tr.expect(fmt.Sprintf(`big\FILE%d`, bigTable+3), 0, fmt.Sprintf("big/File%d", bigTable+3), nil)
	tr.expect(`big\NONE`, 0, "!big/NONE", nil)
	d := &table{}
	for i := range maxTables + 100 {
		h, _ := vfs.HandleFrom([]byte{byte(i), byte(i >> 8), 1})
		d = tr.v.tables.get(h, true)
		tr.v.tables.account(d, 300)
	}
	if n := len(tr.v.tables.m); n > maxTables {
		t.Errorf("%d tables", n)
	}
	if n := tr.v.tables.names; n > maxNames {
		t.Errorf("%d names", n)
	}
	tr.v.tables.account(d, maxNames+1)
	if len(tr.v.tables.m) > 0 || tr.v.tables.names != 0 {
		t.Errorf("%d tables of %d names are left", len(tr.v.tables.m), tr.v.tables.names)
	}
}

// Who may not list a directory finds names only as they are.
func TestWalkUnlistable(t *testing.T) {
	tr := newTree(t, Options{})
	tr.make("d/Name")
	p, _ := parse("d", false)
	o, err := tr.v.Walk(tr.ctx, tr.c, &p, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Node.SetAttr(tr.ctx, tr.c, &vfs.SetAttr{Mask: vfs.AttrMode, Mode: 0o711}); err != nil {
		t.Fatal(err)
	}
	o.Release()
	tr.c = &vfs.Cred{UID: 1000, GID: 1000}
	tr.expect(`d\Name`, 0, "d/Name", nil)
	tr.expect(`d\NAME`, 0, "!d/NAME", nil)
}

func TestWalkConcurrently(t *testing.T) {
	tr := newTree(t, Options{})
	tr.make("d/x")
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 200 {
				name := fmt.Sprintf("N%d-%d", g, i)
				tr.make("d/" + name)
				if got, err := tr.walk(`D\`+strings.ToLower(name), 0); err != nil || got != "d/"+name {
					t.Errorf("%s: %q %v", name, got, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestSymlinkError(t *testing.T) {
	e := SymlinkError("../a:b/c", []string{"x", "y:"})
	if s, _ := wire.UTF16(e.Substitute); s != "..\\a\uf022b\\c" || e.Flags != wire.SymlinkRelative || e.Unparsed != 2*(2+3) {
		t.Errorf("%q %+v", s, e)
	}
	if e := SymlinkError("/etc", nil); e.Flags != 0 || e.Unparsed != 0 {
		t.Errorf("%+v", e)
	}
}
