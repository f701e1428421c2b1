package vfstest

import (
	"fmt"

	"fileserver/vfs"
)

// Identities of the tests of permissions.
var (
	superuser = &vfs.Cred{}
	alice     = &vfs.Cred{UID: 61001, GID: 62001}
	bob       = &vfs.Cred{UID: 61002, GID: 62002}
	carol     = &vfs.Cred{UID: 61003, GID: 62003, Groups: []uint32{62500, 62001}} // in alice's group
)

// as is the same test by another.
func (e *env) as(c *vfs.Cred) *env {
	s := *e
	s.c = c
	return &s
}

func testPermissions(e *env) {
	if !e.opt.Root {
		e.ownPermissions()
		return
	}
	// Everyone may make things in pub.
	e.sub("Modes", func(e *env) { testModes(e, e.mkdir(e.root, "modes", 0o777)) })
	e.sub("Directories", func(e *env) { testDirModes(e, e.mkdir(e.root, "dirs", 0o777)) })
	e.sub("Ownership", func(e *env) { testOwnership(e, e.mkdir(e.root, "own", 0o777)) })
	e.sub("Chown", func(e *env) { testChown(e, e.mkdir(e.root, "chown", 0o777)) })
	e.sub("Chmod", func(e *env) { testChmod(e, e.mkdir(e.root, "chmod", 0o777)) })
	e.sub("Times", func(e *env) { testTimeRules(e, e.mkdir(e.root, "times", 0o777)) })
	e.sub("SetID", func(e *env) { testSetID(e, e.mkdir(e.root, "setid", 0o777)) })
	e.sub("Sticky", func(e *env) { testSticky(e, e.mkdir(e.root, "sticky", 0o1777)) })
	e.sub("Xattr", func(e *env) { testXattrModes(e, e.mkdir(e.root, "xattr", 0o777)) })
}

// ownPermissions checks that the caller's own modes bind it, where no other identity can be taken.
func (e *env) ownPermissions() {
	if e.c.UID == 0 {
		return
	}
	n := e.file(e.root, "f", "x")
	e.setattr(n, mode(0))
	_, err := n.Open(e.ctx, e.c, vfs.OpenRead)
	e.want("Open of a file of mode 0", err, vfs.ErrAccess)
	e.open(n, vfs.OpenRead|vfs.AccessOwnerOverride)
	if got, err := n.Access(e.ctx, e.c, vfs.AccessRead|vfs.AccessModify); got != 0 || err != nil {
		e.Errorf("Access = %d, %v", got, err)
	}
	d := e.mkdir(e.root, "d", 0o500)
	_, _, err = d.Create(e.ctx, e.c, "x", true, mode(0o644))
	e.want("Create in a directory of mode 500", err, vfs.ErrAccess)
	e.want("chown", n.SetAttr(e.ctx, e.c, &vfs.SetAttr{Mask: vfs.AttrUID, UID: e.c.UID + 1}), vfs.ErrPerm)
}

// testModes tries every permission bit of a file for everyone, by Access and by Open.
func testModes(e *env, dir vfs.Node) {
	f := e.as(alice).file(dir, "f", "x")
	if a := e.attr(f); a.UID != alice.UID || a.GID != alice.GID {
		e.Fatalf("alice's file belongs to %d:%d", a.UID, a.GID)
	}
	for _, m := range []uint32{0, 0o400, 0o200, 0o100, 0o040, 0o020, 0o010, 0o004, 0o002, 0o001, 0o700, 0o070, 0o007, 0o077, 0o640, 0o755, 0o777} {
		e.setattr(f, mode(m))
		for who, shift := range map[*vfs.Cred]uint32{alice: 6, carol: 3, bob: 0} {
			e.tryFile(f, m, who, m>>shift&7)
		}
		all := uint32(6)
		if m&0o111 != 0 {
			all = 7
		}
		e.tryFile(f, m, superuser, all)
	}
	e.setattr(f, mode(0))
	alice := e.as(alice)
	alice.open(f, vfs.OpenRead|vfs.OpenWrite|vfs.AccessOwnerOverride)
	_, err := f.Open(e.ctx, bob, vfs.OpenRead|vfs.AccessOwnerOverride)
	e.want("Open with the owner's privilege by another", err, vfs.ErrAccess)
	e.want("truncate by another", f.SetAttr(e.ctx, bob, &vfs.SetAttr{Mask: vfs.AttrSize}), vfs.ErrAccess)
	alice.truncate(f, 7) // an owner may
	if a := e.attr(f); a.Size != 7 {
		e.Errorf("size is %d", a.Size)
	}
	e.setattr(f, mode(0o622))
	e.ok("truncate by a writer", f.SetAttr(e.ctx, bob, &vfs.SetAttr{Mask: vfs.AttrSize, Size: 3}))
}

