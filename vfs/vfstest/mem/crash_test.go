package mem_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"fileserver/vfs"
	"fileserver/vfs/vfstest/mem"

	"pgregory.net/rapid"
)

// crash ends the file system and goes on with what is left.
func (e *env) crash(keep func() bool) {
	e.Helper()
	old, oldRoot := e.fs, e.root
	e.use(e.fs.Crash(keep))
	if _, err := oldRoot.GetAttr(ctx, 0); vfs.StatusOf(err) != vfs.ErrIO {
		e.Errorf("the file system of before the crash still answers: %v", err)
	}
	if old == e.fs {
		e.Error("the same file system")
	}
	if err := e.fs.Check(); err != nil {
		e.Error(err)
	}
}

func TestCrashData(t *testing.T) {
	e := newEnv(t, mem.Options{Crashable: true})
	a := strings.Repeat("a", 10_000)
	_, unstable := e.create("unstable")
	e.write(unstable, a, 0, vfs.Unstable)
	_, sync := e.create("sync")
	e.write(sync, a, 0, vfs.FileSync)
	e.write(sync, "lost", 3, vfs.Unstable)
	_, data := e.create("data")
	e.write(data, a, 0, vfs.DataSync)
	e.write(data, "more", 10_000, vfs.Unstable)
	_, part := e.create("part")
	e.write(part, strings.Repeat("p", 12_288), 0, vfs.Unstable)
	e.ok(part.Commit(ctx, 4096, 4096))
	whole, f := e.create("whole")
	e.write(f, a, 0, vfs.Unstable)
	e.write(f, "b", 5, vfs.Unstable)
	e.ok(f.Commit(ctx, 0, 0))
	h := whole.Handle()
	short, s := e.create("short")
	e.write(s, a, 0, vfs.FileSync)
	e.write(s, "lost", 0, vfs.Unstable)
	e.ok(short.SetAttr(ctx, root, &vfs.SetAttr{Mask: vfs.AttrSize, Size: 5000}))
	e.write(s, "lost", 5000, vfs.Unstable)
	before, err := whole.GetAttr(ctx, vfs.AttrStat)
	e.ok(err)

	e.crash(nil)
	e.expect("unstable", "")
	e.expect("sync", a)
	e.expect("data", a)
	e.expect("part", strings.Repeat("\x00", 4096)+strings.Repeat("p", 4096))
	e.expect("whole", a[:5]+"b"+a[6:])
	e.expect("short", a[:5000])
	n, err := e.fs.Resolve(ctx, h)
	e.ok(err)
	after, err := n.GetAttr(ctx, vfs.AttrStat)
	e.ok(err)
	if after.Change <= before.Change || after.FileID != before.FileID {
		t.Errorf("after the crash: %+v, before: %+v", after, before)
	}
	f = e.open(n) // and life goes on
	e.write(f, "again", 0, vfs.FileSync)
	e.crash(nil)
	e.expect("whole", "againb"+a[6:])
}

// TestCrashKeeps: what was not committed may survive.
func TestCrashKeeps(t *testing.T) {
	e := newEnv(t, mem.Options{Crashable: true})
	_, f := e.create("f")
	e.write(f, strings.Repeat("x", 3*4096), 0, vfs.Unstable)
	e.crash(func() bool { return true })
	e.expect("f", strings.Repeat("x", 3*4096))
}

// TestFailedCommit: a Commit that failed promised nothing.
func TestFailedCommit(t *testing.T) {
	e := newEnv(t, mem.Options{Crashable: true})
	n, f := e.create("f")
	var broken vfs.Handle
	e.fs.SetHook(func(_ ctxT, op mem.Op, h vfs.Handle) error {
		if op == mem.OpCommit {
			broken = h
			return vfs.ErrIO
		}
		return nil
	})
	e.write(f, "lost", 0, vfs.Unstable)
	e.want(f.Commit(ctx, 0, 0), vfs.ErrIO)
	if _, err := f.WriteAt(ctx, []byte("x"), 0, vfs.FileSync); vfs.StatusOf(err) != vfs.ErrIO {
		t.Fatalf("a stable write: %v", err)
	}
	if broken != n.Handle() {
		t.Fatal("the hook saw another object")
	}
	e.fs.SetHook(nil)
	e.crash(nil)
	e.expect("f", "")
}

