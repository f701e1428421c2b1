package namespace

import (
	"context"
	"testing"

	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/vfstest/mem"
)

func TestMetaValue(t *testing.T) {
	for _, m := range []Meta{
		{}, {Known: true}, {Known: true, Attributes: wire.FileAttributeHidden | wire.FileAttributeSparseFile}, {Created: 1 << 60},
		{Known: true, Attributes: Stored, Created: 12345},
	} {
		b := m.append(nil)
		if got := parseMeta(b); got != m {
			t.Errorf("%+v is %+v", m, got)
		}
		for n := range b {
			if got := parseMeta(b[:n]); got != (Meta{}) {
				t.Errorf("%d bytes are %+v", n, got)
			}
		}
	}
}

func FuzzMeta(f *testing.F) {
	f.Add((&Meta{Known: true, Attributes: Stored, Created: 1}).append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		m := parseMeta(b)
		if m.Attributes&^Stored != 0 || m.Created >= 1<<63 || parseMeta(m.append(nil)) != m {
			t.Fatalf("%+v", m)
		}
	})
}

func TestMeta(t *testing.T) {
	ctx, root := context.Background(), &vfs.Cred{}
	fs := mem.New(mem.Options{})
	dir, _ := fs.Root(ctx)
	defer dir.Release()
	n, _, err := dir.Create(ctx, root, ".f", true, &vfs.SetAttr{Mask: vfs.AttrMode})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Release()
	v, hiding := New(fs, Options{}), New(fs, Options{HideDotFiles: true})
	m := LoadMeta(ctx, n)
	if m != (Meta{}) || v.Attributes(n.Kind(), ".f", &m) != wire.FileAttributeArchive {
		t.Errorf("a new file: %+v", m)
	}
	if a := hiding.Attributes(n.Kind(), ".f", &m); a != wire.FileAttributeArchive|wire.FileAttributeHidden {
		t.Errorf("a dot file: %#x", a)
	}
	a, _ := n.GetAttr(ctx, vfs.AttrStat)
	if times := TimesOf(&a, &m); times.Created != filetime(a.Btime) {
		t.Error("time of creation")
	}
	a.Mask &^= vfs.AttrBtime
	a.Mtime.Sec -= 1000
	if times := TimesOf(&a, &m); times.Created != times.Written {
		t.Error("without one it is the earliest other")
	}
	m = Meta{Known: true, Created: 1 << 57}
	if err := StoreMeta(ctx, n, &m); err != nil {
		t.Fatal(err)
	}
	if got := LoadMeta(ctx, n); got != m || TimesOf(&a, &got).Created != 1<<57 || hiding.Attributes(n.Kind(), ".f", &got) != wire.FileAttributeNormal {
		t.Errorf("%+v", got)
	}
	m = Meta{}
	if v.Attributes(vfs.KindDirectory, "d", &m) != wire.FileAttributeDirectory || v.Attributes(vfs.KindSymlink, "l", &m) != wire.FileAttributeReparsePoint {
		t.Error("attributes of directories and links")
	}
	if !OwnXattr(metaName) || OwnXattr("x") {
		t.Error("OwnXattr")
	}
}

// A file system without extended attributes keeps a time of creation if it can.
func TestMetaWithoutXattrs(t *testing.T) {
	ctx := context.Background()
	fs := mem.New(mem.Options{})
	dir, _ := fs.Root(ctx)
	defer dir.Release()
	bare := struct{ vfs.Node }{dir}
	if err := StoreMeta(ctx, bare, &Meta{Known: true}); vfs.StatusOf(err) != vfs.ErrUnsupported {
		t.Error(err)
	}
	if err := StoreMeta(ctx, bare, &Meta{Created: wire.UnixFiletime(1000, 0)}); err != nil {
		t.Fatal(err)
	}
	if a, _ := dir.GetAttr(ctx, vfs.AttrBtime); a.Btime.Sec != 1000 {
		t.Error(a.Btime)
	}
	if LoadMeta(ctx, bare) != (Meta{}) {
		t.Error("something is kept")
	}
}
