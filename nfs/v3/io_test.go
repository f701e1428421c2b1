package v3_test

import (
	"bytes"
	"context"
	"testing"

	"fileserver/nfs"
	"fileserver/nfs/rpc"
	v3 "fileserver/nfs/v3"
	"fileserver/nfs/xdr"
	"fileserver/vfs"
	"fileserver/vfs/vfstest/mem"
)

func TestReadWrite(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	h := w.file("f")
	all := data(200_000)
	for _, how := range []v3.StableHow{v3.Unstable, v3.DataSync, v3.FileSync} {
		for off := 0; off < len(all); {
			n := min(len(all)-off, 1+off/3)
			res := w.write(h, uint64(off), all[off:off+n], how)
			w.want(res.Status, v3.OK)
			if res.Count != uint32(n) || res.Committed != how || res.Verf != w.verifier.Current() || res.Wcc.Before.Present || !res.Wcc.After.Present {
				t.Fatalf("%+v", res)
			}
			off += n
		}
		if res := w.read(h, 0, 1<<20); !bytes.Equal(res.Data, all) || !res.EOF || res.Count != uint32(len(all)) || res.Attr.Attr != w.attr(h) {
			t.Fatalf("%d bytes, eof %v", res.Count, res.EOF)
		}
		w.want(w.setattr(h, v3.SetAttr{Size: p(uint64(0))}, nil).Status, v3.OK)
	}
}

func TestReadEdges(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	h, size := w.file("f"), 10_001
	all := data(size)
	w.write(h, 0, all, v3.Unstable)
	for _, tt := range []struct {
		off uint64
		n   uint32
		got int
		eof bool
	}{
		{0, 0, 0, false}, {0, 1, 1, false}, {0, 10_000, 10_000, false}, {0, 10_001, 10_001, true}, {0, 10_002, 10_001, true},
		{10_000, 1, 1, true}, {10_000, 100, 1, true}, {9_998, 2, 2, false}, {10_001, 10, 0, true}, {10_001, 0, 0, true},
		{1 << 40, 10, 0, true}, {1<<63 - 1, 10, 0, true}, {1 << 63, 10, 0, true}, {^uint64(0), 1 << 31, 0, true}, {0, ^uint32(0), size, true},
	} {
		res := w.read(h, tt.off, tt.n)
		if res.Status != v3.OK || int(res.Count) != tt.got || res.EOF != tt.eof || !bytes.Equal(res.Data, all[min(int(min(tt.off, 1<<20)), size):][:tt.got]) {
			t.Errorf("READ %d at %d: %v, %d bytes, eof %v", tt.n, tt.off, res.Status, res.Count, res.EOF)
		}
	}
	d := w.dir("d")
	w.want(w.read(d, 0, 1).Status, v3.ErrIsDir)
	w.want(w.write(d, 0, data(1), v3.Unstable).Status, v3.ErrIsDir)
	fifo := w.mknod("fifo", v3.TypeFIFO)
	w.want(w.read(fifo, 0, 1).Status, v3.ErrInval)
	w.want(w.write(fifo, 0, data(1), v3.Unstable).Status, v3.ErrInval)
}

// TestReadLimits: a READ returns no more than the transport can take back, and that is no error.
func TestReadLimits(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	h := w.file("f")
	all := data(2 << 20)
	w.write(h, 0, all[:1<<20], v3.Unstable)
	w.write(h, 1<<20, all[1<<20:], v3.Unstable)
	if res := w.read(h, 0, 2<<20); res.Count != 1<<20 || res.EOF { // rtmax
		t.Errorf("%d bytes, eof %v", res.Count, res.EOF)
	}
	for _, inline := range []int{4000, 1024, 200} {
		small := w.as(func(u *user) { u.limits.Inline = inline })
		res := small.read(h, 100, 1<<20)
		if want := (inline - 24 - 104) &^ 3; int(res.Count) != want || res.EOF || !bytes.Equal(res.Data, all[100:100+want]) {
			t.Errorf("inline %d: %d bytes, want %d", inline, res.Count, want)
		}
	}
	for _, place := range []int{0, 1, 4096, 5001} {
		placed := w.as(func(u *user) { u.limits = rpc.Limits{Inline: 1000, Payloads: []int{place}} })
		var r rpc.Reply
		_, b := placed.serve(placed.message(placed.xid.Add(1), v3.ProcRead, &v3.ReadArgs{File: h, Offset: 7, Count: 1 << 20}), &r)
		d := xdr.NewDecoder(b)
		var res v3.ReadRes
		res.Decode(&d)
		if int(res.Count) != place || !bytes.Equal(res.Data, all[7:7+place]) || len(r.Head) > 1000 {
			t.Errorf("place of %d: %d bytes", place, res.Count)
		}
		if place > 0 && (len(r.Payloads) != 1 || !r.Payloads[0].Placeable || r.Payloads[0].Len != place) {
			t.Errorf("place of %d: payloads %+v", place, r.Payloads)
		}
		r.ReleasePayloads()
	}
}

