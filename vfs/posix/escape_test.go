package posix_test

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fileserver/vfs"
	"fileserver/vfs/posix"
)

func TestSymlinksAreNotFollowed(t *testing.T) {
	inModes(t, func(t *testing.T, top string, cfg posix.Config) {
		secret := filepath.Join(top, "outside", "secret")
		must(t, os.WriteFile(secret, []byte("secret"), 0o666))
		links := map[string]string{
			"abs": filepath.Join(top, "outside"), "rel": "../outside", "up": "..", "file": "../outside/secret", "dangling": "../outside/new",
			"proc": "/proc/self/root", "self": ".", "loop": "loop",
		}
		for name, target := range links {
			must(t, os.Symlink(target, filepath.Join(cfg.Root, name)))
		}
		_, root := start(t, cfg)
		for name, target := range links {
			n := lookup(t, root, name)
			if n.Kind() != vfs.KindSymlink {
				t.Fatalf("%s: %v", name, n.Kind())
			}
			if got, err := n.Readlink(ctx, admin); got != target || err != nil {
				t.Errorf("%s: %q, %v", name, got, err)
			}
			_, err := n.Lookup(ctx, admin, "secret")
			want(t, "Lookup", err, vfs.ErrNotDir)
			_, _, err = n.Create(ctx, admin, "x", false, nil)
			want(t, "Create", err, vfs.ErrNotDir)
			_, err = n.ReadDir(ctx, admin, 0, 0, false, func(*vfs.DirEntry) bool { return true })
			want(t, "ReadDir", err, vfs.ErrNotDir)
			_, err = n.Open(ctx, admin, vfs.OpenRead)
			want(t, "Open", err, vfs.ErrSymlink)
			_, err = n.Parent(ctx, admin)
			want(t, "Parent", err, vfs.ErrNotDir)
			want(t, "SetAttr size", n.SetAttr(ctx, admin, &vfs.SetAttr{Mask: vfs.AttrSize}), vfs.ErrInvalid)
			must(t, n.SetAttr(ctx, admin, &vfs.SetAttr{Mask: vfs.AttrMtime | vfs.AttrMode, Mode: 0, Mtime: vfs.Time{Sec: 1}}))
			in, created, err := root.Create(ctx, admin, name, false, &vfs.SetAttr{Mask: vfs.AttrSize})
			if err != nil || created || in.Kind() != vfs.KindSymlink {
				t.Fatalf("Create(%s): %v %v", name, created, err)
			}
			in.Release()
			n.Release()
		}
		fi, err := os.Stat(secret)
		must(t, err)
		if fi.Size() != 6 || fi.Mode().Perm() == 0 || fi.ModTime().Unix() == 1 {
			t.Errorf("the file outside was changed: %+v", fi)
		}
		if e, _ := os.ReadDir(filepath.Join(top, "outside")); len(e) != 1 {
			t.Errorf("made outside: %v", e)
		}
	})
}

func TestNamesAreNames(t *testing.T) {
	inModes(t, func(t *testing.T, top string, cfg posix.Config) {
		_, root := start(t, cfg)
		must(t, os.Mkdir(cfg.Root+"/d", 0o777))
		for _, name := range []string{"..", ".", "d/..", "/", "/etc", "../outside", "d/", "a\x00b"} {
			_, err := root.Lookup(ctx, admin, name)
			want(t, "Lookup "+name, err, vfs.ErrBadName)
			_, _, err = root.Create(ctx, admin, name, false, nil)
			want(t, "Create "+name, err, vfs.ErrBadName)
			_, err = root.Mkdir(ctx, admin, name, nil)
			want(t, "Mkdir "+name, err, vfs.ErrBadName)
			want(t, "Remove "+name, root.Remove(ctx, admin, name, true), vfs.ErrBadName)
			want(t, "Rename "+name, root.Rename(ctx, admin, name, root, "x"), vfs.ErrBadName)
			want(t, "Rename to "+name, root.Rename(ctx, admin, "d", root, name), vfs.ErrBadName)
		}
		p, err := root.Parent(ctx, admin)
		must(t, err)
		if p.Handle() != root.Handle() {
			t.Error("there is something above the root")
		}
		p.Release()
	})
}

