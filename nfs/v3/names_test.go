package v3_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"fileserver/nfs"
	"fileserver/nfs/rpc"
	v3 "fileserver/nfs/v3"
	"fileserver/vfs"
	"fileserver/vfs/vfstest/mem"
)

// failing is a hook that fails some calls.
func failing(ops ...mem.Op) mem.Hook {
	return func(_ context.Context, op mem.Op, _ vfs.Handle) error {
		if slices.Contains(ops, op) {
			return vfs.ErrIO
		}
		return nil
	}
}

func (w *world) mknod(name string, typ v3.FileType) v3.Handle {
	w.t.Helper()
	var res v3.CreateRes
	w.call(v3.ProcMknod, &v3.MknodArgs{Where: v3.DirOp{Dir: w.root, Name: name}, Type: typ, Attr: mode(0o600), Dev: vfs.Dev{Major: 1, Minor: 3}}, &res)
	w.want(res.Status, v3.OK)
	return res.Object
}

func (w *world) symlink(name, path string) v3.CreateRes {
	w.t.Helper()
	var res v3.CreateRes
	w.call(v3.ProcSymlink, &v3.SymlinkArgs{Where: v3.DirOp{Dir: w.root, Name: name}, Attr: mode(0o777), Path: path}, &res)
	return res
}

// TestCreateResults: all that make an object return its handle, its attributes, and how the directory changed.
func TestCreateResults(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	root := w.as(func(u *user) { u.uid = 0 })
	w.export.Squash = nfs.SquashNone // devices are for root
	for name, tt := range map[string]struct {
		proc uint32
		a    args
		typ  v3.FileType
		mode uint32
	}{
		"file":      {v3.ProcCreate, &v3.CreateArgs{Where: v3.DirOp{Dir: w.root, Name: "file"}, Mode: v3.Guarded, Attr: mode(0o640)}, v3.TypeReg, 0o640},
		"unchecked": {v3.ProcCreate, &v3.CreateArgs{Where: v3.DirOp{Dir: w.root, Name: "unchecked"}, Attr: mode(0o600)}, v3.TypeReg, 0o600},
		"dir":       {v3.ProcMkdir, &v3.MkdirArgs{Where: v3.DirOp{Dir: w.root, Name: "dir"}, Attr: mode(0o750)}, v3.TypeDir, 0o750},
		"symlink":   {v3.ProcSymlink, &v3.SymlinkArgs{Where: v3.DirOp{Dir: w.root, Name: "symlink"}, Path: "a"}, v3.TypeLnk, 0o777},
		"fifo":      {v3.ProcMknod, &v3.MknodArgs{Where: v3.DirOp{Dir: w.root, Name: "fifo"}, Type: v3.TypeFIFO, Attr: mode(0o600)}, v3.TypeFIFO, 0o600},
		"socket":    {v3.ProcMknod, &v3.MknodArgs{Where: v3.DirOp{Dir: w.root, Name: "socket"}, Type: v3.TypeSock, Attr: mode(0o600)}, v3.TypeSock, 0o600},
		"char":      {v3.ProcMknod, &v3.MknodArgs{Where: v3.DirOp{Dir: w.root, Name: "char"}, Type: v3.TypeChr, Attr: mode(0o600), Dev: vfs.Dev{Major: 1, Minor: 3}}, v3.TypeChr, 0o600},
		"block":     {v3.ProcMknod, &v3.MknodArgs{Where: v3.DirOp{Dir: w.root, Name: "block"}, Type: v3.TypeBlk, Attr: mode(0o600), Dev: vfs.Dev{Major: 8, Minor: 0}}, v3.TypeBlk, 0o600},
	} {
		before := root.attr(w.root)
		var res v3.CreateRes
		root.call(tt.proc, tt.a, &res)
		if res.Status != v3.OK || !res.Attr.Present || res.Attr.Attr.Type != tt.typ || res.Attr.Attr.Mode != tt.mode {
			t.Errorf("%s: %+v", name, res)
			continue
		}
		if res.Attr.Attr != root.attr(res.Object) {
			t.Errorf("%s: attributes are of something else", name)
		}
		w.wantWcc(res.Dir, before, w.root)
		var again v3.CreateRes
		root.call(tt.proc, tt.a, &again)
		if want := v3.ErrExist; name != "unchecked" && again.Status != want {
			t.Errorf("%s again: %v", name, again.Status)
		}
		if name == "unchecked" && (again.Status != v3.OK || string(again.Object) != string(res.Object)) {
			t.Errorf("%s again: %+v", name, again)
		}
	}
	dev := root.attr(root.lookup(w.root, "block").Object)
	if dev.Rdev != (vfs.Dev{Major: 8}) {
		t.Errorf("%+v", dev.Rdev)
	}
}

