package posix_test

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"fileserver/vfs"
	"fileserver/vfs/posix"
)

// buffer is memory outside of the Go heap, as transports register it.
func buffer(t testing.TB, n int) []byte {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(b) })
	return b
}

// stateless are the calls of one NFSv3 READ or WRITE.
func stateless(t testing.TB, fs vfs.FS, h vfs.Handle, c *vfs.Cred, p []byte, write bool) {
	n, err := fs.Resolve(ctx, h)
	if err != nil {
		t.Fatal(err)
	}
	flags := vfs.OpenRead | vfs.AccessOwnerOverride
	if write {
		flags = vfs.OpenWrite | vfs.AccessOwnerOverride
	}
	f, err := n.Open(ctx, c, flags)
	if err != nil {
		t.Fatal(err)
	}
	if write {
		_, err = f.WriteAt(ctx, p, 0, vfs.Unstable)
	} else {
		_, _, err = f.ReadAt(ctx, p, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.GetAttr(ctx, vfs.AttrStat); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	n.Release()
}

// prepared is a file system with a file of 1 MiB that belongs to a user with groups.
func prepared(t testing.TB, cfg posix.Config) (*posix.FS, vfs.Handle, *vfs.Cred) {
	c := &vfs.Cred{UID: 61001, GID: 62001, Groups: []uint32{62001, 62002, 62003}}
	if os.Geteuid() != 0 {
		c.UID = uint32(os.Geteuid())
	}
	cfg.Root = t.TempDir()
	fs, err := posix.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fs.Close() })
	root, err := fs.Root(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Release()
	if err := root.SetAttr(ctx, admin, &vfs.SetAttr{Mask: vfs.AttrMode, Mode: 0o777}); err != nil {
		t.Fatal(err)
	}
	n, _, err := root.Create(ctx, c, "f", true, &vfs.SetAttr{Mask: vfs.AttrMode, Mode: 0o666})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Release()
	if err := n.SetAttr(ctx, c, &vfs.SetAttr{Mask: vfs.AttrSize, Size: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	return fs, n.Handle(), c
}

// TestStatelessAllocs: a whole READ or WRITE takes no memory, whoever asks.
func TestStatelessAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates; make cover runs this without it")
	}
	for name, cfg := range modes() {
		t.Run(name, func(t *testing.T) {
			fs, h, c := prepared(t, cfg)
			p := buffer(t, 64<<10)
			d := *c // in other memory, as every call has it
			d.Groups = append([]uint32(nil), c.Groups...)
			for _, write := range []bool{false, true} {
				run := func() { stateless(t, fs, h, &d, p, write) }
				for range 100 {
					run()
				}
				if n := testing.AllocsPerRun(500, run); n != 0 {
					t.Errorf("write %v: %v allocations", write, n)
				}
			}
		})
	}
}

func BenchmarkStateless(b *testing.B) {
	for _, write := range []bool{false, true} {
		for _, size := range []int{4 << 10, 1 << 20} {
			b.Run(fmt.Sprintf("write=%v/%d", write, size), func(b *testing.B) {
				fs, h, c := prepared(b, posix.Config{})
				p := buffer(b, size)
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					stateless(b, fs, h, c, p, write)
				}
			})
		}
	}
}

func BenchmarkCalls(b *testing.B) {
	fs, h, c := prepared(b, posix.Config{})
	root, err := fs.Root(ctx)
	if err != nil {
		b.Fatal(err)
	}
	defer root.Release()
	n, err := fs.Resolve(ctx, h)
	if err != nil {
		b.Fatal(err)
	}
	defer n.Release()
	for _, who := range []*vfs.Cred{admin, c} {
		for _, call := range []struct {
			name string
			run  func() error
		}{
			{"GetAttr", func() error { _, err := n.GetAttr(ctx, vfs.AttrStat); return err }},
			{"Access", func() error { _, err := n.Access(ctx, who, 0x3f); return err }},
			{"Lookup", func() error { return drop(root.Lookup(ctx, who, "f")) }},
			{"OpenClose", func() error { return open(vfs.OpenRead)(who, nil, n) }},
			{"CreateRemove", func() error {
				n, _, err := root.Create(ctx, who, "new", true, nil)
				if err != nil {
					return err
				}
				n.Release()
				return root.Remove(ctx, who, "new", false)
			}},
			{"SetAttr", func() error {
				return n.SetAttr(ctx, who, &vfs.SetAttr{Mask: vfs.AttrMode, Mode: 0o640})
			}},
		} {
			b.Run(fmt.Sprintf("%s/uid=%d", call.name, who.UID), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := call.run(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
