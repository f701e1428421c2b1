package posix_test

import (
	"context"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"fileserver/vfs"
	"fileserver/vfs/lock"
	"fileserver/vfs/posix"
	"fileserver/vfs/vfstest/fusetest"
	"fileserver/vfs/vfstest/mem"
)

// TestPosix runs programs' system calls against the backend.
func TestPosix(t *testing.T) {
	if os.Geteuid() != 0 {
		return // the run by root needs no fusermount3
	}
	fusetest.RunPosix(t, func(t *testing.T) vfs.FS {
		fs, _ := start(t, posix.Config{Root: t.TempDir(), StateDir: t.TempDir()})
		return fs
	})
}

// onFUSE publishes a file system in memory that is mounted through FUSE: one without handles of the kernel.
func onFUSE(t *testing.T) (*mem.FS, *posix.FS, vfs.Node) {
	below := mem.New(mem.Options{})
	fs, root := start(t, posix.Config{Root: fusetest.Mount(t, below, lock.New()), StateDir: t.TempDir()})
	if fs.NativeHandles() {
		t.Error("took the handles of FUSE for permanent")
	}
	return below, fs, root
}

// TestOnFUSE finds objects again by their numbers only.
func TestOnFUSE(t *testing.T) {
	if os.Geteuid() != 0 {
		return
	}
	_, fs, root := onFUSE(t)
	h := tree(t, root)
	resolveAll(t, fs, h)
	a := lookup(t, root, "a")
	b := lookup(t, a, "b")
	must(t, a.Rename(ctx, admin, "b", root, "elsewhere"))
	must(t, root.Remove(ctx, admin, "a", true))
	a.Release()
	b.Release()
	resolveAll(t, fs, h[1:])
	_, err := fs.Resolve(ctx, h[0])
	want(t, "Resolve of what is gone", err, vfs.ErrStale)
	names := 0
	_, err = root.ReadDir(ctx, admin, 0, vfs.AttrStat, true, func(e *vfs.DirEntry) bool {
		if names++; e.Handle != h[1] || e.Attr.Kind != vfs.KindDirectory {
			t.Errorf("%+v", e)
		}
		return true
	})
	must(t, err)
	if names != 1 {
		t.Errorf("%d names", names)
	}
}

// TestVerdictOfAnotherMode: what the kernel says while the mode changes is not remembered for the mode before.
func TestVerdictOfAnotherMode(t *testing.T) {
	if os.Geteuid() != 0 {
		return
	}
	below, _, root := onFUSE(t)
	n, _, err := root.Create(ctx, admin, "f", true, &vfs.SetAttr{Mask: vfs.AttrMode, Mode: 0o600})
	must(t, err)
	defer n.Release()
	top, err := below.Root(ctx)
	must(t, err)
	defer top.Release()
	in, err := top.Lookup(ctx, admin, "f")
	must(t, err)
	defer in.Release()
	chmod := func(mode uint32) {
		t.Helper()
		must(t, in.SetAttr(ctx, admin, &vfs.SetAttr{Mask: vfs.AttrMode, Mode: mode}))
	}
	asked := false
	below.SetHook(func(_ context.Context, op mem.Op, h vfs.Handle) error {
		if op == mem.OpAccess && h == in.Handle() && !asked {
			asked = true
			chmod(0o644) // just before the kernel answers
		}
		return nil
	})
	bob := &vfs.Cred{UID: 61002, GID: 62002}
	_, err = n.Access(ctx, bob, vfs.AccessRead)
	must(t, err)
	if !asked {
		t.Fatal("the kernel was not asked")
	}
	below.SetHook(nil)
	chmod(0o600)
	if got, err := n.Access(ctx, bob, vfs.AccessRead); err != nil || got != 0 {
		t.Errorf("another user has access %06b to a file of mode 600, %v", got, err)
	}
}

// TestFailedSync: what could not be made stable is reported, to all who wait, and counted.
func TestFailedSync(t *testing.T) {
	if os.Geteuid() != 0 {
		return
	}
	below, fs, root := onFUSE(t)
	n, _, err := root.Create(ctx, admin, "f", true, nil)
	must(t, err)
	defer n.Release()
	f, err := n.Open(ctx, admin, vfs.OpenWrite)
	must(t, err)
	_, err = f.WriteAt(ctx, []byte("x"), 0, vfs.Unstable)
	must(t, err)
	must(t, f.Commit(ctx, 0, 0))
	if fs.WriteErrors() != 0 {
		t.Fatal("counted an error before there was one")
	}

	var syncs atomic.Int32
	fail := make(chan struct{})
	below.SetHook(func(_ context.Context, op mem.Op, _ vfs.Handle) error {
		if op != mem.OpCommit {
			return nil
		}
		syncs.Add(1)
		<-fail
		return vfs.ErrIO
	})
	const many = 20
	errs := make(chan error)
	commit := func() { errs <- f.Commit(ctx, 0, 0) }
	go commit()
	until(func() bool { return syncs.Load() == 1 }) // the first has begun; the others wait for the next
	for range many - 1 {
		go commit()
	}
	until(func() bool { return fs.Waiting(n) == many-1 })
	close(fail)
	for range many {
		want(t, "Commit", <-errs, vfs.ErrIO)
	}
	if s := syncs.Load(); s != 2 {
		t.Errorf("%d times synced for %d calls, want 2", s, many)
	}
	if e := fs.WriteErrors(); e != 2 {
		t.Errorf("%d errors counted, want 2", e)
	}
	_, err = f.WriteAt(ctx, []byte("x"), 0, vfs.FileSync)
	want(t, "a stable write", err, vfs.ErrIO)
	if e := fs.WriteErrors(); e != 3 {
		t.Errorf("%d errors counted, want 3", e)
	}
	want(t, "SyncMeta", fs.SyncMeta(ctx, n), vfs.ErrIO)
	// Written, and closed before anybody asked for stability.
	_, err = f.WriteAt(ctx, []byte("y"), 0, vfs.Unstable)
	must(t, err)
	before := fs.WriteErrors()
	must(t, f.Close())
	fs.Tick(100)
	if fs.WriteErrors() == before {
		t.Error("a failure before an idle file was closed went unseen")
	}
	below.SetHook(nil)
	f, err = n.Open(ctx, admin, vfs.OpenWrite)
	must(t, err)
	must(t, f.Commit(ctx, 0, 0))
	must(t, f.Close())
}

// until waits for something that comes sooner or later; the test's own timeout ends it otherwise.
func until(done func() bool) {
	for !done() {
		time.Sleep(time.Millisecond)
	}
}
