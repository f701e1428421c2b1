package posix_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"fileserver/vfs"
	"fileserver/vfs/posix"
)

// tree makes a/b/c/file and returns the handles of all four.
func tree(t *testing.T, root vfs.Node) (h []vfs.Handle) {
	t.Helper()
	at := root
	for _, name := range []string{"a", "b", "c"} {
		n, err := at.Mkdir(ctx, admin, name, &vfs.SetAttr{Mask: vfs.AttrMode, Mode: 0o755})
		must(t, err)
		defer n.Release()
		h = append(h, n.Handle())
		at = n
	}
	n, _, err := at.Create(ctx, admin, "file", true, nil)
	must(t, err)
	defer n.Release()
	f, err := n.Open(ctx, admin, vfs.OpenWrite)
	must(t, err)
	_, err = f.WriteAt(ctx, []byte("content"), 0, vfs.FileSync)
	must(t, err)
	must(t, f.Close())
	return append(h, n.Handle())
}

func resolveAll(t *testing.T, fs *posix.FS, h []vfs.Handle) {
	t.Helper()
	for i := len(h) - 1; i >= 0; i-- { // the deepest first: nothing is in the cache then
		n, err := fs.Resolve(ctx, h[i])
		if err != nil {
			t.Fatalf("Resolve of object %d: %v", i, err)
		}
		if i == 3 && content(t, n) != "content" {
			t.Error("another file")
		}
		n.Release()
		fs.Shrink()
	}
}

// TestRestart ends the server in several ways, and moves the objects behind its back.
func TestRestart(t *testing.T) {
	inModes(t, func(t *testing.T, top string, cfg posix.Config) {
		var h []vfs.Handle
		var fsid [16]byte
		session := func(run func(fs *posix.FS, root vfs.Node)) {
			fs, err := posix.New(cfg)
			must(t, err)
			root, err := fs.Root(ctx)
			must(t, err)
			if id := fs.Caps().FSID; fsid != [16]byte{} && id != fsid {
				t.Error("another FSID after a restart")
			} else {
				fsid = id
			}
			run(fs, root)
			root.Release()
			must(t, fs.Close())
		}
		session(func(fs *posix.FS, root vfs.Node) {
			h = tree(t, root)
			must(t, os.MkdirAll(cfg.Root+"/x/y", 0o755))
		})
		session(func(fs *posix.FS, _ vfs.Node) { resolveAll(t, fs, h) })
		// As after a crash: the table is lost, or it is damaged.
		for _, f := range []func(string) error{os.Remove, func(p string) error { return os.WriteFile(p, make([]byte, 100<<10), 0o600) }} {
			dbs, _ := filepath.Glob(cfg.StateDir + "/handles-*.db")
			for _, db := range dbs {
				must(t, f(db))
			}
			session(func(fs *posix.FS, _ vfs.Node) { resolveAll(t, fs, h) })
		}
		session(func(fs *posix.FS, root vfs.Node) {
			a, x := lookup(t, root, "a"), lookup(t, root, "x")
			must(t, root.Rename(ctx, admin, "a", x, "renamed"))
			a.Release()
			x.Release()
		})
		session(func(fs *posix.FS, _ vfs.Node) { resolveAll(t, fs, h) })
		// By others, while the server runs and while it does not.
		must(t, os.Rename(cfg.Root+"/x/renamed/b/c/file", cfg.Root+"/x/y/f"))
		session(func(fs *posix.FS, _ vfs.Node) {
			must(t, os.Rename(cfg.Root+"/x/renamed/b", cfg.Root+"/x/y/b"))
			resolveAll(t, fs, h)
		})
		must(t, os.Remove(cfg.Root+"/x/y/f"))
		session(func(fs *posix.FS, _ vfs.Node) {
			resolveAll(t, fs, h[:3])
			for range 2 {
				_, err := fs.Resolve(ctx, h[3])
				want(t, "Resolve of what is gone", err, vfs.ErrStale)
			}
		})
	})
}

