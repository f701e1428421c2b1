package vfstest

import (
	"strings"

	"fileserver/vfs"
)

// all makes one object of every kind the file system has, by name.
func (e *env) all(dir vfs.Node) map[string]vfs.Node {
	e.Helper()
	objects := map[string]vfs.Node{
		"file": e.file(dir, "file", "content"), "dir": e.mkdir(dir, "dir", 0o755), "link": e.symlink(dir, "link", "file"),
	}
	if e.fs.Caps().NoSpecial {
		_, err := dir.Mknod(e.ctx, e.c, "fifo", vfs.KindFIFO, vfs.Dev{}, mode(0o644))
		e.want("Mknod", err, vfs.ErrUnsupported, vfs.ErrPerm)
		return objects
	}
	objects["fifo"] = e.node(dir.Mknod(e.ctx, e.c, "fifo", vfs.KindFIFO, vfs.Dev{}, mode(0o640)))
	objects["socket"] = e.node(dir.Mknod(e.ctx, e.c, "socket", vfs.KindSocket, vfs.Dev{}, mode(0o640)))
	return objects
}

func testKinds(e *env) {
	kinds := map[string]vfs.Kind{
		"file": vfs.KindRegular, "dir": vfs.KindDirectory, "link": vfs.KindSymlink, "fifo": vfs.KindFIFO, "socket": vfs.KindSocket,
	}
	objects := e.all(e.root)
	ids := map[uint64]string{}
	for name, n := range objects {
		a := e.attr(n)
		if n.Kind() != kinds[name] || a.Kind != kinds[name] {
			e.Errorf("%s is of kind %d, and by GetAttr %d", name, n.Kind(), a.Kind)
		}
		if other := ids[a.FileID]; other != "" || a.FileID == 0 {
			e.Errorf("file id %d of %s, and of %q", a.FileID, name, other)
		}
		ids[a.FileID] = name
		e.same(e.lookup(e.root, name), n)
		if name != "dir" && a.Nlink != 1 {
			e.Errorf("%s has %d links", name, a.Nlink)
		}
		if a.UID != e.c.UID {
			e.Errorf("%s belongs to %d", name, a.UID)
		}
		e.wrongKind(name, n)
	}
	if got, err := objects["link"].Readlink(e.ctx, e.c); got != "file" || err != nil {
		e.Errorf("Readlink = %q, %v", got, err)
	}
	if a := e.attr(objects["link"]); a.Size != 4 {
		e.Errorf("a symbolic link of 4 bytes has size %d", a.Size)
	}

	for _, target := range []string{"/", "../../etc/passwd", "//x//", "a b\n\xff", strings.Repeat("t", 255), strings.Repeat("/", 4000), "link"} {
		n := e.symlink(objects["dir"], "s", target)
		if got, err := n.Readlink(e.ctx, e.c); got != target || err != nil {
			e.Errorf("Readlink = %.40q, %v; want %.40q", got, err, target)
		}
		e.remove(objects["dir"], "s", false)
	}
	_, err := e.root.Symlink(e.ctx, e.c, "empty", "", &vfs.SetAttr{})
	e.want("Symlink to nothing", err, vfs.ErrInvalid, vfs.ErrNotFound)
	_, err = e.root.Symlink(e.ctx, e.c, "long", strings.Repeat("t", 5000), &vfs.SetAttr{})
	e.want("Symlink of 5000 bytes", err, vfs.ErrNameTooLong)

	if e.opt.Root && !e.fs.Caps().NoSpecial {
		for name, kind := range map[string]vfs.Kind{"block": vfs.KindBlock, "char": vfs.KindChar} {
			dev := vfs.Dev{Major: 7, Minor: 300}
			n := e.node(e.root.Mknod(e.ctx, e.c, name, kind, dev, mode(0o600)))
			if a := e.attr(n); a.Kind != kind || a.Rdev != dev || a.Mode != 0o600 {
				e.Errorf("device is %+v", a)
			}
			e.wrongKind(name, n)
		}
	}
	for _, kind := range []vfs.Kind{vfs.KindUnknown, vfs.KindRegular, vfs.KindDirectory, vfs.KindSymlink} {
		n, err := e.root.Mknod(e.ctx, e.c, "x", kind, vfs.Dev{}, mode(0o600))
		if err == nil {
			n.Release()
		}
		e.want("Mknod of what is no special file", err, vfs.ErrWrongType, vfs.ErrInvalid)
	}
}

