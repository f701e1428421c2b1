package vfstest

import (
	"bytes"
	"math"
	"strings"

	"fileserver/vfs"
)

func testReadWrite(e *env) {
	n := e.create(e.root, "f", 0o644)
	f := e.open(n, vfs.OpenRead|vfs.OpenWrite)
	read := func(off int64, size int, want string, wantEOF bool) {
		e.Helper()
		b := bytes.Repeat([]byte{0xee}, size)
		got, eof, err := f.ReadAt(e.ctx, b, off)
		if err != nil || string(b[:got]) != want || eof != wantEOF {
			e.Fatalf("ReadAt(%d bytes at %d) = %q, eof %v, %v; want %q, eof %v", size, off, b[:got], eof, err, want, wantEOF)
		}
	}
	read(0, 10, "", true)
	read(0, 0, "", true)
	read(100, 10, "", true)
	e.write(f, "0123456789", 0)
	read(0, 10, "0123456789", true)
	read(0, 5, "01234", false)
	read(5, 5, "56789", true)
	read(5, 6, "56789", true)
	read(9, 1, "9", true)
	read(10, 1, "", true)
	read(3, 0, "", false)
	read(math.MaxInt64, 1, "", true)
	e.write(f, "", 100) // nothing
	if a := e.attr(f); a.Size != 10 {
		e.Fatalf("writing nothing made the size %d", a.Size)
	}
	e.write(f, "ab", 15)
	read(8, 20, "89\x00\x00\x00\x00\x00ab", true)
	if got, err := f.WriteAt(e.ctx, []byte("x"), -1, vfs.Unstable); got != 0 {
		e.Fatalf("WriteAt(-1): %d", got)
	} else {
		e.want("WriteAt(-1)", err, vfs.ErrInvalid)
	}
	_, _, err := f.ReadAt(e.ctx, make([]byte, 1), -1)
	e.want("ReadAt(-1)", err, vfs.ErrInvalid)
	_, err = f.WriteAt(e.ctx, []byte("xy"), math.MaxInt64, vfs.Unstable)
	e.want("WriteAt(largest offset)", err, vfs.ErrTooBig, vfs.ErrInvalid)

	e.sub("Access", func(e *env) {
		r, w := e.open(n, vfs.OpenRead), e.open(n, vfs.OpenWrite)
		if _, err := r.WriteAt(e.ctx, []byte("x"), 0, vfs.Unstable); err == nil {
			e.Error("wrote to a file opened for reading")
		}
		if _, _, err := w.ReadAt(e.ctx, make([]byte, 1), 0); err == nil {
			e.Error("read from a file opened for writing")
		}
		e.write(w, "X", 0)
		if got := e.read(r, 0, 2); got != "X1" {
			e.Errorf("another open reads %q", got)
		}
		e.ok("Commit of a file opened for reading", r.Commit(e.ctx, 0, 0))
		_, err := n.Open(e.ctx, e.c, 0)
		e.want("Open for nothing", err, vfs.ErrInvalid)
	})
	e.sub("Unaligned", func(e *env) { testUnaligned(e) })
	e.sub("Offsets", func(e *env) { testOffsets(e) })
}

// testUnaligned writes and reads all lengths around the sizes that storage knows, at odd offsets.
func testUnaligned(e *env) {
	f := e.open(e.create(e.root, "unaligned", 0o644), vfs.OpenRead|vfs.OpenWrite)
	const room = 300 << 10
	model := make([]byte, room)
	size := 0
	buf := make([]byte, room)
	seed := byte(0)
	for _, base := range []int{1, 511, 512, 4096, 8192, 65536, 256 << 10} {
		for _, d := range []int{-1, 0, 1, 7} {
			for _, off := range []int{0, 1, 3, 511, 4095, 4097, 8191} {
				n := max(base+d, 1)
				if off+n > room {
					continue
				}
				seed++
				p := buf[:n]
				for i := range p {
					p[i] = seed + byte(i%251)
				}
				e.write(f, string(p), int64(off))
				copy(model[off:], p)
				size = max(size, off+n)
				from := max(off-2, 0)
				want := model[from:min(off+n+3, size)]
				if got := e.read(f, int64(from), n+5); got[:len(want)] != string(want) {
					e.Fatalf("after a write of %d bytes at %d other bytes are read", n, off)
				}
			}
		}
	}
	if got := e.read(f, 0, room); got != string(model[:size]) {
		e.Fatal("the file differs from what was written")
	}
}

// testOffsets writes beyond 2 and 4 GiB, and farther.
func testOffsets(e *env) {
	n := e.create(e.root, "offsets", 0o644)
	f := e.open(n, vfs.OpenRead|vfs.OpenWrite)
	last := int64(0)
	for _, off := range []int64{1<<31 - 3, 1<<32 - 3, 1<<32 + 50, e.opt.MaxOffset - 8} {
		p := strings.Repeat("p", 8)
		e.write(f, p, off)
		if got := e.read(f, off-2, 20); got != "\x00\x00"+p {
			e.Fatalf("at %d: %q", off, got)
		}
		last = off + 8
		if a := e.attr(f); a.Size != uint64(last) {
			e.Fatalf("size is %d, want %d", a.Size, last)
		}
	}
	if a := e.attr(f); a.Used > 10<<20 {
		e.Errorf("a sparse file uses %d bytes", a.Used)
	}
	e.truncate(n, 1<<32+1)
	if got := e.read(f, 1<<32-4, 20); got != "\x00pppp" {
		e.Fatalf("after truncation: %q", got)
	}
	e.truncate(n, 0)
}

func testStability(e *env) {
	f := e.open(e.create(e.root, "f", 0o644), vfs.OpenRead|vfs.OpenWrite)
	for i, s := range []vfs.Stability{vfs.Unstable, vfs.DataSync, vfs.FileSync} {
		if n, err := f.WriteAt(e.ctx, []byte("abc"), int64(i)*3, s); n != 3 || err != nil {
			e.Fatalf("WriteAt with stability %d: %d, %v", s, n, err)
		}
	}
	for _, r := range [][2]int64{{0, 0}, {0, 3}, {5, 1}, {100, 100}, {4, 0}, {0, math.MaxInt64}} {
		if err := f.Commit(e.ctx, r[0], r[1]); err != nil {
			e.Fatalf("Commit%v: %v", r, err)
		}
	}
	e.want("Commit(-1)", f.Commit(e.ctx, -1, 1), vfs.ErrInvalid)
	e.want("Commit of -1 bytes", f.Commit(e.ctx, 0, -1), vfs.ErrInvalid)
	if got := e.read(f, 0, 20); got != "abcabcabc" {
		e.Fatalf("read %q", got)
	}
}