func TestCreateRefused(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	f := w.file("f")
	closed := w.dir("closed")
	w.want(w.setattr(closed, mode(0o500), nil).Status, v3.OK)
	for _, tt := range []struct {
		dir  v3.Handle
		name string
		want v3.Status
	}{
		{w.root, "", v3.ErrInval}, {w.root, ".", v3.ErrExist}, {w.root, "..", v3.ErrExist}, {w.root, "a/b", v3.ErrInval},
		{w.root, strings.Repeat("n", 256), v3.ErrNameTooLong}, {f, "x", v3.ErrNotDir}, {closed, "x", v3.ErrAcces},
	} {
		d := v3.DirOp{Dir: tt.dir, Name: tt.name}
		for proc, a := range map[uint32]args{
			v3.ProcCreate: &v3.CreateArgs{Where: d, Mode: v3.Guarded}, v3.ProcMkdir: &v3.MkdirArgs{Where: d},
			v3.ProcSymlink: &v3.SymlinkArgs{Where: d, Path: "p"}, v3.ProcMknod: &v3.MknodArgs{Where: d, Type: v3.TypeFIFO},
		} {
			var res v3.CreateRes
			w.call(proc, a, &res)
			if res.Status != tt.want || !res.Dir.After.Present {
				t.Errorf("procedure %d of %q: %v, want %v", proc, tt.name, res.Status, tt.want)
			}
		}
	}
	d := v3.DirOp{Dir: w.root, Name: "new"}
	w.want(w.status(v3.ProcMknod, &v3.MknodArgs{Where: d, Type: v3.TypeReg}), v3.ErrBadType)
	w.want(w.status(v3.ProcMknod, &v3.MknodArgs{Where: d, Type: 99}), v3.ErrBadType)
	w.want(w.status(v3.ProcMknod, &v3.MknodArgs{Where: d, Type: v3.TypeChr}), v3.ErrPerm)
	w.want(w.status(v3.ProcCreate, &v3.CreateArgs{Where: d, Attr: v3.SetAttr{Size: p(uint64(1) << 63)}}), v3.ErrFBig)
	w.want(w.status(v3.ProcSymlink, &v3.SymlinkArgs{Where: d, Path: strings.Repeat("p", 5000)}), v3.ErrNameTooLong)
	w.want(w.lookup(w.root, "new").Status, v3.ErrNoEnt)
}

func TestCreateUncheckedExisting(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	h := w.file("f")
	w.write(h, 0, data(100), v3.Unstable)
	w.want(w.create(w.root, "f", v3.Unchecked, mode(0o777), [8]byte{}).Status, v3.OK)
	if a := w.attr(h); a.Size != 100 || a.Mode != 0o644 {
		t.Errorf("changed: %+v", a)
	}
	res := w.create(w.root, "f", v3.Unchecked, v3.SetAttr{Size: p(uint64(0))}, [8]byte{})
	if res.Status != v3.OK || string(res.Object) != string(h) || res.Attr.Attr.Size != 0 {
		t.Errorf("%+v", res)
	}
	w.write(h, 0, data(100), v3.Unstable)
	w.want(w.asUser(2000).create(w.root, "f", v3.Unchecked, v3.SetAttr{Size: p(uint64(0))}, [8]byte{}).Status, v3.ErrAcces)
	if w.attr(h).Size != 100 {
		t.Error("truncated by somebody who may not")
	}
	w.dir("d")
	w.want(w.create(w.root, "d", v3.Unchecked, mode(0o600), [8]byte{}).Status, v3.ErrExist)
}