func TestCrashMetadata(t *testing.T) {
	e := newEnv(t, mem.Options{UnstableMetadata: true})
	if e.fs.Caps().StableMetadata {
		t.Fatal("Caps promise too much")
	}
	mk := func(name string) vfs.Node {
		n, f := e.create(name)
		e.write(f, name, 0, vfs.DataSync)
		return n
	}
	kept, moved, removed := mk("kept"), mk("moved"), mk("removed")
	e.ok(e.fs.SyncMeta(ctx, e.root))
	h := removed.Handle()

	// None of this is stable.
	mk("new")
	e.ok(e.root.Rename(ctx, root, "moved", e.root, "elsewhere"))
	e.ok(e.root.Remove(ctx, root, "removed", false))
	removed.Release()
	e.ok(kept.SetAttr(ctx, root, &vfs.SetAttr{Mask: vfs.AttrMode | vfs.AttrSize, Mode: 0o600, Size: 2}))
	e.ok(kept.(vfs.Xattrer).SetXattr(ctx, root, "a", []byte("v"), 0))
	e.ok(e.root.Link(ctx, root, "second", moved))
	d, err := e.root.Mkdir(ctx, root, "d", &vfs.SetAttr{})
	e.ok(err)
	e.ok(e.root.Rename(ctx, root, "kept", d, "inside"))

	e.crash(nil)
	for _, name := range []string{"kept", "moved", "removed"} {
		e.expect(name, name)
	}
	for _, name := range []string{"new", "elsewhere", "second", "d"} {
		e.expect(name, "missing")
	}
	n, err := e.root.Lookup(ctx, root, "kept")
	e.ok(err)
	a, _ := n.GetAttr(ctx, vfs.AttrStat)
	if names, _ := n.(vfs.Xattrer).ListXattrs(ctx, root); a.Mode != 0o644 || a.Nlink != 1 || len(names) != 0 {
		t.Errorf("after the crash: %+v, %q", a, names)
	}
	if _, err = e.fs.Resolve(ctx, h); err != nil {
		t.Errorf("the handle of a file whose removal was undone: %v", err)
	}

	// A change becomes stable with all that came before, and nothing that came after.
	mk("one")
	two := mk("two")
	e.ok(two.SetAttr(ctx, root, &vfs.SetAttr{Mask: vfs.AttrMode, Mode: 0o611}))
	e.ok(e.fs.SyncMeta(ctx, two))
	mk("three")
	e.crash(nil)
	e.expect("one", "one")
	e.expect("two", "two")
	e.expect("three", "missing")

	// A stable write makes the file's own changes stable.
	_, f := e.create("four")
	e.write(f, "four", 0, vfs.FileSync)
	e.crash(nil)
	e.expect("four", "four")
}

