package posix_test

import (
	"context"
	"os"
	"testing"

	"fileserver/internal/budget"
	"fileserver/vfs"
	"fileserver/vfs/lock"
	"fileserver/vfs/posix"
	"fileserver/vfs/vfstest/fusetest"
	"fileserver/vfs/vfstest/mem"
)

// threads counts the threads of the process.
func threads(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/task")
	must(t, err)
	return len(list)
}

// TestStall: of many calls on a file system that stalls a few hold threads, some wait, and the others are
// refused at once; another file system goes on, and when the first does, all is as before.
func TestStall(t *testing.T) {
	if os.Geteuid() != 0 {
		return // to mount needs the superuser
	}
	all := budget.NewShares(32, 1024)
	below := mem.New(mem.Options{})
	stalled, other := all.Add(), all.Add()
	_, root := start(t, posix.Config{Root: fusetest.Mount(t, below, lock.New()), Budget: stalled})
	_, healthy := start(t, posix.Config{Root: t.TempDir(), Budget: other})
	limit := stalled.Stats().Limit
	user := &vfs.Cred{UID: 61001, GID: 62001} // its calls need a thread of their own
	var files, unused []vfs.File
	for _, name := range []string{"a", "b", "c"} {
		n, _, err := root.Create(ctx, admin, name, true, &vfs.SetAttr{Mask: vfs.AttrMode, Mode: 0o666})
		must(t, err)
		f, err := n.Open(ctx, user, vfs.OpenWrite)
		must(t, err)
		files = append(files, f)
		f, err = n.Open(ctx, user, vfs.OpenWrite)
		must(t, err)
		unused = append(unused, f)
		n.Release()
	}

	before := threads(t)
	release := make(chan struct{})
	below.SetHook(func(context.Context, mem.Op, vfs.Handle) error { <-release; return nil })
	const many = 500
	errs := make(chan error, many)
	for i := range many {
		go func() {
			var err error
			switch f := files[i%len(files)]; i % 4 {
			case 0:
				_, err = f.WriteAt(ctx, []byte("x"), 0, vfs.FileSync)
			case 1:
				err = drop(root.Lookup(ctx, user, "a"))
			case 2:
				err = drop(root.Mkdir(ctx, user, "d", nil))
			default:
				_, err = f.GetAttr(ctx, vfs.AttrStat)
			}
			errs <- err
		}()
	}
	until(func() bool { s := stalled.Stats(); return s.Running == limit && s.Waiting == 4*limit })
	for range many - 5*limit {
		want(t, "a call beyond the queue", <-errs, vfs.ErrTooManyFiles)
	}
	if n := threads(t); n > before+2*limit+20 { // one for each call, one for its identity, and those of Go
		t.Errorf("%d threads while the file system stalls, %d before; %d calls may block", n, before, limit)
	}
	for i := range 100 {
		n, _, err := healthy.Create(ctx, admin, "f", false, nil)
		must(t, err)
		if i%2 == 0 {
			_, err = n.GetAttr(ctx, vfs.AttrStat)
			must(t, err)
		}
		n.Release()
	}
	if s := other.Stats(); s.Running != 0 || s.Waiting != 0 || s.Refused != 0 {
		t.Errorf("the other file system: %+v", s)
	}

	// A client that has gone does not wait.
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, err := root.GetAttr(gone, vfs.AttrStat)
	want(t, "a call whose client has gone", err, vfs.ErrTooManyFiles)
	for _, f := range unused { // closing blocks nobody
		must(t, f.Close())
	}
	below.SetHook(nil)
	close(release)
	for range 5 * limit {
		if err := <-errs; vfs.StatusOf(err) == vfs.ErrTooManyFiles {
			t.Errorf("a call that waited for its turn: %v", err)
		}
	}
	until(func() bool { s := stalled.Stats(); return s.Running == 0 && s.Waiting == 0 })
	for _, f := range files {
		must(t, f.Close())
	}
}
