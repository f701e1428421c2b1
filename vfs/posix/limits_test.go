package posix_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"fileserver/vfs"
	"fileserver/vfs/posix"
)

// TestLimits works on many more objects than are kept open, from many goroutines.
func TestLimits(t *testing.T) {
	inModes(t, func(t *testing.T, top string, cfg posix.Config) {
		fs, root := start(t, cfg)
		fs.Limits(8, 32)
		const files = 200
		hs := make([]vfs.Handle, files)
		for i := range hs {
			n, _, err := root.Create(ctx, admin, fmt.Sprint(i), true, nil)
			must(t, err)
			hs[i] = n.Handle()
			n.Release()
		}
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(1, uint64(g)))
				p := make([]byte, 8)
				for range 500 {
					i := r.IntN(files)
					n, err := fs.Resolve(ctx, hs[i])
					if err != nil {
						t.Error(err)
						return
					}
					f, err := n.Open(ctx, admin, vfs.OpenRead|vfs.OpenWrite)
					if err != nil {
						t.Error(err)
						return
					}
					if _, err := f.WriteAt(ctx, []byte(fmt.Sprintf("%08d", i)), 0, vfs.Unstable); err != nil {
						t.Error(err)
					}
					if _, _, err := f.ReadAt(ctx, p, 0); err != nil || string(p) != fmt.Sprintf("%08d", i) {
						t.Errorf("file %d has %q, %v", i, p, err)
					}
					f.Close()
					n.Release()
				}
			})
		}
		wg.Wait()
		if n := fs.Nodes(); n > 60 {
			t.Errorf("%d nodes are kept", n)
		}
		fs.Tick(100)
		fs.Shrink()
		if n, d := fs.Nodes(), fs.Descriptors(); n != 1 || d != 0 {
			t.Errorf("%d nodes and %d descriptors are left", n, d)
		}
	})
}

// TestOutOfDescriptors lets the process run out of them: what is not in use is closed, and everything works.
func TestOutOfDescriptors(t *testing.T) {
	inModes(t, func(t *testing.T, top string, cfg posix.Config) {
		fs, root := start(t, cfg)
		var old unix.Rlimit
		must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &old))
		free, err := os.Open("/dev/null") // the lowest that is free, about
		must(t, err)
		low := unix.Rlimit{Cur: uint64(free.Fd()) + 60, Max: old.Max}
		free.Close()
		must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &low))
		defer unix.Setrlimit(unix.RLIMIT_NOFILE, &old)
		var held []vfs.Node
		for i := range 300 {
			n, _, err := root.Create(ctx, admin, fmt.Sprint(i), true, nil)
			must(t, err)
			if len(held) < 10 {
				held = append(held, n)
			} else {
				n.Release()
			}
		}
		for i := range 300 {
			n := lookup(t, root, fmt.Sprint(i))
			if content(t, n) != "" {
				t.Error("another file")
			}
			n.Release()
		}
		// And when all are in use, that is said.
		for err == nil {
			var n vfs.Node
			if n, _, err = root.Create(ctx, admin, fmt.Sprint("in use", len(held)), true, nil); err == nil {
				held = append(held, n)
			}
		}
		want(t, "Create", err, vfs.ErrTooManyFiles)
		for _, n := range held {
			n.Release()
		}
		fs.Shrink()
	})
}

// TestRemovedSoon: a file that a local program removes is let go of by the next turn of the janitor, though it was used
// a moment ago, and what is not removed stays.
func TestRemovedSoon(t *testing.T) {
	inModes(t, func(t *testing.T, top string, cfg posix.Config) {
		fs, root := start(t, cfg)
		for _, name := range []string{"stays", "goes"} {
			n, _, err := root.Create(ctx, admin, name, true, nil)
			must(t, err)
			f, err := n.Open(ctx, admin, vfs.OpenWrite)
			must(t, err)
			_, err = f.WriteAt(ctx, make([]byte, 1<<20), 0, vfs.Unstable)
			must(t, err)
			must(t, f.Close())
			n.Release()
		}
		before, open := fs.Nodes(), fs.Descriptors()
		fs.Tick(0)
		if n, d := fs.Nodes(), fs.Descriptors(); n != before || d != open {
			t.Fatalf("%d nodes and %d descriptors, before the janitor's turn %d and %d", n, d, before, open)
		}
		must(t, os.Remove(cfg.Root+"/goes"))
		fs.Tick(0)
		if n, d := fs.Nodes(), fs.Descriptors(); n != before-1 || d != open-1 {
			t.Errorf("%d nodes and %d descriptors once one of two files is removed, before %d and %d", n, d, before, open)
		}
	})
}

// TestRemovedByOthers: what others remove does not stay for long because it was used once.
func TestRemovedByOthers(t *testing.T) {
	inModes(t, func(t *testing.T, top string, cfg posix.Config) {
		fs, root := start(t, cfg)
		h := tree(t, root)[3]
		if fs.Nodes() == 1 {
			t.Fatal("nothing is kept")
		}
		must(t, os.RemoveAll(cfg.Root+"/a"))
		fs.Tick(100) // written data are kept longer
		if n, d := fs.Nodes(), fs.Descriptors(); n != 1 || d != 0 {
			t.Errorf("%d nodes and %d descriptors are left", n, d)
		}
		_, err := fs.Resolve(ctx, h)
		want(t, "Resolve", err, vfs.ErrStale)
	})
}
