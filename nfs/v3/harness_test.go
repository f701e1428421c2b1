package v3_test

import (
	"context"
	"fmt"
	"net/netip"
	"sync/atomic"
	"testing"

	"fileserver/internal/slab"
	"fileserver/nfs"
	"fileserver/nfs/rpc"
	v3 "fileserver/nfs/v3"
	"fileserver/nfs/xdr"
	"fileserver/vfs"
	"fileserver/vfs/lock"
	"fileserver/vfs/vfstest/mem"
)

type (
	args    interface{ Append([]byte) []byte }
	results interface{ Decode(*xdr.Decoder) }
)

// user is who calls: from where, as whom, with which limits.
type user struct {
	conn     *rpc.Conn
	flavor   rpc.Flavor
	uid, gid uint32
	groups   []uint32
	limits   rpc.Limits
}

// world is a server with two exports of file systems in memory: 1 is /data, 2 is /other.
type world struct {
	t        testing.TB
	pool     *slab.Pool
	fs       *mem.FS
	export   *nfs.Export
	exports  *nfs.Exports
	verifier *nfs.WriteVerifier
	locks    *lock.Manager
	rpc      *rpc.Server
	root     v3.Handle
	other    v3.Handle
	user     user
	xid      atomic.Uint32
}

func anyone() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
}

func newWorld(t testing.TB, opt mem.Options, mod func(*nfs.Export)) *world {
	t.Helper()
	w := &world{t: t, pool: slab.New(slab.Config{Limit: 64 << 20, Debug: true}), fs: mem.New(opt), exports: new(nfs.Exports), locks: lock.New()}
	w.export = &nfs.Export{ID: 1, Path: "/data", FS: w.fs, Clients: anyone(), Squash: nfs.SquashRoot, AnonUID: 65534, AnonGID: 65534, Flavors: []rpc.Flavor{rpc.AuthSys}}
	if mod != nil {
		mod(w.export)
	}
	second := mem.New(mem.Options{})
	list := []*nfs.Export{w.export, {ID: 2, Path: "/other", FS: second, Clients: anyone(), Squash: nfs.SquashNone, Flavors: []rpc.Flavor{rpc.AuthSys}}}
	w.exports.Replace(list)
	w.verifier = nfs.NewWriteVerifier(w.exports)
	s, err := rpc.NewServer(rpc.Config{}, v3.New(v3.Config{Exports: w.exports, Verifier: w.verifier, Locks: w.locks}))
	if err != nil {
		t.Fatal(err)
	}
	w.rpc = s
	w.user = user{
		conn:   &rpc.Conn{ID: 1, Transport: "mem", RemoteAddr: netip.MustParseAddrPort("192.0.2.7:900")},
		flavor: rpc.AuthSys, uid: 1000, gid: 100, groups: []uint32{4, 24}, limits: rpc.Limits{Inline: 4 << 20},
	}
	w.root, w.other = rootHandle(t, list[0]), rootHandle(t, list[1])
	w.chmodRoot(0o777)
	t.Cleanup(func() {
		for _, l := range w.pool.Leaks() {
			t.Errorf("leaked: %s", l)
		}
		for _, fs := range []*mem.FS{w.fs, second} {
			if n, f := fs.Outstanding(); n != 0 || f != 0 {
				t.Errorf("%d nodes and %d files were not released", n, f)
			}
		}
		w.pool.Close()
	})
	return w
}

