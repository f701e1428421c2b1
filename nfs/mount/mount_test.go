package mount_test

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"fileserver/nfs"
	"fileserver/nfs/mount"
	"fileserver/nfs/rpc"
	"fileserver/nfs/xdr"
	"fileserver/nfs/xdr/xdrtest"
	"fileserver/vfs"
	"fileserver/vfs/vfstest/mem"
)

const (
	inside  = "192.0.2.7:900"
	outside = "198.51.100.1:900"
)

type world struct {
	t   *testing.T
	fs  *mem.FS
	rpc *rpc.Server
}

// newWorld publishes /data (with sub/deep, private, file and link), /data/nested and /secret, the last to nobody of the tests.
func newWorld(t *testing.T) *world {
	t.Helper()
	ctx, root := context.Background(), &vfs.Cred{}
	w := &world{t: t, fs: mem.New(mem.Options{})}
	dir := func(in vfs.Node, name string, mode uint32) vfs.Node {
		n, err := in.Mkdir(ctx, root, name, &vfs.SetAttr{Mask: vfs.AttrMode, Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	top, err := w.fs.Root(ctx)
	if err != nil {
		t.Fatal(err)
	}
	sub := dir(top, "sub", 0o755)
	dir(sub, "deep", 0o700).Release()
	sub.Release()
	private := dir(top, "private", 0o700)
	dir(private, "below", 0o777).Release()
	private.Release()
	f, _, err := top.Create(ctx, root, "file", true, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.Release()
	l, err := top.Symlink(ctx, root, "link", "sub", nil)
	if err != nil {
		t.Fatal(err)
	}
	l.Release()
	top.Release()

	lan := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	x := new(nfs.Exports)
	x.Replace([]*nfs.Export{
		{ID: 1, Path: "/data", FS: w.fs, Clients: lan, AnonUID: 65534, AnonGID: 65534, Flavors: []rpc.Flavor{rpc.AuthSys, rpc.AuthNone}},
		{ID: 2, Path: "/data/nested", FS: mem.New(mem.Options{}), Clients: lan, Flavors: []rpc.Flavor{rpc.AuthSys}},
		{ID: 3, Path: "/secret", FS: mem.New(mem.Options{}), Clients: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}, Flavors: []rpc.Flavor{rpc.AuthSys}},
		{ID: 4, Path: "/nobody", FS: mem.New(mem.Options{}), Flavors: []rpc.Flavor{rpc.AuthSys}},
		{ID: 5, Path: "/root", FS: mem.New(mem.Options{}), Clients: lan, Flavors: []rpc.Flavor{rpc.AuthSys}, PrivilegedPorts: true},
	})
	if w.rpc, err = rpc.NewServer(rpc.Config{}, mount.New(x)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if n, f := w.fs.Outstanding(); n != 0 || f != 0 {
			t.Errorf("%d nodes and %d files were not released", n, f)
		}
	})
	return w
}

// call makes a call as uid from addr; a and res may be nil.
func (w *world) call(addr string, uid, vers, proc uint32, a, res xdrtest.Codec) rpc.AcceptStat {
	w.t.Helper()
	msg := rpc.AppendCall(nil, 1, mount.Program, vers, proc, rpc.AuthSys, rpc.AppendAuthSys(nil, 0, "box", uid, uid, nil))
	if a != nil {
		msg = a.Append(msg)
	}
	c := &rpc.Call{Conn: &rpc.Conn{Transport: "tcp", RemoteAddr: netip.MustParseAddrPort(addr)}, Message: xdr.NewDecoder(msg), Limits: rpc.Limits{Inline: 1 << 20}}
	var r rpc.Reply
	if !w.rpc.Serve(context.Background(), c, &r) {
		w.t.Fatal("no reply")
	}
	d := xdr.NewDecoder(r.Head[20:])
	stat := rpc.AcceptStat(d.Uint32())
	if stat != rpc.Success {
		return stat
	}
	if res != nil {
		res.Decode(&d)
	}
	if err := d.Finish(); err != nil {
		w.t.Fatal(err)
	}
	return stat
}

func (w *world) mnt(addr string, uid uint32, path string) mount.MntRes {
	w.t.Helper()
	var res mount.MntRes
	if st := w.call(addr, uid, 3, mount.ProcMnt, &mount.PathArgs{Path: path}, &res); st != rpc.Success {
		w.t.Fatal(st)
	}
	return res
}

func TestMnt(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct {
		path   string
		addr   string
		uid    uint32
		want   mount.Status
		export uint32
	}{
		{"/data", inside, 1000, mount.OK, 1},
		{"/data/", inside, 1000, mount.OK, 1},
		{"/data", "[::ffff:192.0.2.7]:1", 1000, mount.OK, 1},
		{"/data/sub", inside, 1000, mount.OK, 1},
		{"/data//sub/./", inside, 1000, mount.OK, 1},
		{"/data/nested", inside, 1000, mount.OK, 2},
		{"/data/sub/deep", inside, 1000, mount.OK, 1}, // its name is visible; what is in it is not this caller's
		{"/data/private/below", inside, 1000, mount.ErrAcces, 0},
		{"/data/private/below", inside, 0, mount.ErrAcces, 0}, // squashed
		{"/data/sub/none", inside, 1000, mount.ErrNoEnt, 0},
		{"/data/file", inside, 1000, mount.ErrNotDir, 0},
		{"/data/link", inside, 1000, mount.ErrNotDir, 0},
		{"/data/link/deep", inside, 1000, mount.ErrNotDir, 0},
		{"/data/sub/..", inside, 1000, mount.ErrInval, 0},
		{"/data/" + string(make([]byte, 256)), inside, 1000, mount.ErrNameTooLong, 0},
		{"/database", inside, 1000, mount.ErrNoEnt, 0},
		{"data", inside, 1000, mount.ErrNoEnt, 0},
		{"", inside, 1000, mount.ErrNoEnt, 0},
		{"/", inside, 1000, mount.ErrNoEnt, 0},
		{"/data", outside, 1000, mount.ErrAcces, 0},
		{"/data/sub", outside, 1000, mount.ErrAcces, 0},
		{"/secret", inside, 1000, mount.ErrAcces, 0},
		{"/nobody", inside, 1000, mount.ErrAcces, 0},
		{"/root", inside, 0, mount.OK, 5},
		{"/root", "192.0.2.7:1024", 0, mount.ErrAcces, 0}, // any user of the client can call from there
	} {
		res := w.mnt(tt.addr, tt.uid, tt.path)
		if res.Status != tt.want {
			t.Errorf("%q from %s: %v, want %v", tt.path, tt.addr, res.Status, tt.want)
			continue
		}
		if id, _, ok := nfs.ParseHandle(res.Handle); res.Status == mount.OK && (!ok || id != tt.export) {
			t.Errorf("%q: handle %x", tt.path, res.Handle)
		}
	}
	if f := w.mnt(inside, 1, "/data").Flavors; !slices.Equal(f, []rpc.Flavor{rpc.AuthSys, rpc.AuthNone}) {
		t.Errorf("flavors %v", f)
	}
}

// TestRootExport: an export of "/" is found by every path, but gives way to longer ones.
func TestRootExport(t *testing.T) {
	x := new(nfs.Exports)
	all := []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}
	x.Replace([]*nfs.Export{
		{ID: 1, Path: "/", FS: mem.New(mem.Options{}), Clients: all, Flavors: []rpc.Flavor{rpc.AuthSys}},
		{ID: 2, Path: "/a", FS: mem.New(mem.Options{}), Clients: all, Flavors: []rpc.Flavor{rpc.AuthSys}},
	})
	s, err := rpc.NewServer(rpc.Config{}, mount.New(x))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, rpc: s}
	for path, want := range map[string]uint32{"/": 1, "/a": 2, "/a/": 2} {
		res := w.mnt(inside, 1, path)
		if id, _, _ := nfs.ParseHandle(res.Handle); id != want {
			t.Errorf("%s: %v, export %d", path, res.Status, id)
		}
	}
	if res := w.mnt(inside, 1, "/b"); res.Status != mount.ErrNoEnt {
		t.Error(res.Status)
	}
}

