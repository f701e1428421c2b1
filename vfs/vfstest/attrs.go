package vfstest

import (
	"time"

	"fileserver/vfs"
)

func testSetAttr(e *env) {
	f := e.file(e.root, "f", "0123456789")
	e.setattr(f, mode(0o4751))
	if a := e.attr(f); a.Mode != 0o4751 {
		e.Fatalf("mode is %o", a.Mode)
	}
	e.setattr(f, mode(0))
	e.setattr(f, mode(0o644))
	for _, c := range []struct {
		size int64
		want string
	}{{4, "0123"}, {8, "0123\x00\x00\x00\x00"}, {0, ""}, {3, "\x00\x00\x00"}} {
		e.truncate(f, c.size)
		e.contains(f, c.want)
	}
	e.want("size beyond the largest", f.SetAttr(e.ctx, e.c, &vfs.SetAttr{Mask: vfs.AttrSize, Size: 1 << 63}), vfs.ErrTooBig, vfs.ErrInvalid)

	// Times: to the nanosecond, as far as the file system has them, and before 1970.
	for _, at := range []vfs.Time{{Sec: 1, Nsec: 999_999_999}, {Sec: 0}, {Sec: -1, Nsec: 500_000_000}, {Sec: 1<<31 + 5, Nsec: 1}} {
		for name, n := range map[string]vfs.Node{"file": f, "root": e.root} {
			e.setattr(n, &vfs.SetAttr{Mask: vfs.AttrAtime | vfs.AttrMtime, Atime: at, Mtime: vfs.Time{Sec: at.Sec + 1, Nsec: at.Nsec}})
			g := uint32(e.fs.Caps().TimeGranularity)
			a := e.attr(n)
			if a.Atime.Sec != at.Sec || a.Mtime.Sec != at.Sec+1 || a.Mtime.Nsec/g != at.Nsec/g || a.Atime.Nsec/g != at.Nsec/g {
				e.Errorf("%s: times are %v and %v, want %v", name, a.Atime, a.Mtime, at)
			}
		}
	}
	before := e.attr(f)
	e.setattr(f, &vfs.SetAttr{Mask: vfs.AttrMtime, Mtime: vfs.Time{Sec: 77}})
	if a := e.attr(f); a.Atime != before.Atime || a.Mtime.Sec != 77 {
		e.Errorf("setting the one time: %+v", a)
	}
	start := time.Now().Add(-time.Minute)
	e.setattr(f, &vfs.SetAttr{Mask: vfs.AttrAtime | vfs.AttrMtime, AtimeNow: true, MtimeNow: true})
	if a := e.attr(f); a.Atime.Go().Before(start) || a.Mtime.Go().Before(start) {
		e.Errorf("times of now are %v and %v", a.Atime.Go(), a.Mtime.Go())
	}
	e.setattr(f, &vfs.SetAttr{Mask: vfs.AttrAtime | vfs.AttrMtime, Atime: vfs.Time{Sec: 5}, MtimeNow: true})
	if a := e.attr(f); a.Atime.Sec != 5 || a.Mtime.Go().Before(start) {
		e.Errorf("times of then and now are %v and %v", a.Atime.Go(), a.Mtime.Go())
	}
	err := f.SetAttr(e.ctx, e.c, &vfs.SetAttr{Mask: vfs.AttrBtime, Btime: vfs.Time{Sec: 55}})
	if e.opt.NoBtime {
		e.want("SetAttr of the time of creation", err, vfs.ErrUnsupported, vfs.ErrInvalid)
	} else if a := e.attr(f); err != nil || a.Btime.Sec != 55 {
		e.Errorf("SetAttr of the time of creation: %v, %+v", err, a)
	}
	link := e.symlink(e.root, "link", "f")
	e.setattr(link, &vfs.SetAttr{Mask: vfs.AttrAtime | vfs.AttrMtime, Atime: vfs.Time{Sec: 3}, Mtime: vfs.Time{Sec: 4}})
	if a := e.attr(link); a.Mtime.Sec != 4 {
		e.Errorf("time of a symbolic link is %v", a.Mtime)
	}
	if a := e.attr(f); a.Mtime.Sec == 4 {
		e.Error("SetAttr followed a symbolic link")
	}
	e.setattr(f, &vfs.SetAttr{}) // nothing to do
	e.guard(f)
	e.allOrNone(f)
}