func TestCreateExclusive(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	verf := [8]byte{0xff, 1, 2, 3, 0x80, 5, 6, 7}
	first := w.create(w.root, "f", v3.Exclusive, v3.SetAttr{}, verf)
	w.want(first.Status, v3.OK)
	again := w.create(w.root, "f", v3.Exclusive, v3.SetAttr{}, verf) // another xid: not from the cache
	w.want(again.Status, v3.OK)
	if string(first.Object) != string(again.Object) {
		t.Fatal("another file")
	}
	for i := range verf {
		other := verf
		other[i] ^= 1
		w.want(w.create(w.root, "f", v3.Exclusive, v3.SetAttr{}, other).Status, v3.ErrExist)
	}
	w.want(w.write(first.Object, 0, data(1), v3.Unstable).Status, v3.OK)
	w.want(w.create(w.root, "f", v3.Exclusive, v3.SetAttr{}, verf).Status, v3.ErrExist)
	w.dir("d")
	w.want(w.create(w.root, "d", v3.Exclusive, v3.SetAttr{}, verf).Status, v3.ErrExist)
}

func TestReadlink(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	for i, path := range []string{"a", "../x/y", strings.Repeat("long/", 800), "\xff\xfe"} {
		link := w.symlink(name(i), path)
		w.want(link.Status, v3.OK)
		var res v3.ReadlinkRes
		w.call(v3.ProcReadlink, &v3.ReadlinkArgs{Symlink: link.Object}, &res)
		if res.Status != v3.OK || res.Path != path || res.Attr.Attr.Type != v3.TypeLnk {
			t.Errorf("%+v", res)
		}
		// In the place the client provides, if it is large enough.
		for _, place := range []int{len(path), len(path) - 1} {
			placed := w.as(func(u *user) { u.limits.Payloads = []int{place} })
			placed.call(v3.ProcReadlink, &v3.ReadlinkArgs{Symlink: link.Object}, &res)
			if res.Path != path {
				t.Errorf("place of %d: %q", place, res.Path)
			}
		}
	}
	w.want(w.status(v3.ProcReadlink, &v3.ReadlinkArgs{Symlink: w.root}), v3.ErrInval)
	w.want(w.symlink("empty", "").Status, v3.ErrInval)
}

func TestRemove(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	w.file("f")
	d := w.dir("d")
	w.mkdir(d, "inner")
	for _, tt := range []struct {
		proc uint32
		name string
		want v3.Status
	}{
		{v3.ProcRemove, "none", v3.ErrNoEnt}, {v3.ProcRemove, "d", v3.ErrIsDir}, {v3.ProcRemove, ".", v3.ErrInval}, {v3.ProcRemove, "..", v3.ErrInval},
		{v3.ProcRmdir, "none", v3.ErrNoEnt}, {v3.ProcRmdir, "f", v3.ErrNotDir}, {v3.ProcRmdir, ".", v3.ErrInval}, {v3.ProcRmdir, "..", v3.ErrExist},
		{v3.ProcRmdir, "d", v3.ErrNotEmpty}, {v3.ProcRemove, "f", v3.OK}, {v3.ProcRemove, "f", v3.ErrNoEnt},
	} {
		before := w.attr(w.root)
		res := w.remove(tt.proc, w.root, tt.name)
		if res.Status != tt.want || !res.Wcc.After.Present {
			t.Errorf("procedure %d of %q: %v, want %v", tt.proc, tt.name, res.Status, tt.want)
		}
		if tt.want == v3.OK {
			w.wantWcc(res.Wcc, before, w.root)
		}
	}
	w.want(w.remove(v3.ProcRmdir, d, "inner").Status, v3.OK)
	w.want(w.remove(v3.ProcRmdir, w.root, "d").Status, v3.OK)
}