func TestVersions(t *testing.T) {
	w := newWorld(t)
	for _, v := range []uint32{1, 2, 4} {
		if st := w.call(inside, 1, v, mount.ProcMnt, &mount.PathArgs{Path: "/data"}, nil); st != rpc.ProgMismatch {
			t.Errorf("version %d: %v", v, st)
		}
	}
	if st := w.call(inside, 1, 3, mount.ProcNull, nil, nil); st != rpc.Success {
		t.Error(st)
	}
	if st := w.call(inside, 1, 3, 6, nil, nil); st != rpc.ProcUnavail {
		t.Error(st)
	}
	for _, proc := range []uint32{mount.ProcDump, mount.ProcExport, mount.ProcUmntall} {
		if st := w.call(inside, 1, 3, proc, &mount.PathArgs{Path: "x"}, nil); st != rpc.GarbageArgs {
			t.Errorf("procedure %d with arguments: %v", proc, st)
		}
	}
	for _, proc := range []uint32{mount.ProcMnt, mount.ProcUmnt} {
		if st := w.call(inside, 1, 3, proc, &mount.PathArgs{Path: string(make([]byte, 1025))}, nil); st != rpc.GarbageArgs {
			t.Errorf("procedure %d with a path too long: %v", proc, st)
		}
	}
}