// guard tries SETATTR3's protection against changes by others.
func (e *env) guard(f vfs.Node) {
	e.Helper()
	a := e.attr(f)
	e.setattr(f, &vfs.SetAttr{Mask: vfs.AttrMode, Mode: 0o600, GuardCtime: &a.Ctime})
	wrong := vfs.Time{Sec: a.Ctime.Sec - 100}
	for _, s := range []*vfs.SetAttr{{Mask: vfs.AttrMode, Mode: 0o666}, {Mask: vfs.AttrSize}} {
		s.GuardCtime = &wrong
		e.want("SetAttr with the wrong guard", f.SetAttr(e.ctx, e.c, s), vfs.ErrNotSync)
	}
	if a := e.attr(f); a.Mode != 0o600 || a.Size == 0 {
		e.Errorf("SetAttr with the wrong guard changed %+v", a)
	}
}

// allOrNone checks that a SetAttr that fails in one attribute leaves the others.
func (e *env) allOrNone(f vfs.Node) {
	e.Helper()
	d := e.mkdir(e.root, "d", 0o700)
	s := &vfs.SetAttr{Mask: vfs.AttrMode | vfs.AttrSize | vfs.AttrMtime, Mode: 0o711, Size: 1, Mtime: vfs.Time{Sec: 1}}
	e.want("SetAttr of mode and size of a directory", d.SetAttr(e.ctx, e.c, s), vfs.ErrIsDir)
	if a := e.attr(d); a.Mode != 0o700 || a.Mtime.Sec == 1 {
		e.Errorf("a SetAttr that failed changed %+v", a)
	}
	if e.c.UID != 0 {
		s := &vfs.SetAttr{Mask: vfs.AttrMode | vfs.AttrUID, Mode: 0o711, UID: e.c.UID + 1}
		before := e.attr(f)
		e.want("SetAttr of a foreign owner", f.SetAttr(e.ctx, e.c, s), vfs.ErrPerm)
		if a := e.attr(f); a.Mode != before.Mode {
			e.Errorf("a SetAttr that failed changed %+v", a)
		}
	}
}

// testChange checks that Change differs after every change, in quick succession, and ctime never goes back.
func testChange(e *env) {
	f := e.file(e.root, "f", "x")
	file := e.open(f, vfs.OpenRead|vfs.OpenWrite)
	d := e.mkdir(e.root, "d", 0o755)
	seen := map[uint64]map[uint64]string{}
	last := map[uint64]vfs.Attr{}
	changed := func(n vfs.Node, what string) {
		e.Helper()
		a := e.attr(n)
		if seen[a.FileID] == nil {
			seen[a.FileID] = map[uint64]string{}
		}
		if old, ok := seen[a.FileID][a.Change]; ok {
			e.Errorf("after %q change is %d again, as after %q", what, a.Change, old)
		}
		seen[a.FileID][a.Change] = what
		l := last[a.FileID]
		if e.fs.Caps().ChangeIsCounter && a.Change < l.Change {
			e.Errorf("after %q the counter went from %d to %d", what, l.Change, a.Change)
		}
		if a.Ctime.Go().Before(l.Ctime.Go()) {
			e.Errorf("after %q ctime went back", what)
		}
		last[a.FileID] = a
	}
	changed(f, "create")
	changed(d, "mkdir")
	for range 20 {
		e.write(file, "y", 0)
		changed(f, "overwrite")
		e.write(file, "y", 10)
		changed(f, "extend")
		e.truncate(f, 5)
		changed(f, "truncate")
		e.setattr(f, mode(0o600))
		changed(f, "mode")
		e.setattr(f, &vfs.SetAttr{Mask: vfs.AttrMtime, Mtime: vfs.Time{Sec: 1}})
		changed(f, "mtime")
		e.ok("Link", d.Link(e.ctx, e.c, "l", f))
		changed(f, "link")
		changed(d, "link in")
		e.rename(d, "l", d, "m")
		changed(d, "rename in")
		e.remove(d, "m", false)
		changed(f, "unlink")
		changed(d, "unlink in")
		e.mkdir(d, "sub", 0o755)
		changed(d, "mkdir in")
		e.remove(d, "sub", true)
		changed(d, "rmdir in")
	}
	before := e.attr(f)
	e.read(file, 0, 10)
	e.lookup(e.root, "f")
	if a := e.attr(f); a.Change != before.Change || a.Mtime != before.Mtime {
		e.Error("reading changed the file")
	}
}