// tryFile checks what c, who has the rwx bits, may do to a file.
func (e *env) tryFile(f vfs.Node, m uint32, c *vfs.Cred, bits uint32) {
	e.Helper()
	var want vfs.Access
	if bits&4 != 0 {
		want |= vfs.AccessRead
	}
	if bits&2 != 0 {
		want |= vfs.AccessModify | vfs.AccessExtend
	}
	if bits&1 != 0 {
		want |= vfs.AccessExecute
	}
	const all = vfs.AccessRead | vfs.AccessModify | vfs.AccessExtend | vfs.AccessExecute | vfs.AccessLookup
	if got, err := f.Access(e.ctx, c, all); got != want || err != nil {
		e.Errorf("mode %o: Access for %d is %06b, %v; want %06b", m, c.UID, got, err, want)
	}
	if got, _ := f.Access(e.ctx, c, vfs.AccessRead); got != want&vfs.AccessRead {
		e.Errorf("mode %o: Access to read alone is %06b for %d", m, got, c.UID)
	}
	for flags, need := range map[vfs.OpenFlags]uint32{vfs.OpenRead: 4, vfs.OpenWrite: 2, vfs.OpenRead | vfs.OpenWrite: 6} {
		file, err := f.Open(e.ctx, c, flags)
		if err == nil {
			file.Close()
		}
		st := vfs.ErrAccess
		if bits&need == need {
			st = vfs.OK
		}
		if vfs.StatusOf(err) != st {
			e.Errorf("mode %o: Open(%d) by %d: %v, want %v", m, flags, c.UID, err, st)
		}
	}
	e.tryExecutable(f, m, c, bits)
}

// tryExecutable checks what [vfs.ReadIfExecutable] adds: reading, and nothing else.
func (e *env) tryExecutable(f vfs.Node, m uint32, c *vfs.Cred, bits uint32) {
	e.Helper()
	for flags, may := range map[vfs.OpenFlags]bool{
		vfs.OpenRead:                 bits&5 != 0,
		vfs.OpenWrite:                bits&2 != 0,
		vfs.OpenRead | vfs.OpenWrite: bits&6 == 6,
	} {
		file, err := f.Open(e.ctx, c, flags|vfs.ReadIfExecutable)
		if err == nil {
			file.Close()
		}
		want := vfs.ErrAccess
		if may {
			want = vfs.OK
		}
		if vfs.StatusOf(err) != want {
			e.Errorf("mode %o: Open(%d|ReadIfExecutable) by %d: %v, want %v", m, flags, c.UID, err, want)
		}
	}
}

// testDirModes tries every permission of a directory for owner, group and others.
func testDirModes(e *env, dir vfs.Node) {
	d := e.as(alice).mkdir(dir, "d", 0o777)
	e.as(alice).file(d, "f", "x")
	i := 0
	for bits := range uint32(8) {
		for who, shift := range map[*vfs.Cred]uint32{alice: 6, carol: 3, bob: 0} {
			e.setattr(d, mode(bits<<shift))
			i++
			e.tryDir(d, who, bits, fmt.Sprintf("n%d", i))
		}
		e.setattr(d, mode(0))
		i++
		e.tryDir(d, superuser, 7, fmt.Sprintf("n%d", i))
	}
}

