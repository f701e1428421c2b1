package v3_test

import (
	"net/netip"
	"testing"
	"time"

	"fileserver/nfs"
	"fileserver/nfs/rpc"
	v3 "fileserver/nfs/v3"
	"fileserver/vfs"
	"fileserver/vfs/lock"
	"fileserver/vfs/vfstest/mem"
)

func TestGetattr(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	before := uint32(time.Now().Unix())
	h := w.file("f")
	w.write(h, 0, data(10_000), v3.Unstable)
	a := w.attr(h)
	if a.Type != v3.TypeReg || a.Mode != 0o644 || a.Nlink != 1 || a.UID != 1000 || a.GID != 100 || a.Size != 10_000 ||
		a.Used == 0 || a.FSID == 0 || a.FileID == 0 || a.Mtime.Sec < before || a.Mtime.Nsec >= 1e9 || a.Rdev != (vfs.Dev{}) {
		t.Errorf("%+v", a)
	}
	r := w.attr(w.root)
	if r.Type != v3.TypeDir || r.FSID != a.FSID || r.FileID == a.FileID {
		t.Errorf("%+v", r)
	}
	if o := w.attr(w.other); o.FSID == a.FSID {
		t.Error("two file systems have one id")
	}
}

func TestSetattr(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	h := w.file("f")
	res := w.setattr(h, v3.SetAttr{
		Mode: p(uint32(0o600)), GID: p(uint32(24)), Size: p(uint64(77)),
		AtimeHow: v3.SetToClientTime, Atime: v3.Time{Sec: 5, Nsec: 6}, MtimeHow: v3.SetToClientTime, Mtime: v3.Time{Sec: 7, Nsec: 8},
	}, nil)
	w.want(res.Status, v3.OK)
	a := w.attr(h)
	if a.Mode != 0o600 || a.GID != 24 || a.Size != 77 || a.Atime != (v3.Time{Sec: 5, Nsec: 6}) || a.Mtime != (v3.Time{Sec: 7, Nsec: 8}) {
		t.Errorf("%+v", a)
	}
	if res.Wcc.Before.Present || !res.Wcc.After.Present || res.Wcc.After.Attr != a {
		t.Errorf("%+v", res.Wcc)
	}
	w.want(w.setattr(h, v3.SetAttr{AtimeHow: v3.SetToServerTime, MtimeHow: v3.SetToServerTime}, nil).Status, v3.OK)
	if b := w.attr(h); b.Mtime.Sec < 1000 || b.Atime.Sec < 1000 {
		t.Errorf("%+v", b)
	}
	// Times are unsigned: after 2038 comes 2106.
	w.want(w.setattr(h, v3.SetAttr{MtimeHow: v3.SetToClientTime, Mtime: v3.Time{Sec: 1 << 31}}, nil).Status, v3.OK)
	if b := w.attr(h); b.Mtime.Sec != 1<<31 {
		t.Errorf("%+v", b.Mtime)
	}
}

