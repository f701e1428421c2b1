package vfstest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"

	"fileserver/vfs"
)

// parallel runs fn n times at once.
func parallel(n int, fn func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { fn(i) })
	}
	wg.Wait()
}

func testConcurrent(e *env) {
	rounds := 300
	if e.short() {
		rounds = 60
	}
	e.sub("ExclusiveCreate", func(e *env) { e.exclusive(rounds / 3) })
	e.sub("Replace", func(e *env) { e.replace(rounds * 3) })
	e.sub("Data", func(e *env) { e.writers(rounds) })
	e.sub("Storm", func(e *env) { e.storm(rounds * 2) })
}

// exclusive: of many who make the same name, one does.
func (e *env) exclusive(rounds int) {
	for r := range rounds {
		var made, linked atomic.Int32
		target := e.file(e.root, fmt.Sprintf("target%d", r), "")
		parallel(6, func(i int) {
			n, created, err := e.root.Create(e.ctx, e.c, fmt.Sprintf("x%d", r), true, mode(0o644))
			if err == nil {
				n.Release()
			} else if vfs.StatusOf(err) != vfs.ErrExist {
				e.Errorf("Create: %v", err)
			}
			if created {
				made.Add(1)
			}
			if e.root.Link(e.ctx, e.c, fmt.Sprintf("l%d", r), target) == nil {
				linked.Add(1)
			}
		})
		if made.Load() != 1 || linked.Load() != 1 {
			e.Fatalf("%d made the file and %d the link", made.Load(), linked.Load())
		}
	}
}

// replace: a name that is always replaced is always there, complete.
func (e *env) replace(rounds int) {
	e.file(e.root, "r", "complete")
	var done atomic.Bool
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for !done.Load() {
				n, err := e.root.Lookup(e.ctx, e.c, "r")
				if err != nil {
					e.Errorf("Lookup while it is replaced: %v", err)
					return
				}
				f, err := n.Open(e.ctx, e.c, vfs.OpenRead)
				n.Release()
				if err != nil {
					if vfs.StatusOf(err) == vfs.ErrStale { // replaced in between, and gone
						continue
					}
					e.Errorf("Open while it is replaced: %v", err)
					return
				}
				var b [20]byte
				if n, _, err := f.ReadAt(e.ctx, b[:], 0); err != nil || string(b[:n]) != "complete" {
					e.Errorf("read %q, %v while it is replaced", b[:n], err)
				}
				f.Close()
			}
		})
	}
	for i := range rounds {
		name := fmt.Sprintf("r%d", i%3)
		n, _, err := e.root.Create(e.ctx, e.c, name, true, mode(0o644))
		e.ok("Create", err)
		f, err := n.Open(e.ctx, e.c, vfs.OpenWrite)
		e.ok("Open", err)
		e.write(f, "complete", 0)
		f.Close()
		n.Release()
		e.rename(e.root, name, e.root, "r")
	}
	done.Store(true)
	wg.Wait()
}

// writers: many write to parts of one file of their own, through opens of their own, and read them back.
func (e *env) writers(rounds int) {
	n := e.create(e.root, "shared", 0o644)
	const part = 10_007 // not a multiple of anything
	parallel(6, func(i int) {
		f, err := n.Open(e.ctx, e.c, vfs.OpenRead|vfs.OpenWrite)
		if err != nil {
			e.Errorf("Open: %v", err)
			return
		}
		defer f.Close()
		buf := make([]byte, part)
		for r := range rounds {
			want := strings.Repeat(string(rune('a'+(r+i)%26)), part)
			if _, err := f.WriteAt(e.ctx, []byte(want), int64(i*part), vfs.Stability(r%16/14)); err != nil {
				e.Errorf("WriteAt: %v", err)
			}
			if k, _, err := f.ReadAt(e.ctx, buf, int64(i*part)); err != nil || k != part || string(buf) != want {
				e.Errorf("round %d of %d: other bytes are read than written (%d, %v)", r, i, k, err)
				return
			}
		}
	})
	if a := e.attr(n); a.Size != 6*part {
		e.Errorf("size is %d", a.Size)
	}
}

// storm: everything at once on few names. Every outcome is one that some order explains, and nothing is left when all is removed.
func (e *env) storm(rounds int) {
	dirs := []vfs.Node{e.mkdir(e.root, "d0", 0o755), e.mkdir(e.root, "d1", 0o755)}
	allowed := map[vfs.Status]bool{
		vfs.OK: true, vfs.ErrExist: true, vfs.ErrNotFound: true, vfs.ErrStale: true, vfs.ErrNotDir: true, vfs.ErrIsDir: true, vfs.ErrNotEmpty: true, vfs.ErrInvalid: true,
		vfs.ErrMaxLink: true,
	}
	parallel(6, func(i int) {
		rng := rand.New(rand.NewPCG(uint64(i), 7))
		name := func() string { return modelNames[rng.IntN(len(modelNames))] }
		dir := func() vfs.Node { return dirs[rng.IntN(len(dirs))] }
		for range rounds {
			d := dir()
			op := rng.IntN(10)
			err := e.stormOp(rng, op, d, dir(), name(), name())
			if !allowed[vfs.StatusOf(err)] {
				e.Errorf("operation %d: %v", op, err)
			}
		}
	})
	e.removeAll(e.root)
	if left := e.list(e.root); len(left) > 0 {
		e.Errorf("left: %q", left)
	}
}

func (e *env) stormOp(rng *rand.Rand, op int, d, to vfs.Node, name, other string) error {
	var n vfs.Node
	var err error
	switch op {
	case 0:
		n, _, err = d.Create(e.ctx, e.c, name, false, mode(0o644))
	case 1:
		n, err = d.Mkdir(e.ctx, e.c, name, mode(0o755))
	case 2:
		return d.Remove(e.ctx, e.c, name, rng.IntN(2) == 0)
	case 3, 4:
		return d.Rename(e.ctx, e.c, name, to, other)
	case 5:
		_, err = d.ReadDir(e.ctx, e.c, 0, vfs.AttrStat, true, func(*vfs.DirEntry) bool { return true })
		return err
	default:
		n, err = d.Lookup(e.ctx, e.c, name)
	}
	if err != nil {
		return err
	}
	defer n.Release()
	if n.Kind() == vfs.KindDirectory {
		return n.Rename(e.ctx, e.c, name, to, other)
	}
	switch op {
	case 6:
		return to.Link(e.ctx, e.c, other, n)
	case 7:
		return n.SetAttr(e.ctx, e.c, &vfs.SetAttr{Mask: vfs.AttrMode | vfs.AttrSize, Mode: 0o600, Size: uint64(rng.IntN(5000))})
	case 8:
		_, err = n.GetAttr(e.ctx, vfs.AttrStat)
		return err
	}
	f, err := n.Open(e.ctx, e.c, vfs.OpenRead|vfs.OpenWrite)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteAt(e.ctx, []byte("storm"), int64(rng.IntN(9000)), vfs.Unstable); err != nil {
		return err
	}
	_, _, err = f.ReadAt(e.ctx, make([]byte, 100), 0)
	return err
}

// removeAll removes everything in dir.
func (e *env) removeAll(dir vfs.Node) {
	e.Helper()
	for _, name := range e.list(dir) {
		n := e.lookup(dir, name)
		isDir := n.Kind() == vfs.KindDirectory
		if isDir {
			e.removeAll(n)
		}
		e.remove(dir, name, isDir)
	}
}