// wrongKind calls what is not for objects of this kind.
func (e *env) wrongKind(name string, n vfs.Node) {
	e.Helper()
	kind := n.Kind()
	if kind != vfs.KindDirectory {
		_, err := n.Lookup(e.ctx, e.c, "x")
		e.want("Lookup in "+name, err, vfs.ErrNotDir)
		_, _, err = n.Create(e.ctx, e.c, "x", false, mode(0o644))
		e.want("Create in "+name, err, vfs.ErrNotDir)
		_, err = n.Mkdir(e.ctx, e.c, "x", mode(0o755))
		e.want("Mkdir in "+name, err, vfs.ErrNotDir)
		_, err = n.Symlink(e.ctx, e.c, "x", "t", &vfs.SetAttr{})
		e.want("Symlink in "+name, err, vfs.ErrNotDir)
		e.want("Link in "+name, n.Link(e.ctx, e.c, "x", n), vfs.ErrNotDir)
		e.want("Remove in "+name, n.Remove(e.ctx, e.c, "x", false), vfs.ErrNotDir)
		e.want("Rename in "+name, n.Rename(e.ctx, e.c, "x", e.root, "y"), vfs.ErrNotDir)
		e.want("Rename to "+name, e.root.Rename(e.ctx, e.c, name, n, "y"), vfs.ErrNotDir)
		_, err = n.ReadDir(e.ctx, e.c, 0, 0, false, func(*vfs.DirEntry) bool { return true })
		e.want("ReadDir of "+name, err, vfs.ErrNotDir)
	}
	if kind != vfs.KindSymlink {
		_, err := n.Readlink(e.ctx, e.c)
		e.want("Readlink of "+name, err, vfs.ErrInvalid)
	}
	if kind == vfs.KindRegular {
		return
	}
	openWant := map[vfs.Kind]vfs.Status{vfs.KindDirectory: vfs.ErrIsDir, vfs.KindSymlink: vfs.ErrSymlink}[kind]
	sizeWant := vfs.ErrInvalid
	if kind == vfs.KindDirectory {
		sizeWant = vfs.ErrIsDir
	}
	if openWant == vfs.OK {
		openWant = vfs.ErrWrongType
	}
	for _, flags := range []vfs.OpenFlags{vfs.OpenRead, vfs.OpenWrite, vfs.OpenRead | vfs.OpenWrite} {
		_, err := n.Open(e.ctx, e.c, flags)
		e.want("Open of "+name, err, openWant)
	}
	e.want("SetAttr of the size of "+name, n.SetAttr(e.ctx, e.c, &vfs.SetAttr{Mask: vfs.AttrSize, Size: 1}), sizeWant)
}

func testCreate(e *env) {
	n := e.create(e.root, "f", 0o640)
	if a := e.attr(n); a.Mode != 0o640 || a.Size != 0 || a.Kind != vfs.KindRegular {
		e.Fatalf("made %+v", a)
	}
	e.truncate(n, 5)
	_, created, err := e.root.Create(e.ctx, e.c, "f", true, mode(0o644))
	if e.want("Create of what exists", err, vfs.ErrExist); created {
		e.Fatal("made what exists")
	}
	there, created, err := e.root.Create(e.ctx, e.c, "f", false, &vfs.SetAttr{Mask: vfs.AttrMode | vfs.AttrSize, Mode: 0o777})
	e.same(e.node(there, err), n)
	if a := e.attr(n); created || a.Mode != 0o640 || a.Size != 5 {
		e.Fatalf("Create changed what exists: %v, %+v", created, a)
	}
	d := e.mkdir(e.root, "d", 0o750)
	if a := e.attr(d); a.Mode != 0o750 {
		e.Fatalf("directory has mode %o", a.Mode)
	}
	there, created, err = e.root.Create(e.ctx, e.c, "d", false, mode(0o644))
	if e.same(e.node(there, err), d); created {
		e.Fatal("made a file over a directory")
	}
	s := e.symlink(e.root, "s", "nowhere")
	there, created, err = e.root.Create(e.ctx, e.c, "s", false, mode(0o644))
	if e.same(e.node(there, err), s); created {
		e.Fatal("followed a symbolic link")
	}
	for _, name := range []string{"f", "d", "s"} {
		_, err := e.root.Mkdir(e.ctx, e.c, name, mode(0o755))
		e.want("Mkdir of what exists", err, vfs.ErrExist)
		_, err = e.root.Symlink(e.ctx, e.c, name, "t", &vfs.SetAttr{})
		e.want("Symlink of what exists", err, vfs.ErrExist)
	}
	for _, m := range []uint32{0, 0o777, 0o4755, 0o001, 0o1644} {
		if a := e.attr(e.create(d, "m", m)); a.Mode != m {
			e.Errorf("mode %o, want %o", a.Mode, m)
		}
		e.remove(d, "m", false)
	}
	if a := e.attr(e.mkdir(d, "sticky", 0o1777)); a.Mode != 0o1777 {
		e.Errorf("mode %o, want 1777", a.Mode)
	}

	at := vfs.Time{Sec: 1234567890}
	n, _, err = e.root.Create(e.ctx, e.c, "all", true, &vfs.SetAttr{
		Mask: vfs.AttrMode | vfs.AttrSize | vfs.AttrAtime | vfs.AttrMtime, Mode: 0o600, Size: 7, Atime: at, Mtime: vfs.Time{Sec: 99},
	})
	e.node(n, err)
	if a := e.attr(n); a.Mode != 0o600 || a.Size != 7 || a.Atime != at || a.Mtime.Sec != 99 {
		e.Fatalf("made %+v", a)
	}
	e.contains(n, "\x00\x00\x00\x00\x00\x00\x00")
}