func TestSetattrRefused(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	h := w.file("f")
	for name, tt := range map[string]struct {
		w    *world
		h    v3.Handle
		s    v3.SetAttr
		want v3.Status
	}{
		"owner":          {w, h, v3.SetAttr{UID: p(uint32(1))}, v3.ErrPerm},
		"foreign group":  {w, h, v3.SetAttr{GID: p(uint32(999))}, v3.ErrPerm},
		"not the owner":  {w.asUser(2000), h, mode(0o666), v3.ErrPerm},
		"size, reader":   {w.asUser(2000), h, v3.SetAttr{Size: p(uint64(0))}, v3.ErrAcces},
		"size of a dir":  {w, w.root, v3.SetAttr{Size: p(uint64(0))}, v3.ErrIsDir},
		"size over 2^63": {w, h, v3.SetAttr{Size: p(uint64(1) << 63)}, v3.ErrFBig},
		"size of 2^64-1": {w, h, v3.SetAttr{Size: p(^uint64(0))}, v3.ErrFBig},
		"nanoseconds":    {w, h, v3.SetAttr{MtimeHow: v3.SetToClientTime, Mtime: v3.Time{Nsec: 1e9}}, v3.ErrInval},
	} {
		if got := tt.w.setattr(tt.h, tt.s, nil).Status; got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

func TestSetattrGuard(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	h := w.file("f")
	a := w.attr(h)
	w.want(w.setattr(h, mode(0o600), &v3.Time{Sec: a.Ctime.Sec, Nsec: a.Ctime.Nsec ^ 1}).Status, v3.ErrNotSync)
	if w.attr(h) != a {
		t.Fatal("changed in spite of the guard")
	}
	w.want(w.setattr(h, mode(0o600), &a.Ctime).Status, v3.OK)
	w.want(w.setattr(h, mode(0o600), &a.Ctime).Status, v3.ErrNotSync)
}

func TestAccess(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	h := w.file("f")
	for _, tt := range []struct {
		w          *world
		h          v3.Handle
		want, have vfs.Access
	}{
		{w, h, 0x3f, vfs.AccessRead | vfs.AccessModify | vfs.AccessExtend},
		{w, h, vfs.AccessModify, vfs.AccessModify},
		{w.asUser(2), h, 0x3f, vfs.AccessRead},
		{w.asUser(0), h, 0x3f, vfs.AccessRead}, // squashed
		{w, w.root, 0xffffffc0 & 0xff, 0},
		{w, w.root, 0x1f, 0x1f},
	} {
		var res v3.AccessRes
		tt.w.call(v3.ProcAccess, &v3.AccessArgs{Object: tt.h, Access: uint32(tt.want)}, &res)
		w.want(res.Status, v3.OK)
		if res.Access != uint32(tt.have) || !res.Attr.Present {
			t.Errorf("%+v: %#x", tt, res.Access)
		}
	}
}

func TestLookup(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	d := w.dir("d")
	f := w.create(d, "f", v3.Guarded, mode(0o600), [8]byte{})
	for name, want := range map[string]v3.Handle{"f": f.Object, ".": d, "..": w.root} {
		res := w.lookup(d, name)
		w.want(res.Status, v3.OK)
		if string(res.Object) != string(want) || res.Attr.Attr != w.attr(want) || res.Dir.Attr != w.attr(d) {
			t.Errorf("%s: %+v", name, res)
		}
	}
	if res := w.lookup(w.root, ".."); string(res.Object) != string(w.root) {
		t.Error("above the root there is something")
	}
	long := string(make([]byte, 300))
	for _, tt := range []struct {
		dir  v3.Handle
		name string
		want v3.Status
	}{
		{d, "none", v3.ErrNoEnt}, {d, "", v3.ErrInval}, {d, "a/b", v3.ErrInval}, {d, "a\x00b", v3.ErrInval},
		{d, long, v3.ErrNameTooLong}, {f.Object, "x", v3.ErrNotDir}, {f.Object, ".", v3.ErrNotDir}, {f.Object, "..", v3.ErrNotDir},
	} {
		res := w.lookup(tt.dir, tt.name)
		if res.Status != tt.want || !res.Dir.Present {
			t.Errorf("%q: %v, want %v", tt.name, res.Status, tt.want)
		}
	}
	w.want(w.setattr(d, mode(0o600), nil).Status, v3.OK)
	w.want(w.lookup(d, "f").Status, v3.ErrAcces)
}

func TestFsProcedures(t *testing.T) {
	w := newWorld(t, mem.Options{MaxBytes: 1 << 30, MaxFiles: 1000, MaxLink: 77, MaxFileSize: 1 << 40}, nil)
	h := w.file("f")
	w.write(h, 0, data(1<<16), v3.Unstable)
	var st v3.FsstatRes
	w.call(v3.ProcFsstat, &v3.FsArgs{Object: w.root}, &st)
	if st.Status != v3.OK || !st.Attr.Present || st.TotalBytes != 1<<30 || st.FreeBytes != 1<<30-1<<16 || st.AvailBytes != st.FreeBytes || st.TotalFiles != 1000 || st.FreeFiles != 998 {
		t.Errorf("%+v", st)
	}
	var in v3.FsinfoRes
	w.call(v3.ProcFsinfo, &v3.FsArgs{Object: h}, &in)
	if in.Status != v3.OK || in.RtMax != 1<<20 || in.WtMax != 1<<20 || in.RtPref != 1<<20 || in.DtPref != 1<<16 || in.MaxFileSize != 1<<40 ||
		in.TimeDelta != (v3.Time{Nsec: 1}) || in.Properties != 0x1b || !in.Attr.Present {
		t.Errorf("%+v", in)
	}
	var pc v3.PathconfRes
	w.call(v3.ProcPathconf, &v3.FsArgs{Object: h}, &pc)
	if pc.Status != v3.OK || pc.LinkMax != 77 || pc.NameMax != 255 || !pc.NoTrunc || !pc.ChownRestricted || pc.CaseInsensitive || !pc.CasePreserving {
		t.Errorf("%+v", pc)
	}
}

// TestShareDenied: where an open of another protocol denies access, NFSv3 has none.
func TestShareDenied(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	h := w.file("f")
	w.write(h, 0, data(100), v3.Unstable)
	key := w.key()
	o, err := w.locks.Open(key, lock.CacheKey{}, lock.Read, lock.Write)
	if err != nil {
		t.Fatal(err)
	}
	w.want(w.write(h, 0, data(1), v3.Unstable).Status, v3.ErrAcces)
	w.want(w.setattr(h, v3.SetAttr{Size: p(uint64(0))}, nil).Status, v3.ErrAcces)
	w.want(w.create(w.root, "f", v3.Unchecked, v3.SetAttr{Size: p(uint64(0))}, [8]byte{}).Status, v3.ErrAcces)
	w.want(w.setattr(h, mode(0o640), nil).Status, v3.OK)
	w.want(w.read(h, 0, 10).Status, v3.OK)
	if err := o.Change(lock.Read, lock.Read); err != nil {
		t.Fatal(err)
	}
	w.want(w.read(h, 0, 10).Status, v3.ErrAcces)
	w.want(w.write(h, 0, data(1), v3.Unstable).Status, v3.OK)
	o.Close()
	w.want(w.read(h, 0, 10).Status, v3.OK)
}

// TestPrivilegedPorts: a program of a client's user is not believed to be whom it says.
func TestPrivilegedPorts(t *testing.T) {
	w := newWorld(t, mem.Options{}, func(e *nfs.Export) { e.PrivilegedPorts = true })
	h := w.file("f")
	user := w.as(func(u *user) {
		u.conn = &rpc.Conn{Transport: "tcp", RemoteAddr: netip.MustParseAddrPort("192.0.2.7:1024")}
	})
	_, st := user.getattr(h)
	w.want(st, v3.ErrPerm)
	w.want(user.read(h, 0, 1).Status, v3.ErrPerm)
	w.want(user.write(h, 0, data(1), v3.Unstable).Status, v3.ErrPerm)
	w.want(w.write(h, 0, data(1), v3.Unstable).Status, v3.OK)
	_, st = user.getattr(w.other) // which believes everybody
	w.want(st, v3.OK)
}