func TestWriteEdges(t *testing.T) {
	w := newWorld(t, mem.Options{MaxBytes: 1 << 20, MaxFileSize: 1 << 30}, nil)
	h := w.file("f")
	for _, tt := range []struct {
		off  uint64
		n    int
		want v3.Status
	}{
		{0, 0, v3.OK}, {1<<30 - 1, 1, v3.OK}, {1 << 30, 1, v3.ErrFBig}, {1<<63 - 1, 1, v3.ErrFBig}, {1<<63 - 2, 1, v3.ErrFBig},
		{1 << 63, 1, v3.ErrFBig}, {^uint64(0), 1, v3.ErrFBig}, {^uint64(0), 0, v3.ErrFBig},
	} {
		if res := w.write(h, tt.off, data(tt.n), v3.Unstable); res.Status != tt.want || !res.Wcc.After.Present {
			t.Errorf("WRITE of %d at %d: %v, want %v", tt.n, tt.off, res.Status, tt.want)
		}
	}
	// What there is room for is written, and the next WRITE fails.
	g := w.file("g")
	res := w.write(g, 0, data(1<<20), v3.Unstable)
	if res.Status != v3.OK || res.Count == 0 || res.Count >= 1<<20 {
		t.Errorf("%v, %d bytes", res.Status, res.Count)
	}
	w.want(w.write(g, uint64(res.Count), data(1<<20-int(res.Count)), v3.Unstable).Status, v3.ErrNoSpc)
}

// TestWriteCount: the count says how much of the data is meant.
func TestWriteCount(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	h := w.file("f")
	var res v3.WriteRes
	w.call(v3.ProcWrite, &v3.WriteArgs{File: h, Count: 3, Data: []byte("abcdef")}, &res)
	if res.Count != 3 || w.attr(h).Size != 3 {
		t.Errorf("%+v", res)
	}
	for name, a := range map[string]*v3.WriteArgs{
		"count over data": {File: h, Count: 7, Data: []byte("abcdef")},
		"stable_how":      {File: h, Count: 6, Stable: 3, Data: []byte("abcdef")},
	} {
		var r rpc.Reply
		if stat, _ := w.serve(w.message(w.xid.Add(1), v3.ProcWrite, a), &r); stat != rpc.GarbageArgs {
			t.Errorf("%s: %v", name, stat)
		}
	}
	w.call(v3.ProcWrite, &v3.WriteArgs{File: h, Count: 2 << 20, Data: data(2 << 20)}, &res)
	if res.Count != 1<<20 { // wtmax
		t.Errorf("%d bytes", res.Count)
	}
}

// TestWriteChunk: the data of a WRITE may come beside the message.
func TestWriteChunk(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	h := w.file("f")
	buf, err := w.pool.Get(context.Background(), 10_003)
	if err != nil {
		t.Fatal(err)
	}
	defer buf.Release()
	copy(buf.Bytes(), data(10_003))
	head := (&v3.WriteArgs{File: h, Count: 10_003, Data: buf.Bytes()}).AppendHead(w.message(1, v3.ProcWrite, nothing{}))
	c := &rpc.Call{
		Conn: w.user.conn, Buffers: w.pool, Limits: w.user.limits,
		Message: xdr.NewChunkedDecoder(head, nil, []xdr.Chunk{{Pos: uint32(len(head)), Data: buf.Bytes(), Buf: buf}}),
	}
	var r rpc.Reply
	if !w.rpc.Serve(context.Background(), c, &r) || r.Head[23] != 0 || r.Head[27] != 0 {
		t.Fatalf("%x", r.Head)
	}
	if res := w.read(h, 0, 1<<20); !bytes.Equal(res.Data, data(10_003)) {
		t.Fatal("differs")
	}
}

type nothing struct{}

func (nothing) Append(b []byte) []byte { return b }

