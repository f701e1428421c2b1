package v3_test

import (
	"strings"
	"testing"

	"fileserver/nfs/rpc"
	v3 "fileserver/nfs/v3"
	"fileserver/nfs/xdr"
	"fileserver/vfs/vfstest/mem"
)

func (w *world) readdir(h v3.Handle, cookie uint64, count uint32) v3.ReaddirRes {
	w.t.Helper()
	var res v3.ReaddirRes
	w.call(v3.ProcReaddir, &v3.ReaddirArgs{Dir: h, Cookie: cookie, Count: count}, &res)
	return res
}

func (w *world) readdirplus(h v3.Handle, cookie uint64, dircount, maxcount uint32) v3.ReaddirplusRes {
	w.t.Helper()
	var res v3.ReaddirplusRes
	w.call(v3.ProcReaddirplus, &v3.ReaddirplusArgs{Dir: h, Cookie: cookie, DirCount: dircount, MaxCount: maxcount}, &res)
	return res
}

// fill makes n entries with names of all lengths.
func (w *world) fill(n int) (dir v3.Handle, names map[string]bool) {
	dir, names = w.dir("full"), map[string]bool{".": true, "..": true}
	for i := range n {
		s := name(i) + strings.Repeat("x", i%40)
		w.want(w.create(dir, s, v3.Guarded, mode(0o600), [8]byte{}).Status, v3.OK)
		names[s] = true
	}
	return dir, names
}

// list reads a whole directory by calls of page and checks that every entry comes once.
func (w *world) list(names map[string]bool, page func(cookie uint64) ([]v3.Entry, bool)) (calls int) {
	w.t.Helper()
	seen := map[string]bool{}
	cookie := uint64(0)
	for {
		calls++
		entries, eof := page(cookie)
		for _, e := range entries {
			if seen[e.Name] || !names[e.Name] || e.FileID == 0 || e.Cookie == 0 {
				w.t.Fatalf("entry %+v", e)
			}
			seen[e.Name] = true
			cookie = e.Cookie
		}
		if eof {
			break
		}
		if len(entries) == 0 {
			w.t.Fatal("no entry, and not the end")
		}
	}
	if len(seen) != len(names) {
		w.t.Fatalf("%d of %d entries", len(seen), len(names))
	}
	return calls
}

func TestReaddir(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	dir, names := w.fill(150)
	for _, count := range []uint32{1 << 31, 65536, 4096, 1000, 300} {
		w.list(names, func(cookie uint64) ([]v3.Entry, bool) {
			res := w.readdir(dir, cookie, count)
			w.want(res.Status, v3.OK)
			if n := len(res.Append(nil)) - 4; uint64(n) > uint64(count) {
				t.Fatalf("%d bytes of at most %d", n, count)
			}
			return res.Entries, res.EOF
		})
	}
}

// TestReaddirExact: as many entries as fit are returned, to the byte.
func TestReaddirExact(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	dir, names := w.fill(20)
	res := w.readdir(dir, 0, 1<<20)
	all := uint32(len(res.Append(nil)) - 4)
	if got := w.readdir(dir, 0, all); len(got.Entries) != len(names) || !got.EOF {
		t.Errorf("%d bytes: %d entries, eof %v", all, len(got.Entries), got.EOF)
	}
	for n := range uint32(len(names)) {
		part := v3.ReaddirRes{Dir: res.Dir, Entries: res.Entries[:n]}
		size := uint32(len(part.Append(nil)) - 4)
		for _, tt := range []struct {
			count uint32
			want  int
		}{{size, int(n)}, {size - 1, int(n) - 1}} {
			got := w.readdir(dir, 0, tt.count)
			if tt.want <= 0 {
				w.want(got.Status, v3.ErrTooSmall)
			} else if len(got.Entries) != tt.want || got.EOF {
				t.Errorf("count %d: %d entries, want %d", tt.count, len(got.Entries), tt.want)
			}
		}
	}
	for _, count := range []uint32{0, 1, 8, 100} {
		w.want(w.readdir(dir, 0, count).Status, v3.ErrTooSmall)
	}
}

func TestReaddirplus(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	dir, names := w.fill(150)
	for _, tt := range []struct{ dircount, maxcount uint32 }{{1 << 31, 1 << 31}, {4096, 32768}, {512, 8192}, {1 << 20, 2000}, {1, 32768}, {0, 1000}} {
		calls := w.list(names, func(cookie uint64) ([]v3.Entry, bool) {
			res := w.readdirplus(dir, cookie, tt.dircount, tt.maxcount)
			w.want(res.Status, v3.OK)
			if n := len(res.Append(nil)) - 4; uint64(n) > uint64(tt.maxcount) {
				t.Fatalf("%d bytes of at most %d", n, tt.maxcount)
			}
			short := v3.ReaddirRes{Entries: res.Entries}
			if n := len(short.Append(nil)) - 4 - 4 - 8 - 8; len(res.Entries) > 1 && uint64(n) > uint64(tt.dircount) {
				t.Fatalf("%d bytes of names of at most %d", n, tt.dircount)
			}
			for _, e := range res.Entries {
				want := dir
				switch e.Name {
				case ".":
				case "..":
					want = w.root
				default:
					want = w.lookup(dir, e.Name).Object
				}
				if string(e.Object) != string(want) || !e.Attr.Present || e.Attr.Attr != w.attr(want) || e.FileID != e.Attr.Attr.FileID {
					t.Fatalf("%+v", e)
				}
			}
			return res.Entries, res.EOF
		})
		if tt.dircount <= 1 && calls < 150 {
			t.Errorf("%d calls", calls)
		}
	}
	w.want(w.readdirplus(dir, 0, 4096, 200).Status, v3.ErrTooSmall)
}

