package posix_test

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"fileserver/vfs"
	"fileserver/vfs/posix"
)

func handle(t *testing.T, b []byte) vfs.Handle {
	t.Helper()
	h, ok := vfs.HandleFrom(b)
	if !ok {
		t.Fatalf("%d bytes are no handle", len(b))
	}
	return h
}

// TestForged tries every handle that differs in one bit from a good one, and every beginning of it.
func TestForged(t *testing.T) {
	inModes(t, func(t *testing.T, top string, cfg posix.Config) {
		must(t, os.WriteFile(cfg.Root+"/f", []byte("x"), 0o666))
		fs, root := start(t, cfg)
		n := lookup(t, root, "f")
		good := n.Handle()
		b := good.Append(nil)
		if len(b) > vfs.MaxHandle {
			t.Fatal(len(b))
		}
		for _, cached := range []bool{true, false} {
			if !cached {
				n.Release()
				fs.Shrink()
			}
			for i := range len(b) * 8 {
				x := append([]byte(nil), b...)
				x[i/8] ^= 1 << (i % 8)
				_, err := fs.Resolve(ctx, handle(t, x))
				want(t, "a bit changed", err, vfs.ErrStale, vfs.ErrBadHandle)
			}
			for i := 1; i < len(b); i++ {
				_, err := fs.Resolve(ctx, handle(t, b[:i]))
				want(t, "cut off", err, vfs.ErrStale, vfs.ErrBadHandle)
			}
			if len(b) < vfs.MaxHandle {
				_, err := fs.Resolve(ctx, handle(t, append(b, 0)))
				want(t, "longer", err, vfs.ErrStale, vfs.ErrBadHandle)
			}
		}
		_, err := fs.Resolve(ctx, vfs.Handle{})
		want(t, "no handle", err, vfs.ErrBadHandle)
		again, err := fs.Resolve(ctx, good)
		must(t, err)
		again.Release()
	})
}

// TestForeign tries the handles of other shares, with the same key in the same state directory.
func TestForeign(t *testing.T) {
	inModes(t, func(t *testing.T, top string, cfg posix.Config) {
		must(t, os.MkdirAll(cfg.Root+"/sub", 0o777))
		must(t, os.WriteFile(cfg.Root+"/sub/f", []byte("x"), 0o666))
		must(t, os.WriteFile(top+"/outside/f", []byte("x"), 0o666))
		fs, root := start(t, cfg)
		n := lookup(t, root, "sub", "f")
		defer n.Release()
		var inside []vfs.Handle // of objects inside of all shares below
		inside = append(inside, n.Handle())

		above, sub, same := cfg, cfg, cfg
		above.Root, sub.Root, same.Share = top, cfg.Root+"/sub", "other"
		same.StateDir = cfg.StateDir + "2"
		key, err := os.ReadFile(cfg.StateDir + "/handle.key")
		must(t, err)
		same.Key = key
		for name, cfg := range map[string]posix.Config{"above": above, "below": sub, "same": same} {
			other, top := start(t, cfg)
			for _, h := range inside {
				_, err := other.Resolve(ctx, h)
				want(t, name, err, vfs.ErrStale)
			}
			if top.Handle() == root.Handle() {
				t.Errorf("%s: the same handle", name)
			}
			if name != "above" {
				continue
			}
			f := lookup(t, top, "outside", "f")
			_, err := fs.Resolve(ctx, f.Handle())
			want(t, "Resolve of a handle of the share above", err, vfs.ErrStale)
			f.Release()
		}
	})
}

// TestKernelHandle makes a handle of what the kernel says, as an attacker who knows inode and generation could.
func TestKernelHandle(t *testing.T) {
	inModes(t, func(t *testing.T, top string, cfg posix.Config) {
		must(t, os.WriteFile(top+"/outside/f", []byte("x"), 0o666))
		fs, root := start(t, cfg)
		own := root.Handle()
		b := own.Append(nil)
		k, _, err := unix.NameToHandleAt(unix.AT_FDCWD, top+"/outside/f", 0)
		must(t, err)
		if b[0] == 1 {
			copy(b[2:], k.Bytes())
		} else {
			copy(b[1:], "\x00\x00\x00\x00\x00\x00\x00\x02")
		}
		_, err = fs.Resolve(ctx, handle(t, b))
		want(t, "Resolve", err, vfs.ErrStale)
	})
}

func FuzzResolve(f *testing.F) {
	fs, err := posix.New(posix.Config{Root: f.TempDir(), Key: make([]byte, 32)})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { fs.Close() })
	root, err := fs.Root(ctx)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(root.Release)
	good := root.Handle()
	f.Add(good.Append(nil))
	f.Add(append([]byte{2}, make([]byte, 40)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, ok := vfs.HandleFrom(b)
		if !ok {
			return
		}
		n, err := fs.Resolve(ctx, h)
		switch {
		case err == nil && h != good:
			t.Errorf("%x opens something", b)
		case err == nil:
			n.Release()
		default:
			want(t, "Resolve", err, vfs.ErrStale, vfs.ErrBadHandle)
		}
	})
}
