package vfstest

import (
	"strings"

	"fileserver/vfs"
)

const cloneBlock = 64 << 10 // a multiple of the block size of every file system

func testClone(e *env) {
	src := e.create(e.root, "src", 0o644)
	s := e.open(src, vfs.OpenRead|vfs.OpenWrite)
	a, b := strings.Repeat("a", cloneBlock), strings.Repeat("b", cloneBlock)
	e.write(s, a+b+"tail", 0)
	dst := e.create(e.root, "dst", 0o644)
	d := e.open(dst, vfs.OpenRead|vfs.OpenWrite)
	c, ok := d.(vfs.Cloner)
	if e.opt.NoClone {
		if ok {
			e.lacks("CloneFrom", ok, c.CloneFrom(e.ctx, s, 0, 0, 0))
		}
		return
	}
	if !ok {
		e.Fatal("the File is no Cloner")
	}
	before := e.attr(d)
	e.ok("CloneFrom", c.CloneFrom(e.ctx, s, 0, 0, 0))
	e.contains(dst, a+b+"tail")
	if x := e.attr(d); x.Change == before.Change {
		e.Error("CloneFrom leaves the change attribute")
	}
	// Either may change, and the other stays.
	e.write(d, "D", 5)
	e.contains(src, a+b+"tail")
	e.write(s, "S", cloneBlock+5)
	e.contains(dst, a[:5]+"D"+a[6:]+b+"tail")
	e.truncate(src, 10)
	e.contains(dst, a[:5]+"D"+a[6:]+b+"tail")

	e.ok("CloneFrom of a part", c.CloneFrom(e.ctx, d, cloneBlock, 3*cloneBlock, cloneBlock))
	e.contains(dst, a[:5]+"D"+a[6:]+b+"tail"+strings.Repeat("\x00", cloneBlock-4)+b)
	for _, r := range [][3]int64{{1, 0, cloneBlock}, {0, 1, cloneBlock}, {0, 0, 100 * cloneBlock}, {-cloneBlock, 0, cloneBlock}} {
		e.want("CloneFrom of a bad range", c.CloneFrom(e.ctx, s, r[0], r[1], r[2]), vfs.ErrInvalid)
	}
	e.want("CloneFrom over itself", c.CloneFrom(e.ctx, d, 0, cloneBlock, 2*cloneBlock), vfs.ErrInvalid)
	other := newEnv(e.T, e.newFS, e.opt)
	of := other.open(other.file(other.root, "f", a), vfs.OpenRead)
	e.want("CloneFrom another file system", c.CloneFrom(e.ctx, of, 0, 0, 0), vfs.ErrXDev)
}

func testCopy(e *env) {
	src := e.file(e.root, "src", "0123456789")
	s := e.open(src, vfs.OpenRead)
	dst := e.create(e.root, "dst", 0o644)
	d := e.open(dst, vfs.OpenRead|vfs.OpenWrite)
	c, ok := d.(vfs.Copier)
	if e.opt.NoCopy {
		if ok {
			_, err := c.CopyFrom(e.ctx, s, 0, 0, 1)
			e.lacks("CopyFrom", ok, err)
		}
		return
	}
	if !ok {
		e.Fatal("the File is no Copier")
	}
	copyFrom := func(from vfs.File, srcOff, off, n, want int64) {
		e.Helper()
		if got, err := c.CopyFrom(e.ctx, from, srcOff, off, n); got != want || err != nil {
			e.Fatalf("CopyFrom(%d, %d, %d) = %d, %v; want %d", srcOff, off, n, got, err, want)
		}
	}
	copyFrom(s, 2, 1, 5, 5)
	e.contains(dst, "\x0023456")
	copyFrom(s, 8, 0, 100, 2)
	e.contains(dst, "893456")
	copyFrom(s, 10, 0, 5, 0)
	copyFrom(s, 100, 0, 5, 0)
	e.contains(dst, "893456")
	copyFrom(d, 0, 6, 3, 3)
	e.contains(dst, "893456893")
	_, err := c.CopyFrom(e.ctx, d, 0, 2, 5)
	e.want("CopyFrom over itself", err, vfs.ErrInvalid)
	_, err = c.CopyFrom(e.ctx, s, -1, 0, 5)
	e.want("CopyFrom(-1)", err, vfs.ErrInvalid)

	big := strings.Repeat("0123456789abcdef", 100_000)
	bigNode := e.file(e.root, "big", big)
	b := e.open(bigNode, vfs.OpenRead)
	for done := int64(0); done < int64(len(big)); { // may do less at a time
		n, err := c.CopyFrom(e.ctx, b, done, done, int64(len(big))-done)
		if err != nil || n == 0 {
			e.Fatalf("CopyFrom = %d, %v", n, err)
		}
		done += n
	}
	e.contains(dst, big)
}
