package v3_test

import (
	"net/netip"
	"slices"
	"testing"

	"fileserver/nfs"
	"fileserver/nfs/rpc"
	v3 "fileserver/nfs/v3"
	"fileserver/nfs/xdr"
	"fileserver/vfs"
	"fileserver/vfs/vfstest/mem"
)

// everyProcedure is one call of each procedure on handle h; change tells which of them change something.
func everyProcedure(h v3.Handle) (calls map[uint32]args, change []uint32) {
	d := v3.DirOp{Dir: h, Name: "new"}
	calls = map[uint32]args{
		v3.ProcGetattr: &v3.GetattrArgs{Object: h}, v3.ProcSetattr: &v3.SetattrArgs{Object: h, Attr: mode(0o700)},
		v3.ProcLookup: &v3.LookupArgs{What: d}, v3.ProcAccess: &v3.AccessArgs{Object: h, Access: 1},
		v3.ProcReadlink: &v3.ReadlinkArgs{Symlink: h}, v3.ProcRead: &v3.ReadArgs{File: h, Count: 8},
		v3.ProcWrite: &v3.WriteArgs{File: h, Count: 1, Data: []byte("x")}, v3.ProcCreate: &v3.CreateArgs{Where: d},
		v3.ProcMkdir: &v3.MkdirArgs{Where: d}, v3.ProcSymlink: &v3.SymlinkArgs{Where: d, Path: "x"},
		v3.ProcMknod: &v3.MknodArgs{Where: d, Type: v3.TypeFIFO}, v3.ProcRemove: &v3.RemoveArgs{Object: d},
		v3.ProcRmdir: &v3.RemoveArgs{Object: d}, v3.ProcRename: &v3.RenameArgs{From: d, To: d},
		v3.ProcLink: &v3.LinkArgs{File: h, Link: d}, v3.ProcReaddir: &v3.ReaddirArgs{Dir: h, Count: 4096},
		v3.ProcReaddirplus: &v3.ReaddirplusArgs{Dir: h, DirCount: 4096, MaxCount: 4096}, v3.ProcFsstat: &v3.FsArgs{Object: h},
		v3.ProcFsinfo: &v3.FsArgs{Object: h}, v3.ProcPathconf: &v3.FsArgs{Object: h}, v3.ProcCommit: &v3.CommitArgs{File: h},
	}
	return calls, []uint32{
		v3.ProcSetattr, v3.ProcWrite, v3.ProcCreate, v3.ProcMkdir, v3.ProcSymlink, v3.ProcMknod, v3.ProcRemove,
		v3.ProcRmdir, v3.ProcRename, v3.ProcLink, v3.ProcCommit,
	}
}

// status makes a call and returns only its status.
func (w *world) status(proc uint32, a args) v3.Status {
	w.t.Helper()
	var r rpc.Reply
	defer r.ReleasePayloads()
	stat, b := w.serve(w.message(w.xid.Add(1), proc, a), &r)
	if stat != rpc.Success {
		w.t.Fatalf("procedure %d: %v", proc, stat)
	}
	d := xdr.NewDecoder(b)
	return v3.Status(d.Uint32())
}

// TestHandles: no procedure works on a handle that is not one, or not this client's.
func TestHandles(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	gone := w.file("gone")
	w.want(w.remove(v3.ProcRemove, w.root, "gone").Status, v3.OK)
	unknown := slices.Clone(w.root)
	unknown[3] = 77
	guessed := slices.Clone(w.root)
	guessed[len(guessed)-1] ^= 1
	stranger := w.as(func(u *user) { u.conn = &rpc.Conn{RemoteAddr: netip.MustParseAddrPort("198.51.100.9:1")} })
	nobody := w.as(func(u *user) { u.flavor = rpc.AuthNone })
	for name, tt := range map[string]struct {
		w    *world
		h    v3.Handle
		want v3.Status
	}{
		"empty":           {w, v3.Handle{}, v3.ErrBadHandle},
		"no file":         {w, w.root[:4], v3.ErrBadHandle},
		"too short":       {w, w.root[:len(w.root)-1], v3.ErrBadHandle},
		"64 bytes":        {w, make(v3.Handle, 64), v3.ErrBadHandle},
		"unknown export":  {w, unknown, v3.ErrStale},
		"guessed":         {w, guessed, v3.ErrStale},
		"removed":         {w, gone, v3.ErrStale},
		"other address":   {stranger, w.root, v3.ErrAcces},
		"flavor not ours": {nobody, w.root, v3.ErrAcces},
	} {
		t.Run(name, func(t *testing.T) {
			w := tt.w
			calls, _ := everyProcedure(tt.h)
			for proc, a := range calls {
				if got := w.status(proc, a); got != tt.want {
					t.Errorf("procedure %d: %v, want %v", proc, got, tt.want)
				}
			}
		})
	}
}