// TestOwner: the owner reads and writes whatever the mode says, as a process that has the file open may.
func TestOwner(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	h := w.file("f")
	w.want(w.setattr(h, mode(0), nil).Status, v3.OK)
	w.want(w.write(h, 0, data(10), v3.Unstable).Status, v3.OK)
	w.want(w.read(h, 0, 10).Status, v3.OK)
	other := w.asUser(2000)
	w.want(other.write(h, 0, data(10), v3.Unstable).Status, v3.ErrAcces)
	w.want(other.read(h, 0, 10).Status, v3.ErrAcces)
	// Who may execute a file may read it, or could not execute it.
	w.want(w.setattr(h, mode(0o711), nil).Status, v3.OK)
	w.want(other.read(h, 0, 10).Status, v3.OK)
	w.want(other.write(h, 0, data(10), v3.Unstable).Status, v3.ErrAcces)
}

func (w *world) commit(h v3.Handle, off uint64, n uint32) v3.CommitRes {
	w.t.Helper()
	var res v3.CommitRes
	w.call(v3.ProcCommit, &v3.CommitArgs{File: h, Offset: off, Count: n}, &res)
	return res
}

// TestStability: what was stable, or committed, is there after a crash; the rest may be lost.
func TestStability(t *testing.T) {
	w := newWorld(t, mem.Options{Crashable: true}, nil)
	contents := map[string][]byte{}
	for name, how := range map[string]v3.StableHow{"unstable": v3.Unstable, "committed": v3.Unstable, "all": v3.Unstable, "data": v3.DataSync, "file": v3.FileSync} {
		h := w.file(name)
		res := w.write(h, 0, data(5000), how)
		w.want(res.Status, v3.OK)
		contents[name] = data(5000)
		switch name {
		case "unstable":
			contents[name] = nil
		case "committed":
			if c := w.commit(h, 0, 5000); c.Status != v3.OK || c.Verf != res.Verf || !c.Wcc.After.Present {
				t.Fatalf("%+v", c)
			}
		case "all":
			if c := w.commit(h, ^uint64(0), 1); c.Status != v3.OK {
				t.Fatalf("%+v", c)
			}
		}
	}
	crashed := w.fs.Crash(func() bool { return false })
	x := *w.export
	x.FS = crashed
	w.exports.Replace([]*nfs.Export{&x})
	for name, want := range contents {
		if got := w.read(w.lookup(w.root, name).Object, 0, 1<<20); !bytes.Equal(bytes.TrimRight(got.Data, "\x00"), bytes.TrimRight(want, "\x00")) {
			t.Errorf("%s: %d bytes", name, len(got.Data))
		}
	}
	if n, f := crashed.Outstanding(); n != 0 || f != 0 {
		t.Errorf("%d nodes and %d files were not released", n, f)
	}
}

func TestCommitRefused(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	h := w.file("f")
	w.want(w.commit(w.dir("d"), 0, 0).Status, v3.ErrIsDir)
	w.want(w.setattr(h, mode(0o444), nil).Status, v3.OK)
	w.want(w.asUser(2000).commit(h, 0, 0).Status, v3.OK) // it may have lost the right to write since
	w.want(w.setattr(h, mode(0), nil).Status, v3.OK)
	w.want(w.asUser(2000).commit(h, 0, 0).Status, v3.ErrAcces)
}

// TestVerifier: it changes when a COMMIT fails, and with the backend's count of errors.
func TestVerifier(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	h := w.file("f")
	v := w.write(h, 0, data(1), v3.Unstable).Verf
	w.fs.SetHook(failing(mem.OpCommit))
	w.want(w.commit(h, 0, 0).Status, v3.ErrIO)
	w.fs.SetHook(nil)
	res := w.commit(h, 0, 0)
	w.want(res.Status, v3.OK)
	if res.Verf == v {
		t.Fatal("the verifier is the same after a COMMIT failed")
	}
	counting := &countingFS{FS: w.fs}
	x := *w.export
	x.FS = counting
	w.exports.Replace([]*nfs.Export{&x})
	v = w.commit(h, 0, 0).Verf
	if again := w.commit(h, 0, 0).Verf; again != v {
		t.Fatal("the verifier changes without reason")
	}
	counting.errors++
	if again := w.write(h, 0, data(1), v3.Unstable).Verf; again == v {
		t.Fatal("the verifier is the same after the backend lost data")
	}
	if nfs.NewWriteVerifier(w.exports).Current() == w.verifier.Current() {
		t.Fatal("the verifier is the same after a restart")
	}
}

type countingFS struct {
	vfs.FS
	errors uint64
}

func (c *countingFS) WriteErrors() uint64 { return c.errors }