// TestCrashSize: SyncMeta makes a new size stable, and not what was written since.
func TestCrashSize(t *testing.T) {
	e := newEnv(t, mem.Options{UnstableMetadata: true})
	a := strings.Repeat("a", 20_000)
	n, f := e.create("f")
	e.write(f, a, 0, vfs.FileSync)
	resize := func(size uint64) {
		t.Helper()
		e.ok(n.SetAttr(ctx, root, &vfs.SetAttr{Mask: vfs.AttrSize, Size: size}))
	}
	e.write(f, "lost", 0, vfs.Unstable)
	resize(5000)
	e.write(f, "lost", 4998, vfs.Unstable)
	e.write(f, "lost", 10_000, vfs.Unstable)
	e.ok(e.fs.SyncMeta(ctx, n))
	e.crash(nil)
	e.expect("f", a[:5000])

	n, err := e.root.Lookup(ctx, root, "f")
	e.ok(err)
	f = e.open(n)
	resize(100)
	resize(4097)
	e.write(f, "kept", 50, vfs.Unstable)
	e.write(f, "also", 4090, vfs.Unstable)
	e.ok(f.Commit(ctx, 0, 0)) // an fsync makes the size stable too
	e.write(f, "lost", 60, vfs.Unstable)
	resize(0)
	e.crash(nil)
	e.expect("f", a[:50]+"kept"+a[54:100]+strings.Repeat("\x00", 3990)+"also"+"\x00\x00\x00")

	n, err = e.root.Lookup(ctx, root, "f")
	e.ok(err)
	f = e.open(n)
	e.write(f, "lost", 10, vfs.Unstable)
	resize(80)
	resize(90) // what is between is zero, not what was there
	e.ok(e.fs.SyncMeta(ctx, n))
	e.crash(nil)
	e.expect("f", a[:50]+"kept"+a[54:80]+strings.Repeat("\x00", 10))
}

// TestCrashUnderLoad: what was answered as stable before the crash is there after it, however the two met.
func TestCrashUnderLoad(t *testing.T) {
	for _, opt := range []mem.Options{{Crashable: true}, {UnstableMetadata: true}} {
		for round := range 10 {
			e := newEnv(t, opt)
			const workers = 4
			var done atomic.Int64
			running := make(chan struct{}) // closed when enough is done
			fs, dir := e.fs, e.root
			var wrote, made [workers]int // the last answered as stable
			var wg sync.WaitGroup
			for i := range workers {
				_, f := e.create(fmt.Sprintf("f%d", i))
				e.ok(e.fs.SyncMeta(ctx, e.root))
				wg.Go(func() {
					for n := 1; ; n++ {
						record := fmt.Sprintf("%08d", n)
						if _, err := f.WriteAt(ctx, []byte(record), int64(n-1)*8, vfs.Stability(1+n%2)); err != nil {
							return
						}
						wrote[i] = n
						d, err := dir.Mkdir(ctx, root, fmt.Sprintf("d%d.%d", i, n), nil)
						if err != nil || fs.SyncMeta(ctx, dir) != nil {
							return
						}
						made[i] = n
						d.Release()
						if done.Add(1) == int64(1+round*11) {
							close(running)
						}
						dir.Remove(ctx, root, fmt.Sprintf("d%d.%d", i, n-1), true)
					}
				})
			}
			<-running
			e.crash(nil)
			wg.Wait()
			for i := range workers {
				got := e.content(fmt.Sprintf("f%d", i))
				for n := range wrote[i] {
					if want := fmt.Sprintf("%08d", n+1); got[n*8:n*8+8] != want {
						t.Fatalf("record %d is %q", n+1, got[n*8:n*8+8])
					}
				}
				if n, err := e.root.Lookup(ctx, root, fmt.Sprintf("d%d.%d", i, made[i])); made[i] > 0 && err != nil {
					t.Fatalf("directory %d of %d: %v", made[i], i, err)
				} else if n != nil {
					n.Release()
				}
			}
		}
	}
}

// TestCrashModel runs a random program on two file systems, one of which crashes after it went on for a while with
// what was not made stable. It must find what the other has.
func TestCrashModel(t *testing.T) {
	for range 5 { // it is fast
		rapid.Check(t, crashModel(t))
	}
}

func crashModel(t *testing.T) func(*rapid.T) {
	return func(r *rapid.T) {
		a, b := newEnv(t, mem.Options{UnstableMetadata: true}), newEnv(t, mem.Options{})
		program := rapid.SliceOfN(rapid.Custom(step), 1, 30)
		for round := range rapid.IntRange(1, 3).Draw(r, "rounds") {
			for _, s := range program.Draw(r, fmt.Sprintf("stable%d", round)) {
				x, y := s.run(a), s.run(b)
				if vfs.StatusOf(x) != vfs.StatusOf(y) {
					r.Fatalf("%+v: %v and %v", s, x, y)
				}
			}
			a.syncAll(a.root)
			for _, s := range program.Draw(r, fmt.Sprintf("lost%d", round)) {
				s.run(a)
			}
			a.crash(nil)
			if !mem.Equal(a.fs, b.fs) {
				r.Fatal("the crash left something else than what was stable")
			}
		}
	}
}

