package vfstest

import (
	"fmt"

	"fileserver/vfs"
)

// testRename tries every kind of object over every kind of object, within a directory and from one to another.
func testRename(e *env) {
	type object struct {
		name   string
		dir    bool
		full   bool
		absent bool
	}
	objects := []object{
		{name: "nothing", absent: true}, {name: "file"}, {name: "symlink"}, {name: "empty", dir: true}, {name: "full", dir: true, full: true},
	}
	build := func(dir vfs.Node, o object, name string) vfs.Node {
		switch {
		case o.absent:
			return nil
		case o.name == "file":
			return e.file(dir, name, "x")
		case o.name == "symlink":
			return e.symlink(dir, name, "x")
		}
		n := e.mkdir(dir, name, 0o755)
		if o.full {
			e.file(n, "inside", "")
		}
		return n
	}
	for i, from := range objects {
		for k, to := range objects {
			for _, across := range []bool{false, true} {
				what := fmt.Sprintf("Rename of %s over %s, across %v", from.name, to.name, across)
				src := e.mkdir(e.root, fmt.Sprintf("src%d.%d.%v", i, k, across), 0o755)
				dst := src
				if across {
					dst = e.mkdir(e.root, fmt.Sprintf("dst%d.%d", i, k), 0o755)
				}
				n := build(src, from, "a")
				old := build(dst, to, "b")
				var want vfs.Status
				switch {
				case from.absent:
					want = vfs.ErrNotFound
				case to.absent:
				case from.dir && !to.dir:
					want = vfs.ErrNotDir
				case !from.dir && to.dir:
					want = vfs.ErrIsDir
				case from.dir && to.full:
					want = vfs.ErrNotEmpty
				}
				before := e.attr(src)
				e.want(what, src.Rename(e.ctx, e.c, "a", dst, "b"), want)
				if want != vfs.OK {
					if n != nil {
						e.same(e.lookup(src, "a"), n)
					}
					if old != nil {
						e.same(e.lookup(dst, "b"), old)
					}
					continue
				}
				e.gone(src, "a")
				e.same(e.lookup(dst, "b"), n)
				if e.attr(src).Change == before.Change {
					e.Errorf("%s: the directory's change attribute stays", what)
				}
				if from.full {
					e.lookup(n, "inside")
				}
			}
		}
	}
}

// testRenameTrees tries renames of one object to itself, into itself, and over what is in use.
func testRenameTrees(e *env) {
	a := e.mkdir(e.root, "a", 0o755)
	b := e.mkdir(a, "b", 0o755)
	c := e.mkdir(b, "c", 0o755)
	for _, to := range []vfs.Node{a, b, c} {
		e.want("Rename of a directory into itself", e.root.Rename(e.ctx, e.c, "a", to, "x"), vfs.ErrInvalid)
	}
	e.want("Rename of a directory over itself, from inside", e.root.Rename(e.ctx, e.c, "a", a, "b"), vfs.ErrInvalid)
	e.want("Rename over the parent", b.Rename(e.ctx, e.c, "c", a, "b"), vfs.ErrNotEmpty)
	e.want("Rename over the grandparent", b.Rename(e.ctx, e.c, "c", e.root, "a"), vfs.ErrNotEmpty)
	before := e.attr(e.root).Change
	e.rename(e.root, "a", e.root, "a")
	e.rename(b, "c", b, "c")
	if e.attr(e.root).Change != before {
		e.Fatal("a rename of a name to itself changes the directory")
	}
	e.same(e.lookup(e.root, "a"), a)
	e.same(e.lookup(b, "c"), c)

	f := e.file(e.root, "f", "x")
	e.ok("Link", e.root.Link(e.ctx, e.c, "g", f))
	before = e.attr(e.root).Change
	e.rename(e.root, "f", e.root, "g") // nothing happens: both names stay
	if e.attr(e.root).Change != before {
		e.Fatal("a rename of a name to the other of the same object changes the directory")
	}
	e.same(e.lookup(e.root, "f"), f)
	e.same(e.lookup(e.root, "g"), f)
	if n := e.attr(f).Nlink; n != 2 {
		e.Fatalf("%d links after a rename of a name to the other of the same object", n)
	}
	e.ok("Link", a.Link(e.ctx, e.c, "h", f))
	e.rename(e.root, "f", a, "h")
	e.same(e.lookup(e.root, "f"), f)

	old := e.file(e.root, "old", "old content")
	file := e.open(old, vfs.OpenRead|vfs.OpenWrite)
	e.file(e.root, "new", "new")
	e.rename(e.root, "new", e.root, "old")
	if got := e.read(file, 0, 20); got != "old content" {
		e.Fatalf("an open file reads %q after it is replaced", got)
	}
	if n := e.attr(file).Nlink; n != 0 {
		e.Fatalf("%d links of what is replaced", n)
	}
	e.contains(e.lookup(e.root, "old"), "new")

	// A moved directory goes with all that is in it, and up leads to its new place.
	e.rename(a, "b", e.root, "b")
	e.same(e.node(b.Parent(e.ctx, e.c)), e.root)
	e.same(e.lookup(b, "c"), c)
	e.rename(e.root, "a", c, "a")
	e.want("Rename of what is now above", e.root.Rename(e.ctx, e.c, "b", a, "b"), vfs.ErrInvalid)
}
