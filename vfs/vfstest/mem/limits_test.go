package mem_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fileserver/vfs"
	"fileserver/vfs/vfstest/mem"
)

type ctxT = context.Context

func TestNoSpace(t *testing.T) {
	e := newEnv(t, mem.Options{MaxBytes: 64 << 10, MaxFiles: 4, MaxLink: 3, MaxFileSize: 1 << 20})
	total := func() uint64 {
		st, err := e.fs.StatFS(ctx, root)
		e.ok(err)
		return st.FreeBytes
	}
	n, f := e.create("f")
	p := []byte(strings.Repeat("x", 100<<10))
	k, err := f.WriteAt(ctx, p, 0, vfs.Unstable)
	if e.want(err, vfs.ErrNoSpace); k != 64<<10 || total() != 0 {
		t.Fatalf("wrote %d bytes, %d are free", k, total())
	}
	e.write(f, "over", 0, vfs.Unstable) // what is there may change
	k, err = f.WriteAt(ctx, p[:1], 64<<10, vfs.Unstable)
	if e.want(err, vfs.ErrNoSpace); k != 0 {
		t.Fatalf("wrote %d bytes", k)
	}
	if a, _ := n.GetAttr(ctx, vfs.AttrStat); a.Size != 64<<10 || a.Used != 64<<10 {
		t.Fatalf("%+v", a)
	}
	al := f.(vfs.Allocator)
	e.want(al.Allocate(ctx, 0, 100<<10), vfs.ErrNoSpace)
	e.want(al.Allocate(ctx, 0, 1<<20), vfs.ErrNoSpace)
	e.want(al.Allocate(ctx, 1, 1<<20), vfs.ErrTooBig)
	e.ok(al.Deallocate(ctx, 0, 32<<10))
	if total() != 32<<10 {
		t.Fatalf("%d bytes are free after Deallocate", total())
	}
	e.ok(n.SetAttr(ctx, root, &vfs.SetAttr{Mask: vfs.AttrSize, Size: 1}))
	if total() != 64<<10 {
		t.Fatalf("%d bytes are free after truncation", total())
	}
	e.want(n.SetAttr(ctx, root, &vfs.SetAttr{Mask: vfs.AttrSize, Size: 1<<20 + 1}), vfs.ErrTooBig)
	k, err = f.WriteAt(ctx, p[:10], 1<<20-5, vfs.Unstable)
	if e.want(err, vfs.ErrTooBig); k != 5 {
		t.Fatalf("wrote %d bytes at the largest size", k)
	}
	_, g := e.create("g")
	e.ok(g.(vfs.Cloner).CloneFrom(ctx, f, 0, 0, 0))
	free := total()
	e.ok(e.root.Remove(ctx, root, "g", false))
	if total() != free {
		t.Fatal("an open file without a name gave its storage back")
	}
	g.Close() // the Node of create is still there
	e.ok(e.root.Link(ctx, root, "l2", n))
	e.ok(e.root.Link(ctx, root, "l3", n))
	e.want(e.root.Link(ctx, root, "l4", n), vfs.ErrMaxLink)
	d, err := e.root.Mkdir(ctx, root, "d", &vfs.SetAttr{}) // the root has "." , ".." and one more
	e.ok(err)
	d.Release()
	_, err = e.root.Mkdir(ctx, root, "d2", &vfs.SetAttr{})
	e.want(err, vfs.ErrMaxLink)
	_, _, err = e.root.Create(ctx, root, "fifth", true, nil)
	e.want(err, vfs.ErrNoSpace)
	if err := e.fs.Check(); err != nil && !strings.Contains(err.Error(), "dead: true") { // g
		t.Error(err)
	}
}

// TestBadCookie: a cookie that was never given out is told apart from one whose entry is gone.
func TestBadCookie(t *testing.T) {
	e := newEnv(t, mem.Options{})
	e.create("a")
	e.create("b")
	var cookies []uint64
	read := func(from uint64) (n int, err error) {
		_, err = e.root.ReadDir(ctx, root, from, 0, false, func(d *vfs.DirEntry) bool {
			cookies = append(cookies, d.Cookie)
			n++
			return true
		})
		return n, err
	}
	_, err := read(0)
	e.ok(err)
	last := cookies[1]
	for _, bad := range []uint64{1, 2, last + 1, 1 << 63, ^uint64(0)} {
		_, err := read(bad)
		e.want(err, vfs.ErrBadCookie)
	}
	e.ok(e.root.Remove(ctx, root, "b", false))
	n, err := read(last)
	if e.ok(err); n != 0 {
		t.Errorf("%d entries behind the last", n)
	}
}

// TestSlowCommit: a hook makes a call slow without keeping others.
func TestSlowCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(t, mem.Options{})
		_, f := e.create("f")
		_, g := e.create("g")
		e.fs.SetHook(func(ctx ctxT, op mem.Op, _ vfs.Handle) error {
			if op != mem.OpCommit {
				return nil
			}
			select {
			case <-time.After(90 * time.Second):
				return nil
			case <-ctx.Done():
				return vfs.ErrIO
			}
		})
		start := time.Now()
		done := make(chan error, 1)
		go func() { done <- f.Commit(ctx, 0, 0) }()
		synctest.Wait()
		e.write(f, "x", 0, vfs.Unstable)
		e.write(g, "x", 0, vfs.Unstable)
		if took := time.Since(start); took != 0 {
			t.Errorf("other calls took %v", took)
		}
		e.ok(<-done)
		if took := time.Since(start); took != 90*time.Second {
			t.Errorf("Commit took %v", took)
		}
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		e.want(f.Commit(short, 0, 0), vfs.ErrIO)
	})
}