// TestEveryProcedureTruncated: arguments that end early, or go on, are GARBAGE_ARGS.
func TestEveryProcedureTruncated(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	calls, _ := everyProcedure(w.root)
	for proc, a := range calls {
		msg := w.message(w.xid.Add(1), proc, a)
		head := len(msg) - len(a.Append(nil))
		for n := head; n < len(msg)+4; n += 4 {
			m := msg[:min(n, len(msg))]
			if n == len(msg) {
				m = append(slices.Clone(msg), 0, 0, 0, 0)
			}
			var r rpc.Reply
			if stat, _ := w.serve(m, &r); stat != rpc.GarbageArgs && n <= len(msg) {
				t.Errorf("procedure %d, %d of %d bytes: %v", proc, n-head, len(msg)-head, stat)
			}
			r.ReleasePayloads()
			if n == len(msg) {
				break
			}
		}
	}
}

func TestReadOnlyExport(t *testing.T) {
	w := newWorld(t, mem.Options{}, func(e *nfs.Export) { e.ReadOnly = true })
	calls, change := everyProcedure(w.root)
	for _, proc := range change {
		w.want(w.status(proc, calls[proc]), v3.ErrROFS)
	}
	var res v3.AccessRes
	w.call(v3.ProcAccess, &v3.AccessArgs{Object: w.root, Access: 0x3f}, &res)
	if res.Access != uint32(vfs.AccessRead|vfs.AccessLookup) {
		t.Errorf("access %#x", res.Access)
	}
	w.want(w.status(v3.ProcReaddir, calls[v3.ProcReaddir]), v3.OK)
}

// TestOtherExport: what joins two objects needs both in one export, and both writable.
func TestOtherExport(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil).as(func(u *user) { u.uid = 0 })
	h := w.file("f")
	w.want(w.status(v3.ProcRename, &v3.RenameArgs{From: v3.DirOp{Dir: w.root, Name: "f"}, To: v3.DirOp{Dir: w.other, Name: "f"}}), v3.ErrXDev)
	w.want(w.status(v3.ProcLink, &v3.LinkArgs{File: h, Link: v3.DirOp{Dir: w.other, Name: "f"}}), v3.ErrXDev)
	list := w.exports.List()
	readOnly := *list[1]
	readOnly.ReadOnly = true
	w.exports.Replace([]*nfs.Export{list[0], &readOnly})
	w.want(w.status(v3.ProcRename, &v3.RenameArgs{From: v3.DirOp{Dir: w.root, Name: "f"}, To: v3.DirOp{Dir: w.other, Name: "f"}}), v3.ErrROFS)
	w.exports.Replace(list[:1])
	w.want(w.status(v3.ProcGetattr, &v3.GetattrArgs{Object: w.other}), v3.ErrStale)
}

func TestSquash(t *testing.T) {
	for name, tt := range map[string]struct {
		squash   nfs.Squash
		uid      uint32
		wantUID  uint32
		wantGID  uint32
		flavors  []rpc.Flavor
		authNone bool
	}{
		"root, root":      {squash: nfs.SquashRoot, uid: 0, wantUID: 65533, wantGID: 100},
		"root, user":      {squash: nfs.SquashRoot, uid: 1000, wantUID: 1000, wantGID: 100},
		"none, root":      {squash: nfs.SquashNone, uid: 0, wantUID: 0, wantGID: 100},
		"all, user":       {squash: nfs.SquashAll, uid: 1000, wantUID: 65533, wantGID: 65532},
		"none, auth none": {squash: nfs.SquashNone, authNone: true, wantUID: 65533, wantGID: 65532, flavors: []rpc.Flavor{rpc.AuthNone}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, mem.Options{}, func(e *nfs.Export) {
				e.Squash, e.AnonUID, e.AnonGID = tt.squash, 65533, 65532
				if tt.flavors != nil {
					e.Flavors = tt.flavors
				}
			}).as(func(u *user) {
				u.uid = tt.uid
				if tt.authNone {
					u.flavor = rpc.AuthNone
				}
			})
			a := w.attr(w.file("f"))
			if a.UID != tt.wantUID || a.GID != tt.wantGID {
				t.Errorf("the file belongs to %d:%d", a.UID, a.GID)
			}
		})
	}
}

func TestVersions(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	for _, tt := range []struct {
		prog, vers, proc uint32
		want             rpc.AcceptStat
	}{
		{v3.Program, 2, 0, rpc.ProgMismatch}, {v3.Program, 3, 0, rpc.Success}, {v3.Program, 3, 22, rpc.ProcUnavail},
		{100227, 3, 0, rpc.ProgUnavail}, // NFSACL: clients try
	} {
		var r rpc.Reply
		if got, _ := w.serve(rpc.AppendCall(nil, 1, tt.prog, tt.vers, tt.proc, rpc.AuthNone, nil), &r); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}
