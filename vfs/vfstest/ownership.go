package vfstest

import "fileserver/vfs"

func setUID(id uint32) *vfs.SetAttr { return &vfs.SetAttr{Mask: vfs.AttrUID, UID: id} }
func setGID(id uint32) *vfs.SetAttr { return &vfs.SetAttr{Mask: vfs.AttrGID, GID: id} }

// testChown: who may give what to whom, and that set-id bits go when it is done.
func testChown(e *env, dir vfs.Node) {
	f := e.as(carol).file(dir, "f", "x")
	for _, c := range []struct {
		who  *vfs.Cred
		s    *vfs.SetAttr
		want vfs.Status
	}{
		{carol, setUID(bob.UID), vfs.ErrPerm}, {bob, setUID(bob.UID), vfs.ErrPerm}, {bob, setUID(carol.UID), vfs.ErrPerm}, {carol, setUID(carol.UID), vfs.OK},
		{carol, setGID(62500), vfs.OK}, {carol, setGID(62001), vfs.OK}, {carol, setGID(62003), vfs.OK}, {carol, setGID(62002), vfs.ErrPerm},
		{bob, setGID(62002), vfs.ErrPerm}, {alice, setGID(62001), vfs.ErrPerm},
		{superuser, &vfs.SetAttr{Mask: vfs.AttrUID | vfs.AttrGID, UID: alice.UID, GID: 62999}, vfs.OK},
		{alice, setGID(62999), vfs.OK}, {carol, setGID(62500), vfs.ErrPerm},
	} {
		e.want("SetAttr of the owner", f.SetAttr(e.ctx, c.who, c.s), c.want)
	}
	if a := e.attr(f); a.UID != alice.UID || a.GID != 62999 {
		e.Errorf("belongs to %d:%d", a.UID, a.GID)
	}
	for _, who := range []*vfs.Cred{superuser, alice} {
		for m, want := range map[uint32]uint32{0o6755: 0o755, 0o4700: 0o700, 0o2755: 0o755, 0o1755: 0o1755} {
			e.setattr(f, &vfs.SetAttr{Mask: vfs.AttrGID, GID: alice.GID})
			e.setattr(f, mode(m))
			e.ok("chgrp", f.SetAttr(e.ctx, who, setGID(alice.GID)))
			if a := e.attr(f); a.Mode != want {
				e.Errorf("mode %o became %o by chgrp of %d, want %o", m, a.Mode, who.UID, want)
			}
		}
	}
	d := e.mkdir(dir, "d", 0o755)
	e.setattr(d, mode(0o2755))
	e.setattr(d, &vfs.SetAttr{Mask: vfs.AttrUID | vfs.AttrGID, UID: alice.UID, GID: alice.GID})
	if a := e.attr(d); a.Mode != 0o2755 {
		e.Errorf("a directory of mode 2755 became %o by chown", a.Mode)
	}
	l := e.symlink(dir, "l", "f")
	e.setattr(l, setUID(bob.UID))
	if e.attr(l).UID != bob.UID || e.attr(f).UID == bob.UID {
		e.Error("chown followed a symbolic link")
	}
}

func testChmod(e *env, dir vfs.Node) {
	f := e.as(alice).file(dir, "f", "x")
	for _, who := range []*vfs.Cred{bob, carol} {
		e.want("chmod by another", f.SetAttr(e.ctx, who, mode(0o777)), vfs.ErrPerm)
	}
	e.ok("chmod by the owner", f.SetAttr(e.ctx, alice, mode(0o6755)))
	if a := e.attr(f); a.Mode != 0o6755 {
		e.Errorf("mode is %o, want 6755", a.Mode)
	}
	e.setattr(f, setGID(bob.GID))
	e.ok("chmod of a file of a foreign group", f.SetAttr(e.ctx, alice, mode(0o6755)))
	if a := e.attr(f); a.Mode != 0o4755 {
		e.Errorf("mode is %o, want 4755: the group is not the owner's", a.Mode)
	}
	e.ok("chmod by root", f.SetAttr(e.ctx, superuser, mode(0o6755)))
	if a := e.attr(f); a.Mode != 0o6755 {
		e.Errorf("mode is %o, want 6755", a.Mode)
	}
}