// TestHooks: every call can be made to fail, and does nothing then.
func TestHooks(t *testing.T) {
	e := newEnv(t, mem.Options{})
	n, f := e.create("f")
	s := &vfs.SetAttr{Mask: vfs.AttrMode}
	x := n.(vfs.Xattrer)
	var fail mem.Op
	e.fs.SetHook(func(_ ctxT, op mem.Op, _ vfs.Handle) error {
		if op == fail {
			return fmt.Errorf("injected: %w", vfs.ErrQuota)
		}
		return nil
	})
	before, _ := n.GetAttr(ctx, vfs.AttrStat)
	for op, call := range map[mem.Op]func() error{
		mem.OpResolve:  func() error { _, err := e.fs.Resolve(ctx, n.Handle()); return err },
		mem.OpStatFS:   func() error { _, err := e.fs.StatFS(ctx, root); return err },
		mem.OpSyncMeta: func() error { return e.fs.SyncMeta(ctx) },
		mem.OpGetAttr:  func() error { _, err := n.GetAttr(ctx, 0); return err },
		mem.OpSetAttr:  func() error { return n.SetAttr(ctx, root, s) },
		mem.OpAccess:   func() error { _, err := n.Access(ctx, root, 1); return err },
		mem.OpLookup:   func() error { _, err := e.root.Lookup(ctx, root, "f"); return err },
		mem.OpParent:   func() error { _, err := e.root.Parent(ctx, root); return err },
		mem.OpCreate:   func() error { _, _, err := e.root.Create(ctx, root, "x", true, s); return err },
		mem.OpMkdir:    func() error { _, err := e.root.Mkdir(ctx, root, "x", s); return err },
		mem.OpSymlink:  func() error { _, err := e.root.Symlink(ctx, root, "x", "t", s); return err },
		mem.OpMknod:    func() error { _, err := e.root.Mknod(ctx, root, "x", vfs.KindFIFO, vfs.Dev{}, s); return err },
		mem.OpLink:     func() error { return e.root.Link(ctx, root, "x", n) },
		mem.OpRemove:   func() error { return e.root.Remove(ctx, root, "f", false) },
		mem.OpRename:   func() error { return e.root.Rename(ctx, root, "f", e.root, "x") },
		mem.OpReadlink: func() error { _, err := n.Readlink(ctx, root); return err },
		mem.OpReadDir: func() error {
			_, err := e.root.ReadDir(ctx, root, 0, 0, false, func(*vfs.DirEntry) bool { return true })
			return err
		},
		mem.OpOpen:     func() error { _, err := n.Open(ctx, root, vfs.OpenRead); return err },
		mem.OpRead:     func() error { _, _, err := f.ReadAt(ctx, nil, 0); return err },
		mem.OpWrite:    func() error { _, err := f.WriteAt(ctx, []byte("x"), 0, vfs.FileSync); return err },
		mem.OpCommit:   func() error { return f.Commit(ctx, 0, 0) },
		mem.OpXattr:    func() error { return x.SetXattr(ctx, root, "x", nil, 0) },
		mem.OpAllocate: func() error { return f.(vfs.Allocator).Allocate(ctx, 0, 1) },
		mem.OpSeek:     func() error { _, err := f.(vfs.Seeker).SeekData(ctx, 0); return err },
		mem.OpClone:    func() error { return f.(vfs.Cloner).CloneFrom(ctx, f, 0, 0, 0) },
		mem.OpCopy:     func() error { _, err := f.(vfs.Copier).CopyFrom(ctx, f, 0, 0, 0); return err },
	} {
		fail = op
		if err := call(); vfs.StatusOf(err) != vfs.ErrQuota {
			t.Errorf("call %d with a hook that fails: %v", op, err)
		}
	}
	e.fs.SetHook(nil)
	after, _ := n.GetAttr(ctx, vfs.AttrStat)
	if after != before || e.content("x") != "missing" {
		t.Errorf("a call that failed did something: %+v, before %+v", after, before)
	}
}

// TestMisuse: what was given back is not used or given back again.
func TestMisuse(t *testing.T) {
	e := newEnv(t, mem.Options{})
	n, f := e.create("f")
	panics := func(what string, fn func()) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%s went unnoticed", what)
			}
		}()
		fn()
	}
	if nodes, files := e.fs.Outstanding(); nodes != 2 || files != 1 {
		t.Errorf("%d nodes and %d files are outstanding", nodes, files)
	}
	e.ok(f.Close())
	if _, _, err := f.ReadAt(ctx, nil, 0); vfs.StatusOf(err) != vfs.ErrServerFault {
		t.Errorf("ReadAt after Close: %v", err)
	}
	panics("closing twice", func() { f.Close() })
	n.Release()
	panics("releasing twice", n.Release)
}
