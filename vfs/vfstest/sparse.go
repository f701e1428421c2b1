package vfstest

import (
	"strings"

	"fileserver/vfs"
)

func testSparse(e *env) {
	n := e.create(e.root, "f", 0o644)
	f := e.open(n, vfs.OpenRead|vfs.OpenWrite)
	const mib = 1 << 20
	e.write(f, strings.Repeat("d", mib), 0)
	e.write(f, strings.Repeat("d", mib), 4*mib)
	e.truncate(n, 8*mib)
	e.sub("Seek", func(e *env) { testSeek(e, f) })
	e.sub("Allocate", func(e *env) { testAllocate(e, n, f) })
}

// testSeek looks into a file with data in the MiB 0 and 4, of 8.
func testSeek(e *env, f vfs.File) {
	s, ok := f.(vfs.Seeker)
	if e.opt.NoSeek {
		if ok {
			_, err := s.SeekHole(e.ctx, 0)
			e.lacks("SeekHole", ok, err)
		}
		return
	}
	if !ok {
		e.Fatal("the File is no Seeker")
	}
	const mib = 1 << 20
	for _, c := range []struct{ off, data, hole int64 }{
		{0, 0, mib}, {5, 5, mib}, {mib - 1, mib - 1, mib}, {mib, 4 * mib, mib}, {2*mib + 7, 4 * mib, 2*mib + 7}, {4 * mib, 4 * mib, 5 * mib},
		{5 * mib, -1, 5 * mib}, {8*mib - 1, -1, 8*mib - 1}, {8 * mib, -1, -1}, {9 * mib, -1, -1},
	} {
		check := func(what string, got int64, err error, want int64) {
			e.Helper()
			if want < 0 {
				e.want(what, err, vfs.ErrNoData)
			} else if err != nil || got != want {
				e.Errorf("%s(%d) = %d, %v; want %d", what, c.off, got, err, want)
			}
		}
		got, err := s.SeekData(e.ctx, c.off)
		check("SeekData", got, err, c.data)
		got, err = s.SeekHole(e.ctx, c.off)
		check("SeekHole", got, err, c.hole)
	}
	_, err := s.SeekData(e.ctx, -1)
	e.want("SeekData(-1)", err, vfs.ErrInvalid, vfs.ErrNoData)
	full := e.open(e.file(e.root, "full", "abc"), vfs.OpenRead).(vfs.Seeker)
	if at, err := full.SeekHole(e.ctx, 1); at != 3 || err != nil {
		e.Errorf("SeekHole in a full file = %d, %v", at, err)
	}
}

func testAllocate(e *env, n vfs.Node, f vfs.File) {
	al, ok := f.(vfs.Allocator)
	if e.opt.NoAllocate {
		if ok {
			e.lacks("Allocate", ok, al.Allocate(e.ctx, 0, 1))
		}
		return
	}
	if !ok {
		e.Fatal("the File is no Allocator")
	}
	const mib = 1 << 20
	before := e.attr(f)
	e.ok("Deallocate", al.Deallocate(e.ctx, 4*mib+100, mib/2))
	a := e.attr(f)
	if a.Size != 8*mib || a.Used >= before.Used || a.Change == before.Change {
		e.Errorf("after Deallocate: %+v, before %+v", a, before)
	}
	zeros, data := strings.Repeat("\x00", mib/2), strings.Repeat("d", mib/2-100)
	if e.read(f, 4*mib, mib) != strings.Repeat("d", 100)+zeros+data {
		e.Error("Deallocate made a hole of other bytes than asked")
	}
	e.ok("Deallocate within a block", al.Deallocate(e.ctx, 10, 5))
	if got := e.read(f, 8, 10); got != "dd\x00\x00\x00\x00\x00ddd" {
		e.Errorf("a small hole reads %q", got)
	}
	e.ok("Deallocate behind the end", al.Deallocate(e.ctx, 100*mib, mib))
	e.ok("Deallocate over the end", al.Deallocate(e.ctx, 7*mib, 100*mib))
	if a := e.attr(f); a.Size != 8*mib {
		e.Errorf("Deallocate made the size %d", a.Size)
	}
	e.ok("Allocate", al.Allocate(e.ctx, 2*mib, mib))
	a = e.attr(f)
	if a.Size != 8*mib || a.Used < 2*mib {
		e.Errorf("after Allocate: %+v", a)
	}
	if e.read(f, 2*mib, mib) != strings.Repeat("\x00", mib) || e.read(f, 100, 10) != "dddddddddd" {
		e.Error("Allocate changed what is read")
	}
	e.ok("Allocate beyond the end", al.Allocate(e.ctx, 9*mib, mib))
	if a := e.attr(f); a.Size != 10*mib {
		e.Errorf("Allocate beyond the end made the size %d", a.Size)
	}
	for _, r := range [][2]int64{{-1, 1}, {0, -1}, {0, 0}} {
		e.want("Allocate of a bad range", al.Allocate(e.ctx, r[0], r[1]), vfs.ErrInvalid)
		e.want("Deallocate of a bad range", al.Deallocate(e.ctx, r[0], r[1]), vfs.ErrInvalid)
	}
	e.want("Allocate beyond the largest size", al.Allocate(e.ctx, 1<<62, 1<<62), vfs.ErrTooBig, vfs.ErrInvalid)
	r := e.open(n, vfs.OpenRead).(vfs.Allocator)
	if r.Allocate(e.ctx, 0, 1) == nil || r.Deallocate(e.ctx, 0, 1) == nil {
		e.Error("allocated in a file opened for reading")
	}
}
