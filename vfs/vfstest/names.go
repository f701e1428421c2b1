package vfstest

import (
	"slices"
	"strings"

	"fileserver/vfs"
)

func testBasics(e *env) {
	caps := e.fs.Caps()
	if caps.FSID == [16]byte{} || caps.MaxName < 14 || caps.MaxLink < 8 || caps.MaxFileSize <= 1<<32 || caps.TimeGranularity < 1 {
		e.Fatalf("Caps are %+v", caps)
	}
	if e.root.Kind() != vfs.KindDirectory || e.attr(e.root).Kind != vfs.KindDirectory {
		e.Fatal("the root is no directory")
	}
	again, err := e.fs.Root(e.ctx)
	e.same(e.node(again, err), e.root)
	e.same(e.node(e.root.Parent(e.ctx, e.c)), e.root)
	d := e.mkdir(e.root, "d", 0o755)
	dd := e.mkdir(d, "dd", 0o755)
	e.same(e.node(dd.Parent(e.ctx, e.c)), d)
	e.same(e.node(d.Parent(e.ctx, e.c)), e.root)
	e.rename(d, "dd", e.root, "dd")
	e.same(e.node(dd.Parent(e.ctx, e.c)), e.root)
	_, err = e.file(e.root, "f", "").Parent(e.ctx, e.c)
	e.want("Parent of a file", err, vfs.ErrNotDir)
	st, err := e.fs.StatFS(e.ctx, e.c)
	e.ok("StatFS", err)
	if st.TotalBytes == 0 || st.FreeBytes > st.TotalBytes || st.AvailBytes > st.FreeBytes || st.BlockSize == 0 {
		e.Fatalf("StatFS: %+v", st)
	}
	e.ok("SyncMeta", e.fs.SyncMeta(e.ctx, e.root, d))
	e.ok("SyncMeta of nothing", e.fs.SyncMeta(e.ctx))

	closed := newEnv(e.T, e.newFS, e.opt)
	f := closed.file(closed.root, "f", "x")
	file := closed.open(f, vfs.OpenRead)
	e.ok("Close", closed.fs.Close())
	_, err = f.GetAttr(e.ctx, vfs.AttrStat)
	e.want("GetAttr after Close", err, vfs.ErrIO)
	_, err = closed.root.Lookup(e.ctx, e.c, "f")
	e.want("Lookup after Close", err, vfs.ErrIO)
	_, _, err = file.ReadAt(e.ctx, make([]byte, 1), 0)
	e.want("ReadAt after Close", err, vfs.ErrIO)
}

// testNames tries names that are not, and names that look as if they were not, in every call that takes one.
func testNames(e *env) {
	f := e.file(e.root, "f", "")
	long := strings.Repeat("n", e.fs.Caps().MaxName)
	for _, bad := range []struct {
		name string
		want vfs.Status
	}{
		{"", vfs.ErrInvalid}, {".", vfs.ErrBadName}, {"..", vfs.ErrBadName}, {"a/b", vfs.ErrBadName}, {"/", vfs.ErrBadName}, {"f/", vfs.ErrBadName}, {"/f", vfs.ErrBadName},
		{"../x", vfs.ErrBadName}, {"f\x00", vfs.ErrBadName}, {"\x00", vfs.ErrBadName}, {long + "n", vfs.ErrNameTooLong},
	} {
		check := func(call string, err error) {
			e.Helper()
			e.want(call+" of the name "+bad.name, err, bad.want)
		}
		_, err := e.root.Lookup(e.ctx, e.c, bad.name)
		check("Lookup", err)
		for _, excl := range []bool{false, true} {
			_, _, err = e.root.Create(e.ctx, e.c, bad.name, excl, mode(0o644))
			check("Create", err)
		}
		_, err = e.root.Mkdir(e.ctx, e.c, bad.name, mode(0o755))
		check("Mkdir", err)
		_, err = e.root.Symlink(e.ctx, e.c, bad.name, "t", &vfs.SetAttr{})
		check("Symlink", err)
		if !e.fs.Caps().NoSpecial {
			_, err = e.root.Mknod(e.ctx, e.c, bad.name, vfs.KindFIFO, vfs.Dev{}, mode(0o644))
			check("Mknod", err)
		}
		check("Link", e.root.Link(e.ctx, e.c, bad.name, f))
		check("Remove", e.root.Remove(e.ctx, e.c, bad.name, false))
		check("Remove", e.root.Remove(e.ctx, e.c, bad.name, true))
		check("Rename from", e.root.Rename(e.ctx, e.c, bad.name, e.root, "x"))
		check("Rename to", e.root.Rename(e.ctx, e.c, "f", e.root, bad.name))
	}
	if got := e.list(e.root); !slices.Equal(got, []string{"f"}) {
		e.Fatalf("bad names left %q", got)
	}

	want := []string{"f"}
	for _, name := range []string{
		long, "...", ". ", " ", "-rf", "a\nb", "\\", "a\\b", "*", "\xff\xfe", "caf\xc3\xa9", "cafe\xcc\x81", "F", "con", "a:b", "\x01", strings.Repeat("\xe2\x82\xac", 85)[:min(255, len(long))],
	} {
		d := e.mkdir(e.root, name, 0o755)
		e.same(e.lookup(e.root, name), d)
		want = append(want, name)
	}
	slices.Sort(want)
	if got := e.list(e.root); !slices.Equal(got, want) {
		e.Fatalf("names are %q, want %q", got, want)
	}
	e.rename(e.root, long, e.root, long[1:]+"m")
	e.gone(e.root, long)
	e.lookup(e.root, long[1:]+"m")
}