func (e *env) tryDir(d vfs.Node, c *vfs.Cred, bits uint32, name string) {
	e.Helper()
	check := func(what string, err error, may bool) {
		e.Helper()
		want := vfs.ErrAccess
		if may {
			want = vfs.OK
		}
		if got := vfs.StatusOf(err); got != want {
			e.Errorf("%s in a directory for %d of mode %o: %v, want %v", what, c.UID, bits, got, want)
		}
	}
	r, w, x := bits&4 != 0, bits&2 != 0, bits&1 != 0
	var want vfs.Access
	if r {
		want |= vfs.AccessRead
	}
	if x {
		want |= vfs.AccessLookup
	}
	if w && x {
		want |= vfs.AccessModify | vfs.AccessExtend | vfs.AccessDelete
	}
	if got, err := d.Access(e.ctx, c, vfs.AccessRead|vfs.AccessLookup|vfs.AccessModify|vfs.AccessExtend|vfs.AccessDelete|vfs.AccessExecute); got != want || err != nil {
		e.Errorf("Access to a directory of mode %o is %06b, %v; want %06b", bits, got, err, want)
	}
	n, err := d.Lookup(e.ctx, c, "f")
	if err == nil {
		n.Release()
	}
	check("Lookup", err, x)
	_, err = d.Lookup(e.ctx, c, "missing")
	if x {
		e.want("Lookup of nothing", err, vfs.ErrNotFound)
	} else {
		check("Lookup of nothing", err, false)
	}
	n, err = d.Parent(e.ctx, c)
	if err == nil {
		n.Release()
	}
	check("Parent", err, x)
	_, err = d.ReadDir(e.ctx, c, 0, 0, false, func(*vfs.DirEntry) bool { return true })
	check("ReadDir", err, r)
	n, _, err = d.Create(e.ctx, c, name, true, mode(0o644))
	if err == nil {
		n.Release()
	}
	check("Create", err, w && x)
	n, err = d.Mkdir(e.ctx, c, name+"d", mode(0o755))
	if err == nil {
		n.Release()
	}
	check("Mkdir", err, w && x)
	check("Rename", d.Rename(e.ctx, c, "f", d, "g"), w && x)
	if w && x {
		check("Rename back", d.Rename(e.ctx, c, "g", d, "f"), true)
		check("Remove", d.Remove(e.ctx, c, name, false), true)
		check("Remove", d.Remove(e.ctx, c, name+"d", true), true)
		return
	}
	check("Remove", d.Remove(e.ctx, c, "f", false), false)
	// What exists is said to exist, whether or not it could be made.
	_, _, err = d.Create(e.ctx, c, "f", true, mode(0o644))
	if x {
		e.want("Create of what exists", err, vfs.ErrExist)
	} else {
		check("Create of what exists", err, false)
	}
}

// testOwnership: what somebody makes is theirs, and in a set-gid directory the directory's group's.
func testOwnership(e *env, dir vfs.Node) {
	carol := e.as(carol)
	objects := carol.all(dir)
	for name, n := range objects {
		if a := e.attr(n); a.UID != carol.c.UID || a.GID != carol.c.GID {
			e.Errorf("%s of carol belongs to %d:%d", name, a.UID, a.GID)
		}
	}
	d := e.mkdir(dir, "setgid", 0o777)
	e.setattr(d, &vfs.SetAttr{Mask: vfs.AttrGID | vfs.AttrMode, GID: 62777, Mode: 0o2777})
	for name, n := range carol.all(d) {
		a := e.attr(n)
		if a.UID != carol.c.UID || a.GID != 62777 {
			e.Errorf("%s of carol in a set-gid directory belongs to %d:%d", name, a.UID, a.GID)
		}
		if n.Kind() == vfs.KindDirectory && a.Mode != 0o2755 {
			e.Errorf("a directory in a set-gid directory has mode %o", a.Mode)
		}
	}
	// Nobody makes a set-gid program for a group that is not theirs.
	n := carol.create(d, "tool", 0o2755)
	if a := e.attr(n); a.Mode != 0o755 {
		e.Errorf("a set-gid file of a foreign group has mode %o", a.Mode)
	}
	n, _, err := dir.Create(e.ctx, superuser, "given", true, &vfs.SetAttr{Mask: vfs.AttrMode | vfs.AttrUID | vfs.AttrGID, Mode: 0o600, UID: alice.UID, GID: alice.GID})
	if a := e.attr(e.node(n, err)); a.UID != alice.UID || a.GID != alice.GID {
		e.Errorf("a file given to alice belongs to %d:%d", a.UID, a.GID)
	}
	n, _, err = dir.Create(e.ctx, bob, "stolen", true, &vfs.SetAttr{Mask: vfs.AttrMode | vfs.AttrUID, Mode: 0o600, UID: alice.UID})
	if err == nil {
		n.Release()
	}
	e.want("Create for another", err, vfs.ErrPerm)
	e.gone(dir, "stolen")
	n, _, err = dir.Create(e.ctx, carol.c, "group", true, &vfs.SetAttr{Mask: vfs.AttrMode | vfs.AttrGID, Mode: 0o640, GID: 62500})
	if a := e.attr(e.node(n, err)); a.GID != 62500 || a.Mode != 0o640 {
		e.Errorf("a file made for a group of one's own: %+v", a)
	}
}