type crashStep struct {
	Op       string
	Dir, To  int // 0: the root, 1 and 2: directories in it
	Name, As string
	N        int
}

func step(t *rapid.T) crashStep {
	names := rapid.SampledFrom([]string{"a", "b", "d1", "d2"})
	return crashStep{
		Op:  rapid.SampledFrom([]string{"create", "mkdir", "remove", "rmdir", "rename", "link", "write", "truncate", "chmod", "xattr", "punch"}).Draw(t, "op"),
		Dir: rapid.IntRange(0, 2).Draw(t, "dir"), To: rapid.IntRange(0, 2).Draw(t, "to"), Name: names.Draw(t, "name"), As: names.Draw(t, "as"),
		N: rapid.IntRange(0, 20_000).Draw(t, "n"),
	}
}

func (s crashStep) run(e *env) error {
	var dirs [2]vfs.Node
	for i, d := range []int{s.Dir, s.To} {
		dirs[i] = e.root
		if d > 0 {
			n, err := e.root.Lookup(ctx, root, fmt.Sprintf("d%d", d))
			if err != nil {
				return err
			}
			defer n.Release()
			dirs[i] = n
		}
	}
	dir, to := dirs[0], dirs[1]
	attr := &vfs.SetAttr{Mask: vfs.AttrMode, Mode: 0o644}
	switch s.Op {
	case "create":
		n, _, err := dir.Create(ctx, root, s.Name, true, attr)
		if err == nil {
			n.Release()
		}
		return err
	case "mkdir":
		n, err := dir.Mkdir(ctx, root, s.Name, attr)
		if err == nil {
			n.Release()
		}
		return err
	case "remove", "rmdir":
		return dir.Remove(ctx, root, s.Name, s.Op == "rmdir")
	case "rename":
		return dir.Rename(ctx, root, s.Name, to, s.As)
	}
	n, err := dir.Lookup(ctx, root, s.Name)
	if err != nil {
		return err
	}
	defer n.Release()
	switch s.Op {
	case "link":
		return to.Link(ctx, root, s.As, n)
	case "truncate":
		return n.SetAttr(ctx, root, &vfs.SetAttr{Mask: vfs.AttrSize, Size: uint64(s.N)})
	case "chmod":
		return n.SetAttr(ctx, root, &vfs.SetAttr{Mask: vfs.AttrMode, Mode: uint32(s.N) % 0o1000})
	case "xattr":
		return n.(vfs.Xattrer).SetXattr(ctx, root, s.As, []byte(fmt.Sprint(s.N)), 0)
	}
	f, err := n.Open(ctx, root, vfs.OpenWrite)
	if err != nil {
		return err
	}
	defer f.Close()
	if s.Op == "punch" {
		return f.(vfs.Allocator).Deallocate(ctx, int64(s.N/2), int64(s.N/2)+1)
	}
	_, err = f.WriteAt(ctx, []byte(strings.Repeat(s.As, s.N%9000)), int64(s.N), vfs.Unstable)
	return err
}

// syncAll makes everything below dir stable.
func (e *env) syncAll(dir vfs.Node) {
	e.Helper()
	_, err := dir.ReadDir(ctx, root, 0, 0, false, func(d *vfs.DirEntry) bool {
		n, err := dir.Lookup(ctx, root, d.Name)
		e.ok(err)
		defer n.Release()
		if n.Kind() == vfs.KindDirectory {
			e.syncAll(n)
			return true
		}
		f := e.open(n)
		defer f.Close()
		e.ok(f.Commit(ctx, 0, 0))
		e.ok(e.fs.SyncMeta(ctx, n))
		return true
	})
	e.ok(err)
	e.ok(e.fs.SyncMeta(ctx, dir))
}