// TestSwap exchanges a directory and a symbolic link to one outside all the time.
func TestSwap(t *testing.T) {
	inModes(t, func(t *testing.T, top string, cfg posix.Config) {
		must(t, os.Mkdir(cfg.Root+"/d", 0o777))
		must(t, os.WriteFile(cfg.Root+"/d/name", []byte("inside"), 0o666))
		must(t, os.WriteFile(top+"/outside/name", []byte("outside"), 0o666))
		must(t, os.Symlink("../outside", cfg.Root+"/l"))
		_, root := start(t, cfg)
		stop, done := make(chan struct{}), make(chan struct{})
		var exchanges atomic.Int64
		go func() {
			defer close(done)
			for {
				select {
				case <-stop:
					return
				default:
					if unix.Renameat2(unix.AT_FDCWD, cfg.Root+"/d", unix.AT_FDCWD, cfg.Root+"/l", unix.RENAME_EXCHANGE) == nil {
						exchanges.Add(1)
					}
				}
			}
		}()
		inside := 0
		// A busy machine may give the other goroutine no turn for long.
		begun := time.Now()
		for exchanges.Load() == 0 && time.Since(begun) < 20*time.Second || time.Since(begun) < 200*time.Millisecond {
			d, err := root.Lookup(ctx, admin, "d")
			must(t, err)
			n, err := d.Lookup(ctx, admin, "name")
			if err == nil {
				if got := content(t, n); got != "inside" {
					t.Fatalf("read %q", got)
				}
				n.Release()
				inside++
			} else {
				want(t, "Lookup", err, vfs.ErrNotDir)
			}
			if n, _, err := d.Create(ctx, admin, "new", false, nil); err == nil {
				n.Release()
			}
			if h := d.Handle(); inside%16 == 1 {
				_, err = root.ReadDir(ctx, admin, 0, vfs.AttrStat, true, func(e *vfs.DirEntry) bool {
					if e.Attr.Mask != 0 && e.Handle == h && e.Attr.Kind != d.Kind() {
						t.Errorf("handle and attributes of different objects: %+v", e)
					}
					return true
				})
				must(t, err)
			}
			d.Release()
		}
		close(stop)
		<-done
		if n := exchanges.Load(); n == 0 || inside == 0 {
			t.Errorf("%d exchanges, %d times inside", n, inside)
		}
		if e, _ := os.ReadDir(top + "/outside"); len(e) != 1 {
			t.Errorf("made outside: %v", e)
		}
	})
}

// TestMovedOut moves a directory out of the tree while it is in use.
func TestMovedOut(t *testing.T) {
	inModes(t, func(t *testing.T, top string, cfg posix.Config) {
		must(t, os.MkdirAll(cfg.Root+"/d/sub", 0o777))
		must(t, os.WriteFile(top+"/outside/secret", nil, 0o666))
		fs, root := start(t, cfg)
		d := lookup(t, root, "d")
		sub := lookup(t, d, "sub")
		for range 3 { // in the cache, and checked
			n, err := fs.Resolve(ctx, sub.Handle())
			must(t, err)
			n.Release()
		}
		must(t, os.Rename(cfg.Root+"/d", top+"/outside/d"))
		_, err := d.Parent(ctx, admin)
		want(t, "Parent outside", err, vfs.ErrStale)
		_, err = sub.Parent(ctx, admin)
		want(t, "Parent of what went along", err, vfs.ErrStale)
		fs.Tick(1)
		for _, n := range []vfs.Node{d, sub} {
			_, err = fs.Resolve(ctx, n.Handle())
			want(t, "Resolve of a held node", err, vfs.ErrStale)
		}
		hd, hs := d.Handle(), sub.Handle()
		d.Release()
		sub.Release()
		fs.Shrink()
		for _, h := range []vfs.Handle{hd, hs} {
			_, err = fs.Resolve(ctx, h)
			want(t, "Resolve", err, vfs.ErrStale)
		}
	})
}

// TestMovedWhileLookedUp renames an object to and fro between directories: it is found, or not, but nothing else.
func TestMovedWhileLookedUp(t *testing.T) {
	inModes(t, func(t *testing.T, top string, cfg posix.Config) {
		a, b := cfg.Root+"/a", cfg.Root+"/b"
		must(t, os.Mkdir(a, 0o777))
		must(t, os.Mkdir(b, 0o777))
		must(t, os.WriteFile(a+"/f", nil, 0o666))
		_, root := start(t, cfg)
		d := lookup(t, root, "a")
		defer d.Release()
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for {
				select {
				case <-stop:
					return
				default:
					_ = os.Rename(a+"/f", b+"/f")
					_ = os.Rename(b+"/f", a+"/f")
				}
			}
		}()
		for end := time.Now().Add(150 * time.Millisecond); time.Now().Before(end); {
			n, err := d.Lookup(ctx, admin, "f")
			want(t, "Lookup", err, vfs.OK, vfs.ErrNotFound)
			if err == nil {
				n.Release()
			}
		}
		close(stop)
		<-done
	})
}
