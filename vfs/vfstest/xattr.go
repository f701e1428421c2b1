package vfstest

import (
	"bytes"
	"slices"
	"strings"

	"fileserver/vfs"
)

func testXattr(e *env) {
	f := e.file(e.root, "f", "")
	x, ok := f.(vfs.Xattrer)
	if e.opt.NoXattr {
		if ok {
			e.lacks("SetXattr", ok, x.SetXattr(e.ctx, e.c, "a", []byte("v"), 0))
		}
		return
	}
	if !ok {
		e.Fatal("the Node is no Xattrer")
	}
	for name, n := range map[string]vfs.Node{"file": f, "directory": e.mkdir(e.root, "d", 0o755)} {
		e.sub(name, func(e *env) { e.xattrs(n, n.(vfs.Xattrer)) })
	}
	e.ok("SetXattr", x.SetXattr(e.ctx, e.c, "stays", []byte("v"), 0))
	e.rename(e.root, "f", e.root, "g")
	v, err := e.lookup(e.root, "g").(vfs.Xattrer).GetXattr(e.ctx, e.c, "stays")
	if string(v) != "v" || err != nil {
		e.Errorf("after a rename: %q, %v", v, err)
	}
	link := e.symlink(e.root, "l", "g").(vfs.Xattrer)
	_, err = link.GetXattr(e.ctx, e.c, "stays")
	e.want("GetXattr of a symbolic link", err, vfs.ErrNoAttr, vfs.ErrPerm, vfs.ErrUnsupported)
	e.want("SetXattr of a symbolic link", link.SetXattr(e.ctx, e.c, "a", []byte("v"), 0), vfs.ErrPerm, vfs.ErrUnsupported, vfs.ErrWrongType)
}

func (e *env) xattrs(n vfs.Node, x vfs.Xattrer) {
	list := func(want ...string) {
		e.Helper()
		if got, err := x.ListXattrs(e.ctx, e.c); err != nil || !slices.Equal(got, want) {
			e.Fatalf("ListXattrs = %q, %v; want %q", got, err, want)
		}
	}
	get := func(name, want string) {
		e.Helper()
		if got, err := x.GetXattr(e.ctx, e.c, name); err != nil || string(got) != want {
			e.Fatalf("GetXattr(%q) = %q, %v; want %q", name, got, err, want)
		}
	}
	set := func(name, v string, flags vfs.XattrFlags, want vfs.Status) {
		e.Helper()
		e.want("SetXattr("+name+")", x.SetXattr(e.ctx, e.c, name, []byte(v), flags), want)
	}
	list()
	_, err := x.GetXattr(e.ctx, e.c, "a")
	e.want("GetXattr", err, vfs.ErrNoAttr)
	e.want("RemoveXattr", x.RemoveXattr(e.ctx, e.c, "a"), vfs.ErrNoAttr)
	before := e.attr(n)
	set("b", "one", 0, vfs.OK)
	if a := e.attr(n); a.Change == before.Change {
		e.Error("SetXattr leaves the change attribute")
	}
	set("a", "\x00\xff", vfs.XattrCreate, vfs.OK)
	set("a", "x", vfs.XattrCreate, vfs.ErrExist)
	set("b", "two", vfs.XattrReplace, vfs.OK)
	set("c", "x", vfs.XattrReplace, vfs.ErrNoAttr)
	get("a", "\x00\xff")
	get("b", "two")
	set("b", "", 0, vfs.OK)
	get("b", "")
	set("user.c", "dotted", 0, vfs.OK)
	get("user.c", "dotted")
	list("a", "b", "user.c")
	long := strings.Repeat("n", 200)
	set(long, "long name", 0, vfs.OK)
	get(long, "long name")
	e.ok("RemoveXattr", x.RemoveXattr(e.ctx, e.c, "b"))
	e.ok("RemoveXattr", x.RemoveXattr(e.ctx, e.c, long))
	list("a", "user.c")
	big := string(bytes.Repeat([]byte("v"), 1000))
	set("big", big, 0, vfs.OK)
	get("big", big)
	set("", "x", 0, vfs.ErrInvalid)
	set(strings.Repeat("n", 300), "x", 0, vfs.ErrNameTooLong)
	set("huge", strings.Repeat("v", 65537), 0, vfs.ErrAttrTooBig)
	list("a", "big", "user.c")
	for _, name := range []string{"a", "big", "user.c"} {
		e.ok("RemoveXattr", x.RemoveXattr(e.ctx, e.c, name))
	}
	list()
}