func rootHandle(t testing.TB, e *nfs.Export) v3.Handle {
	n, err := e.FS.Root(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer n.Release()
	return nfs.AppendHandle(nil, e, n.Handle())
}

func (w *world) chmodRoot(mode uint32) {
	w.t.Helper()
	n, err := w.fs.Root(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	defer n.Release()
	if err := n.SetAttr(context.Background(), &vfs.Cred{}, &vfs.SetAttr{Mask: vfs.AttrMode, Mode: mode}); err != nil {
		w.t.Fatal(err)
	}
}

// as returns a world that other users call.
func (w *world) as(mod func(*user)) *world {
	o := &world{
		t: w.t, pool: w.pool, fs: w.fs, export: w.export, exports: w.exports, verifier: w.verifier,
		locks: w.locks, rpc: w.rpc, root: w.root, other: w.other, user: w.user,
	}
	o.xid.Store(w.xid.Load() + 1<<20)
	mod(&o.user)
	return o
}

func (w *world) asUser(uid uint32) *world { return w.as(func(u *user) { u.uid = uid }) }

// message encodes a call.
func (w *world) message(xid, proc uint32, a args) []byte {
	var cred []byte
	if w.user.flavor == rpc.AuthSys {
		cred = rpc.AppendAuthSys(nil, 0, "test", w.user.uid, w.user.gid, w.user.groups)
	}
	return a.Append(rpc.AppendCall(nil, xid, v3.Program, v3.Version, proc, w.user.flavor, cred))
}

// serve executes an encoded call and returns what follows the reply's header, payloads in place.
func (w *world) serve(msg []byte, r *rpc.Reply) (rpc.AcceptStat, []byte) {
	w.t.Helper()
	c := &rpc.Call{Conn: w.user.conn, Buffers: w.pool, Message: xdr.NewDecoder(msg), Limits: w.user.limits}
	if !w.rpc.Serve(context.Background(), c, r) {
		w.t.Fatal("no reply")
	}
	b := r.AppendInline(nil)
	if len(w.user.limits.Payloads) == 0 && len(b) > w.user.limits.Inline {
		w.t.Fatalf("reply of %d bytes where %d can be returned", len(b), w.user.limits.Inline)
	}
	d := xdr.NewDecoder(b[20:])
	stat := rpc.AcceptStat(d.Uint32())
	return stat, d.Rest()
}

// call makes a call and decodes the results, all of them.
func (w *world) call(proc uint32, a args, res results) {
	w.t.Helper()
	var r rpc.Reply
	defer r.ReleasePayloads()
	stat, b := w.serve(w.message(w.xid.Add(1), proc, a), &r)
	if stat != rpc.Success {
		w.t.Fatalf("procedure %d: %v", proc, stat)
	}
	d := xdr.NewDecoder(b)
	res.Decode(&d)
	if err := d.Finish(); err != nil {
		w.t.Fatalf("procedure %d: results: %v", proc, err)
	}
}

func p[T any](v T) *T { return &v }

func mode(m uint32) v3.SetAttr { return v3.SetAttr{Mode: &m} }

func (w *world) getattr(h v3.Handle) (v3.Attr, v3.Status) {
	w.t.Helper()
	var res v3.GetattrRes
	w.call(v3.ProcGetattr, &v3.GetattrArgs{Object: h}, &res)
	return res.Attr, res.Status
}

// attr is getattr that must succeed.
func (w *world) attr(h v3.Handle) v3.Attr {
	w.t.Helper()
	a, st := w.getattr(h)
	w.want(st, v3.OK)
	return a
}

func (w *world) lookup(dir v3.Handle, name string) v3.LookupRes {
	w.t.Helper()
	var res v3.LookupRes
	w.call(v3.ProcLookup, &v3.LookupArgs{What: v3.DirOp{Dir: dir, Name: name}}, &res)
	return res
}

func (w *world) create(dir v3.Handle, name string, m v3.CreateMode, attr v3.SetAttr, verf [8]byte) v3.CreateRes {
	w.t.Helper()
	var res v3.CreateRes
	w.call(v3.ProcCreate, &v3.CreateArgs{Where: v3.DirOp{Dir: dir, Name: name}, Mode: m, Attr: attr, Verf: verf}, &res)
	return res
}

// file makes a file.
func (w *world) file(name string) v3.Handle {
	w.t.Helper()
	res := w.create(w.root, name, v3.Guarded, mode(0o644), [8]byte{})
	w.want(res.Status, v3.OK)
	return res.Object
}

// dir makes a directory.
func (w *world) dir(name string) v3.Handle {
	w.t.Helper()
	res := w.mkdir(w.root, name)
	w.want(res.Status, v3.OK)
	return res.Object
}

func (w *world) mkdir(dir v3.Handle, name string) v3.CreateRes {
	w.t.Helper()
	var res v3.CreateRes
	w.call(v3.ProcMkdir, &v3.MkdirArgs{Where: v3.DirOp{Dir: dir, Name: name}, Attr: mode(0o755)}, &res)
	return res
}

func (w *world) write(h v3.Handle, off uint64, data []byte, how v3.StableHow) v3.WriteRes {
	w.t.Helper()
	var res v3.WriteRes
	w.call(v3.ProcWrite, &v3.WriteArgs{File: h, Offset: off, Count: uint32(len(data)), Stable: how, Data: data}, &res)
	return res
}

func (w *world) read(h v3.Handle, off uint64, n uint32) v3.ReadRes {
	w.t.Helper()
	var res v3.ReadRes
	w.call(v3.ProcRead, &v3.ReadArgs{File: h, Offset: off, Count: n}, &res)
	return res
}

func (w *world) setattr(h v3.Handle, s v3.SetAttr, guard *v3.Time) v3.WccRes {
	w.t.Helper()
	var res v3.WccRes
	w.call(v3.ProcSetattr, &v3.SetattrArgs{Object: h, Attr: s, Guard: guard}, &res)
	return res
}

func (w *world) remove(proc uint32, dir v3.Handle, name string) v3.WccRes {
	w.t.Helper()
	var res v3.WccRes
	w.call(proc, &v3.RemoveArgs{Object: v3.DirOp{Dir: dir, Name: name}}, &res)
	return res
}

func (w *world) want(got, want v3.Status) {
	w.t.Helper()
	if got != want {
		w.t.Fatalf("%v, want %v", got, want)
	}
}

// wantWcc checks that a change of a directory was told with the attributes of before and after.
func (w *world) wantWcc(wcc v3.WccData, before v3.Attr, dir v3.Handle) {
	w.t.Helper()
	if want := (v3.PreOpAttr{Present: true, Size: before.Size, Mtime: before.Mtime, Ctime: before.Ctime}); wcc.Before != want {
		w.t.Fatalf("before: %+v, want %+v", wcc.Before, want)
	}
	if now := w.attr(dir); !wcc.After.Present || wcc.After.Attr != now {
		w.t.Fatalf("after: %+v, want %+v", wcc.After, now)
	}
}

func data(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7) ^ byte(i>>8)
	}
	return b
}

func name(i int) string { return fmt.Sprintf("entry-%04d", i) }