// TestReaddirTransport: no more is returned than the transport takes back, whatever the client asks for.
func TestReaddirTransport(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	dir, names := w.fill(100)
	for _, inline := range []int{600, 1024, 4000} {
		small := w.as(func(u *user) { u.limits.Inline = inline })
		small.list(names, func(cookie uint64) ([]v3.Entry, bool) {
			res := small.readdir(dir, cookie, 1<<20)
			w.want(res.Status, v3.OK)
			return res.Entries, res.EOF
		})
		small.list(names, func(cookie uint64) ([]v3.Entry, bool) {
			res := small.readdirplus(dir, cookie, 1<<20, 1<<20)
			w.want(res.Status, v3.OK)
			return res.Entries, res.EOF
		})
	}
}

func TestReaddirEdges(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	empty := w.dir("empty")
	res := w.readdir(empty, 0, 4096)
	if len(res.Entries) != 2 || res.Entries[0].Name != "." || res.Entries[1].Name != ".." || !res.EOF || !res.Dir.Present ||
		res.Entries[0].FileID != w.attr(empty).FileID || res.Entries[1].FileID != w.attr(w.root).FileID {
		t.Errorf("%+v", res)
	}
	if res := w.readdir(empty, res.Entries[0].Cookie, 4096); len(res.Entries) != 1 || res.Entries[0].Name != ".." || !res.EOF {
		t.Errorf("%+v", res)
	}
	if res := w.readdir(empty, res.Entries[1].Cookie, 4096); res.Status != v3.OK || len(res.Entries) != 0 || !res.EOF {
		t.Errorf("%+v", res)
	}
	if res := w.readdir(w.root, 0, 4096); res.Entries[1].FileID != w.attr(w.root).FileID {
		t.Error("the root has something above it")
	}
	w.want(w.readdir(empty, 1<<60, 4096).Status, v3.ErrBadCookie)
	w.want(w.readdir(w.file("f"), 0, 4096).Status, v3.ErrNotDir)
	w.want(w.setattr(empty, mode(0o300), nil).Status, v3.OK)
	w.want(w.readdir(empty, 0, 4096).Status, v3.ErrAcces)
	// Who may read and not search a directory sees names, and nothing of what they stand for.
	w.want(w.setattr(empty, mode(0o700), nil).Status, v3.OK)
	w.want(w.create(empty, "f", v3.Guarded, mode(0o600), [8]byte{}).Status, v3.OK)
	w.want(w.setattr(empty, mode(0o400), nil).Status, v3.OK)
	plus := w.readdirplus(empty, 0, 4096, 4096)
	if len(plus.Entries) != 3 {
		t.Fatalf("%+v", plus)
	}
	if e := plus.Entries[1]; e.Name != ".." || e.FileID == 0 || e.Attr.Present || e.Object != nil {
		t.Errorf("%+v", e)
	}
	if e := plus.Entries[2]; e.Name != "f" || e.Attr.Present || e.Object != nil {
		t.Errorf("%+v", e)
	}
}

// TestReaddirWhileChanging: entries that are there all the time come once.
func TestReaddirWhileChanging(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	dir, names := w.fill(60)
	i := 0
	seen := map[string]bool{}
	for cookie := uint64(0); ; {
		res := w.readdir(dir, cookie, 400)
		w.want(res.Status, v3.OK)
		for _, e := range res.Entries {
			if seen[e.Name] {
				t.Fatalf("%s comes twice", e.Name)
			}
			seen[e.Name] = true
			cookie = e.Cookie
		}
		if res.EOF {
			break
		}
		last := res.Entries[len(res.Entries)-1].Name
		if last != ".." {
			w.want(w.remove(v3.ProcRemove, dir, last).Status, v3.OK) // where the next call goes on
		}
		if i++; i < 40 {
			w.want(w.create(dir, "new"+name(i), v3.Guarded, mode(0o600), [8]byte{}).Status, v3.OK)
		}
	}
	for n := range names {
		if !seen[n] {
			t.Errorf("%s did not come", n)
		}
	}
}

// FuzzServe: whatever the arguments of any procedure, there is one well-formed reply, and nothing leaks.
func FuzzServe(f *testing.F) {
	w := newWorld(f, mem.Options{}, nil)
	calls, _ := everyProcedure(w.root)
	for proc, a := range calls {
		f.Add(proc, a.Append(nil))
	}
	f.Fuzz(func(t *testing.T, proc uint32, b []byte) {
		w := newWorld(t, mem.Options{MaxBytes: 1 << 24, MaxFileSize: 1 << 40}, nil)
		if len(b) > 4+len(w.root) { // the handles are random: let the first be right
			copy(b[4:], w.root)
			xdr.PutUint32(b, 0, uint32(len(w.root)))
		}
		w.serveFuzzed(proc%23, b)
	})
}

func (w *world) serveFuzzed(proc uint32, b []byte) {
	var r rpc.Reply
	defer r.ReleasePayloads()
	w.serve(w.message(1, proc, encoded(b)), &r)
}

// encoded are arguments that are encoded already.
type encoded []byte

func (e encoded) Append(b []byte) []byte { return append(b, e...) }