// TestNumberUsedAgain removes files behind the server's back until a new one has the inode number.
func TestNumberUsedAgain(t *testing.T) {
	inModes(t, func(t *testing.T, top string, cfg posix.Config) {
		fs, root := start(t, cfg)
		reused := false
		for i := 0; i < 50 && !reused; i++ {
			n, _, err := root.Create(ctx, admin, "f", true, nil)
			must(t, err)
			a, err := n.GetAttr(ctx, vfs.AttrStat)
			must(t, err)
			h := n.Handle()
			n.Release()
			if i%2 == 0 {
				fs.Shrink() // else the node, still in memory, keeps the number from being used again
			}
			must(t, os.Remove(cfg.Root+"/f"))
			must(t, os.WriteFile(cfg.Root+"/g", []byte("other"), 0o600))
			g := lookup(t, root, "g")
			b, err := g.GetAttr(ctx, vfs.AttrStat)
			must(t, err)
			if g.Handle() == h {
				t.Fatal("a handle was used again")
			}
			reused = a.FileID == b.FileID
			if m, err := fs.Resolve(ctx, h); err == nil {
				// Nobody told us that it is gone; whoever asks for anything finds out.
				if got := content(t, m); got != "" {
					t.Errorf("the handle leads to %q", got)
				}
				m.Release()
			} else {
				want(t, "Resolve", err, vfs.ErrStale)
			}
			g.Release()
			must(t, os.Remove(cfg.Root+"/g"))
		}
	})
}

func TestKeyFile(t *testing.T) {
	top := t.TempDir()
	cfg := posix.Config{Root: top, StateDir: filepath.Join(top, "state")}
	fs, err := posix.New(cfg)
	must(t, err)
	must(t, fs.Close())
	key := cfg.StateDir + "/handle.key"
	fi, err := os.Stat(key)
	must(t, err)
	if fi.Mode().Perm() != 0o600 || fi.Size() != 32 {
		t.Errorf("%v, %d bytes", fi.Mode(), fi.Size())
	}
	if e, _ := os.ReadDir(cfg.StateDir); len(e) > 2 {
		t.Errorf("left behind: %v", e)
	}
	must(t, os.Chmod(key, 0o644))
	if _, err := posix.New(cfg); err == nil {
		t.Error("took a key everyone may read")
	}
	must(t, os.Chmod(key, 0o600))
	must(t, os.Truncate(key, 5))
	if _, err := posix.New(cfg); err == nil {
		t.Error("took a key of 5 bytes")
	}
	cfg.Key = []byte("short")
	if _, err := posix.New(cfg); err == nil {
		t.Error("took a short Config.Key")
	}
	cfg.Root, cfg.Key = top+"/absent", nil
	if _, err := posix.New(cfg); err == nil {
		t.Error("published what does not exist")
	}
}

// TestManyStale resolves many handles of objects that others removed: the table must not search the tree for each.
func TestManyStale(t *testing.T) {
	cfg := posix.Config{Root: t.TempDir(), StateDir: t.TempDir(), Handles: posix.HandleTable}
	var hs []vfs.Handle
	func() {
		fs, err := posix.New(cfg)
		must(t, err)
		defer fs.Close()
		root, err := fs.Root(ctx)
		must(t, err)
		defer root.Release()
		for i := range 2000 {
			n, _, err := root.Create(ctx, admin, fmt.Sprint(i), true, nil)
			must(t, err)
			hs = append(hs, n.Handle())
			n.Release()
		}
	}()
	for i := range 1000 {
		must(t, os.Remove(filepath.Join(cfg.Root, fmt.Sprint(i))))
	}
	fs, _ := start(t, cfg)
	for i, h := range hs {
		n, err := fs.Resolve(ctx, h)
		if err == nil {
			n.Release()
		}
		if i < 1000 {
			want(t, "Resolve", err, vfs.ErrStale)
		} else {
			must(t, err)
		}
	}
	if s := fs.Searches(); s != 1 {
		t.Errorf("searched %d times", s)
	}
}