func (w *world) rename(from v3.Handle, a string, to v3.Handle, b string) v3.RenameRes {
	w.t.Helper()
	var res v3.RenameRes
	w.call(v3.ProcRename, &v3.RenameArgs{From: v3.DirOp{Dir: from, Name: a}, To: v3.DirOp{Dir: to, Name: b}}, &res)
	return res
}

func TestRename(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	f, d := w.file("f"), w.dir("d")
	w.file("g")
	before := w.attr(w.root)
	res := w.rename(w.root, "f", w.root, "f2")
	w.want(res.Status, v3.OK)
	w.wantWcc(res.From, before, w.root)
	w.wantWcc(res.To, before, w.root)
	fromBefore, toBefore := w.attr(w.root), w.attr(d)
	res = w.rename(w.root, "f2", d, "f3")
	w.want(res.Status, v3.OK)
	w.wantWcc(res.From, fromBefore, w.root)
	w.wantWcc(res.To, toBefore, d)
	if got := w.lookup(d, "f3"); string(got.Object) != string(f) {
		t.Fatal("the handle does not survive")
	}
	w.want(w.rename(d, "f3", w.root, "g").Status, v3.OK) // replaces
	w.mkdir(d, "inner")
	for _, tt := range []struct {
		a, b string
		want v3.Status
	}{
		{"none", "x", v3.ErrNoEnt}, {".", "x", v3.ErrInval}, {"..", "x", v3.ErrInval}, {"g", ".", v3.ErrInval}, {"g", "..", v3.ErrInval},
		{"g", "d", v3.ErrIsDir}, {"d", "g", v3.ErrNotDir}, {"g", "a/b", v3.ErrInval}, {"g", "", v3.ErrInval}, {"g", "g", v3.OK},
	} {
		if res := w.rename(w.root, tt.a, w.root, tt.b); res.Status != tt.want || !res.To.After.Present || !res.From.After.Present {
			t.Errorf("%q to %q: %v, want %v", tt.a, tt.b, res.Status, tt.want)
		}
	}
	w.want(w.rename(w.root, "d", d, "into itself").Status, v3.ErrInval)
}

func TestLink(t *testing.T) {
	w := newWorld(t, mem.Options{MaxLink: 3}, nil)
	f, d := w.file("f"), w.dir("d")
	link := func(h, dir v3.Handle, name string) v3.LinkRes {
		var res v3.LinkRes
		w.call(v3.ProcLink, &v3.LinkArgs{File: h, Link: v3.DirOp{Dir: dir, Name: name}}, &res)
		return res
	}
	before := w.attr(d)
	res := link(f, d, "f2")
	w.want(res.Status, v3.OK)
	w.wantWcc(res.Dir, before, d)
	if res.File.Attr.Nlink != 2 || string(w.lookup(d, "f2").Object) != string(f) {
		t.Errorf("%+v", res)
	}
	w.want(link(f, w.root, "third").Status, v3.OK)
	for _, tt := range []struct {
		h, dir v3.Handle
		name   string
		want   v3.Status
	}{
		{f, d, "f3", v3.ErrMLink}, {f, d, "f2", v3.ErrExist}, {f, d, ".", v3.ErrExist}, {f, f, "x", v3.ErrNotDir}, {d, d, "x", v3.ErrIsDir},
	} {
		if res := link(tt.h, tt.dir, tt.name); res.Status != tt.want || !res.File.Present || !res.Dir.After.Present {
			t.Errorf("%q: %v, want %v", tt.name, res.Status, tt.want)
		}
	}
}

