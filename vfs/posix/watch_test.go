package posix_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"fileserver/vfs"
	"fileserver/vfs/posix"
)

// What programs do in a directory is told, and nothing of what is below.
func TestWatch(t *testing.T) {
	inModes(t, func(t *testing.T, top string, cfg posix.Config) {
		dir := filepath.Join(top, "root", "d")
		must(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o755))
		_, root := start(t, cfg)
		d := lookup(t, root, "d")
		defer d.Release()
		got := make(chan vfs.DirEvent, 100)
		stop, err := d.(vfs.Watcher).Watch(ctx, func(e vfs.DirEvent) { got <- e })
		must(t, err)
		other := make(chan vfs.DirEvent, 100)
		stopOther, err := d.(vfs.Watcher).Watch(ctx, func(e vfs.DirEvent) { other <- e })
		must(t, err)
		f := lookup(t, root, "d", "sub")
		_, err = lookupFile(t, f).(vfs.Watcher).Watch(ctx, func(vfs.DirEvent) {})
		want(t, "watch of a file", err, vfs.ErrNotDir)
		f.Release()

		at := func(name string) string { return filepath.Join(dir, name) }
		must(t, os.WriteFile(at("f"), []byte("x"), 0o644))
		must(t, os.WriteFile(at("sub/below"), []byte("x"), 0o644))
		must(t, os.Chmod(at("f"), 0o600))
		must(t, os.Rename(at("f"), at("g")))
		must(t, os.Rename(at("g"), filepath.Join(top, "outside", "g")))
		must(t, os.Rename(filepath.Join(top, "outside", "g"), at("h")))
		must(t, os.Remove(at("h")))
		must(t, os.RemoveAll(at("sub")))
		const dirKind = vfs.KindDirectory
		for i, w := range []vfs.DirEvent{
			{Op: vfs.EntryAdded, Name: "f"}, {Op: vfs.EntryWritten, Name: "f"}, {Op: vfs.EntryAttr, Name: "f"}, {Op: vfs.EntryRenamed, Name: "f", To: "g"},
			{Op: vfs.EntryRemoved, Name: "g"}, {Op: vfs.EntryAdded, Name: "h"}, {Op: vfs.EntryRemoved, Name: "h"}, {Op: vfs.EntryRemoved, Name: "sub", Kind: dirKind},
		} {
			for _, ch := range []chan vfs.DirEvent{got, other} {
				select {
				case e := <-ch:
					if e != w {
						t.Errorf("event %d is %+v, want %+v", i, e, w)
					}
				case <-time.After(10 * time.Second):
					t.Fatalf("no event %d, %+v", i, w)
				}
			}
		}
		stop()
		must(t, os.Mkdir(at("late"), 0o755))
		select {
		case <-other:
		case <-time.After(10 * time.Second):
			t.Fatal("one who stops is all who are told")
		}
		stopOther()
		if len(got) > 0 {
			t.Errorf("told after the end: %+v", <-got)
		}
	})
}

// lookupFile makes a file in n, and finds it.
func lookupFile(t *testing.T, n vfs.Node) vfs.Node {
	t.Helper()
	f, _, err := n.Create(ctx, admin, "file", false, &vfs.SetAttr{Mask: vfs.AttrMode, Mode: 0o644})
	must(t, err)
	t.Cleanup(f.Release)
	return f
}

// Objects know where they are, whoever has moved them.
func TestWhere(t *testing.T) {
	inModes(t, func(t *testing.T, top string, cfg posix.Config) {
		dir := filepath.Join(top, "root", "a", "b")
		must(t, os.MkdirAll(dir, 0o755))
		must(t, os.WriteFile(filepath.Join(dir, "f"), nil, 0o644))
		_, root := start(t, cfg)
		f, b := lookup(t, root, "a", "b", "f"), lookup(t, root, "a", "b")
		defer f.Release()
		defer b.Release()
		is := func(n vfs.Node, name string, path ...string) {
			t.Helper()
			at, got, err := n.(vfs.Namer).Where(ctx)
			if err != nil {
				t.Error(err)
				return
			}
			defer at.Release()
			h := root.Handle()
			if len(path) > 0 {
				n := lookup(t, root, path...)
				h = n.Handle()
				n.Release()
			}
			if got != name || at.Handle() != h {
				t.Errorf("it is %q in another directory than %v, want %q", got, path, name)
			}
		}
		is(f, "f", "a", "b")
		is(b, "b", "a")
		must(t, os.Rename(dir, filepath.Join(top, "root", "c")))
		is(f, "f", "c")
		must(t, os.Rename(filepath.Join(top, "root", "c", "f"), filepath.Join(top, "root", "g")))
		is(f, "g")
		must(t, os.Rename(filepath.Join(top, "root", "g"), filepath.Join(top, "outside", "g")))
		_, _, err := f.(vfs.Namer).Where(ctx)
		want(t, "outside", err, vfs.ErrNotFound)
		must(t, os.Remove(filepath.Join(top, "outside", "g")))
		_, _, err = f.(vfs.Namer).Where(ctx)
		want(t, "removed", err, vfs.ErrNotFound)
		_, _, err = root.(vfs.Namer).Where(ctx)
		want(t, "the root", err, vfs.ErrNotFound)
	})
}