func TestExport(t *testing.T) {
	w := newWorld(t)
	var res mount.ExportRes
	w.call(inside, 1, 3, mount.ProcExport, nil, &res)
	if got := fmt.Sprint(res.Exports); got != "[{/data [192.0.2.0/24]} {/data/nested [192.0.2.0/24]} {/root [192.0.2.0/24]}]" {
		t.Error(got)
	}
	w.call(outside, 1, 3, mount.ProcExport, nil, &res)
	if len(res.Exports) != 0 {
		t.Error(res.Exports)
	}
}

func TestDump(t *testing.T) {
	w := newWorld(t)
	dump := func(addr string) string {
		var res mount.DumpRes
		w.call(addr, 1, 3, mount.ProcDump, nil, &res)
		return fmt.Sprint(res.Mounts)
	}
	w.mnt(inside, 1, "/data")
	w.mnt(inside, 1, "/data")
	w.mnt(inside, 1, "/data/sub")
	w.mnt("192.0.2.8:5", 1, "/data")
	w.mnt(inside, 1, "/data/none")
	if got := dump(inside); got != "[{192.0.2.7 /data} {192.0.2.7 /data/sub} {192.0.2.8 /data}]" {
		t.Error(got)
	}
	if got := dump(outside); got != "[]" {
		t.Error("told to a stranger:", got)
	}
	w.call(inside, 1, 3, mount.ProcUmnt, &mount.PathArgs{Path: "/data"}, nil)
	w.call(inside, 1, 3, mount.ProcUmnt, &mount.PathArgs{Path: "/never"}, nil)
	if got := dump(inside); got != "[{192.0.2.7 /data/sub} {192.0.2.8 /data}]" {
		t.Error(got)
	}
	w.call(inside, 1, 3, mount.ProcUmntall, nil, nil)
	if got := dump(inside); got != "[{192.0.2.8 /data}]" {
		t.Error(got)
	}
	for i := range 3000 { // bounded
		w.mnt(fmt.Sprintf("192.0.2.%d:1", i%250), 1, "/data"+strings.Repeat("/", i/250))
	}
	var res mount.DumpRes
	w.call(inside, 1, 3, mount.ProcDump, nil, &res)
	if n := len(res.Mounts); n != 1024 {
		t.Errorf("%d mounts are remembered", n)
	}
}