// TestMetadataIsStable: changes of names are stable when they are answered, whatever the backend promises by itself.
func TestMetadataIsStable(t *testing.T) {
	w := newWorld(t, mem.Options{UnstableMetadata: true}, nil)
	d := w.dir("d")
	w.file("moved")
	w.file("removed")
	w.want(w.rename(w.root, "moved", d, "here").Status, v3.OK)
	w.want(w.remove(v3.ProcRemove, w.root, "removed").Status, v3.OK)
	w.want(w.symlink("s", "x").Status, v3.OK)
	w.mknod("fifo", v3.TypeFIFO)
	w.want(w.status(v3.ProcLink, &v3.LinkArgs{File: w.lookup(d, "here").Object, Link: v3.DirOp{Dir: w.root, Name: "link"}}), v3.OK)
	w.want(w.setattr(d, mode(0o711), nil).Status, v3.OK)
	if !mem.Equal(w.fs, w.fs.Crash(func() bool { return false })) {
		t.Fatal("something is lost in a crash")
	}
	w.fs.SetHook(failing(mem.OpSyncMeta))
	w.want(w.create(w.root, "n", v3.Guarded, mode(0o600), [8]byte{}).Status, v3.ErrIO)
	w.want(w.remove(v3.ProcRemove, w.root, "n").Status, v3.ErrIO)
}

// TestRetransmission: what is not idempotent is answered from the reply cache.
func TestRetransmission(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	w.file("f")
	w.file("g")
	root := func(name string) v3.DirOp { return v3.DirOp{Dir: w.root, Name: name} }
	guard := w.attr(w.file("guarded"))
	for name, c := range map[string]struct {
		proc uint32
		a    args
	}{
		"CREATE": {v3.ProcCreate, &v3.CreateArgs{Where: root("c"), Mode: v3.Guarded, Attr: mode(0o600)}},
		"MKDIR":  {v3.ProcMkdir, &v3.MkdirArgs{Where: root("m"), Attr: mode(0o700)}}, "SYMLINK": {v3.ProcSymlink, &v3.SymlinkArgs{Where: root("s"), Path: "x"}},
		"MKNOD": {v3.ProcMknod, &v3.MknodArgs{Where: root("n"), Type: v3.TypeFIFO}}, "REMOVE": {v3.ProcRemove, &v3.RemoveArgs{Object: root("f")}},
		"RENAME":  {v3.ProcRename, &v3.RenameArgs{From: root("g"), To: root("g2")}},
		"LINK":    {v3.ProcLink, &v3.LinkArgs{File: w.file("linked"), Link: root("l")}},
		"SETATTR": {v3.ProcSetattr, &v3.SetattrArgs{Object: w.lookup(w.root, "guarded").Object, Attr: mode(0o600), Guard: &guard.Ctime}},
	} {
		msg := w.message(w.xid.Add(1), c.proc, c.a)
		var replies [2]string
		for i := range replies {
			u := w.as(func(u *user) { u.conn = &rpc.Conn{ID: uint64(i), RemoteAddr: u.conn.RemoteAddr} })
			var r rpc.Reply
			stat, b := u.serve(msg, &r)
			if replies[i] = string(b); stat != rpc.Success || b[3] != 0 {
				t.Errorf("%s, time %d: %v, status %d", name, i+1, stat, b[3])
			}
		}
		if replies[0] != replies[1] {
			t.Errorf("%s: answered differently", name)
		}
	}
}

// TestDirectoryAttributesAreAtomic: with many changing one directory, what is told before a change is
// what was told after another one, and no two are told the same.
func TestDirectoryAttributesAreAtomic(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	first := w.attr(w.root)
	var mu sync.Mutex
	next := map[v3.Time]v3.Time{} // ctime before to ctime after
	var wg sync.WaitGroup
	for i := range 4 {
		u := w.as(func(u *user) {})
		u.xid.Store(uint32(i) << 16)
		wg.Go(func() {
			for j := range 100 {
				res := u.create(w.root, fmt.Sprint(i, "-", j), v3.Guarded, mode(0o600), [8]byte{})
				mu.Lock()
				next[res.Dir.Before.Ctime] = res.Dir.After.Attr.Ctime
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	at, n := first.Ctime, 0
	for at != w.attr(w.root).Ctime && n < 400 {
		at = next[at]
		n++
	}
	if n != 400 {
		t.Fatalf("the chain of changes breaks after %d", n)
	}
}