// testTimeRules: any time is for the owner to set, now also for those who may write.
func testTimeRules(e *env, dir vfs.Node) {
	f := e.as(alice).file(dir, "f", "x")
	then := &vfs.SetAttr{Mask: vfs.AttrAtime | vfs.AttrMtime, Atime: vfs.Time{Sec: 1}, Mtime: vfs.Time{Sec: 2}}
	now := &vfs.SetAttr{Mask: vfs.AttrAtime | vfs.AttrMtime, AtimeNow: true, MtimeNow: true}
	e.setattr(f, mode(0o464)) // not even the owner may write, only the group
	for _, c := range []struct {
		who  *vfs.Cred
		s    *vfs.SetAttr
		want vfs.Status
	}{
		{alice, then, vfs.OK}, {alice, now, vfs.OK}, {carol, then, vfs.ErrPerm}, {carol, now, vfs.OK},
		{bob, then, vfs.ErrPerm}, {bob, now, vfs.ErrAccess}, {superuser, then, vfs.OK}, {superuser, now, vfs.OK},
	} {
		if got := vfs.StatusOf(f.SetAttr(e.ctx, c.who, c.s)); got != c.want {
			e.Errorf("SetAttr of times (now %v) by %d: %v, want %v", c.s.MtimeNow, c.who.UID, got, c.want)
		}
	}
}

// testSetID: set-id bits do not survive a change of the data by somebody without privilege.
func testSetID(e *env, dir vfs.Node) {
	f := e.as(alice).file(dir, "f", "x")
	for _, c := range []struct {
		what string
		do   func(who *vfs.Cred) error
	}{
		{"write", func(who *vfs.Cred) error {
			file, err := f.Open(e.ctx, who, vfs.OpenWrite)
			if err != nil {
				return err
			}
			defer file.Close()
			_, err = file.WriteAt(e.ctx, []byte("y"), 0, vfs.Unstable)
			return err
		}},
		{"truncate", func(who *vfs.Cred) error {
			return f.SetAttr(e.ctx, who, &vfs.SetAttr{Mask: vfs.AttrSize, Size: uint64(e.attr(f).Size + 1)})
		}},
	} {
		for who, want := range map[*vfs.Cred]uint32{alice: 0o777, bob: 0o777, superuser: 0o6777} {
			e.setattr(f, mode(0o6777))
			e.ok(c.what, c.do(who))
			if a := e.attr(f); a.Mode != want {
				e.Errorf("mode 6777 became %o by %s of %d, want %o", a.Mode, c.what, who.UID, want)
			}
		}
	}
}

// testSticky: in a sticky directory only owners take names away. It does not open what others own, which some kernels forbid there.
func testSticky(e *env, dir vfs.Node) {
	alice, bob := e.as(alice), e.as(bob)
	alice.file(dir, "a", "")
	alice.mkdir(dir, "ad", 0o755)
	bob.file(dir, "b", "")
	e.want("Remove of another's file", dir.Remove(e.ctx, bob.c, "a", false), vfs.ErrPerm)
	e.want("Remove of another's directory", dir.Remove(e.ctx, bob.c, "ad", true), vfs.ErrPerm)
	e.want("Rename of another's file", dir.Rename(e.ctx, bob.c, "a", dir, "c"), vfs.ErrPerm)
	e.want("Rename over another's file", dir.Rename(e.ctx, bob.c, "b", dir, "a"), vfs.ErrPerm)
	bob.rename(dir, "b", dir, "bb")
	bob.remove(dir, "bb", false)
	alice.remove(dir, "ad", true)
	e.as(superuser).remove(dir, "a", false)
	own := e.mkdir(dir, "own", 0o755)
	e.setattr(own, &vfs.SetAttr{Mask: vfs.AttrUID | vfs.AttrMode, UID: alice.c.UID, Mode: 0o1777})
	bob.file(own, "b", "")
	alice.remove(own, "b", false) // the directory is hers

	// Who moves a directory elsewhere changes its "..", and so must be able to write to it.
	d := e.mkdir(dir, "plain", 0o777)
	e.setattr(d, mode(0o777))
	to := e.mkdir(dir, "to", 0o777)
	e.setattr(to, mode(0o777))
	alice.mkdir(d, "locked", 0o555)
	e.want("Rename of another's directory elsewhere", d.Rename(e.ctx, bob.c, "locked", to, "l"), vfs.ErrAccess)
	bob.rename(d, "locked", d, "renamed")
}

func testXattrModes(e *env, dir vfs.Node) {
	if e.opt.NoXattr {
		return
	}
	f := e.as(alice).file(dir, "f", "").(vfs.Xattrer)
	n := f.(vfs.Node)
	e.ok("SetXattr", f.SetXattr(e.ctx, alice, "a", []byte("v"), 0))
	for bits := range uint32(8) {
		e.setattr(n, mode(bits))
		check := func(what string, err error, may bool) {
			e.Helper()
			if may {
				e.ok(what, err)
			} else {
				e.want(what, err, vfs.ErrAccess)
			}
		}
		_, err := f.GetXattr(e.ctx, bob, "a")
		check("GetXattr", err, bits&4 != 0)
		check("SetXattr", f.SetXattr(e.ctx, bob, "b", []byte("v"), 0), bits&2 != 0)
		if bits&2 != 0 {
			check("RemoveXattr", f.RemoveXattr(e.ctx, bob, "b"), true)
		}
	}
}