func testRemove(e *env) {
	for name, n := range e.all(e.root) {
		isDir := n.Kind() == vfs.KindDirectory
		want := vfs.ErrNotDir
		if isDir {
			want = vfs.ErrIsDir
		}
		e.want("Remove of "+name, e.root.Remove(e.ctx, e.c, name, !isDir), want)
		e.remove(e.root, name, isDir)
		e.gone(e.root, name)
		e.want("Remove of what is gone", e.root.Remove(e.ctx, e.c, name, isDir), vfs.ErrNotFound)
		e.want("Remove of what is gone", e.root.Remove(e.ctx, e.c, name, !isDir), vfs.ErrNotFound)
	}
	d := e.mkdir(e.root, "d", 0o755)
	e.file(d, "f", "")
	e.want("Remove of a full directory", e.root.Remove(e.ctx, e.c, "d", true), vfs.ErrNotEmpty)
	target := e.file(e.root, "target", "x")
	e.symlink(e.root, "link", "target")
	e.remove(e.root, "link", false)
	e.contains(target, "x")
	e.remove(d, "f", false)
	e.remove(e.root, "d", true)
	_, _, err := d.Create(e.ctx, e.c, "x", true, mode(0o644))
	e.want("Create in a removed directory", err, vfs.ErrNotFound, vfs.ErrStale)
}

func testLink(e *env) {
	d := e.mkdir(e.root, "d", 0o755)
	f := e.file(e.root, "f", "x")
	before := e.attr(f)
	e.ok("Link", d.Link(e.ctx, e.c, "g", f))
	g := e.lookup(d, "g")
	e.same(f, g)
	if a := e.attr(f); a.Nlink != 2 || a.Change == before.Change {
		e.Fatalf("after Link: %+v", a)
	}
	e.want("Link of what exists", d.Link(e.ctx, e.c, "g", f), vfs.ErrExist)
	e.want("Link of a directory", e.root.Link(e.ctx, e.c, "dd", d), vfs.ErrIsDir)
	e.remove(e.root, "f", false)
	e.contains(g, "x")
	if a := e.attr(g); a.Nlink != 1 {
		e.Fatalf("%d links after one of two is removed", a.Nlink)
	}
	for name, n := range e.all(e.root) {
		if n.Kind() == vfs.KindDirectory {
			continue
		}
		e.ok("Link of "+name, d.Link(e.ctx, e.c, "l"+name, n))
		e.same(e.lookup(d, "l"+name), n)
		if a := e.attr(n); a.Nlink != 2 {
			e.Errorf("%s has %d links", name, a.Nlink)
		}
	}
	other := newEnv(e.T, e.newFS, e.opt)
	e.want("Link to another file system", other.root.Link(e.ctx, e.c, "g", g), vfs.ErrXDev)
	of := other.file(other.root, "of", "")
	e.want("Rename to another file system", other.root.Rename(e.ctx, e.c, "of", e.root, "of"), vfs.ErrXDev)
	e.same(other.lookup(other.root, "of"), of)
}
