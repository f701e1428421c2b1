package posix_test

import (
	"context"
	"testing"

	"fileserver/vfs"
	"fileserver/vfs/posix"
)

func TestSmoke(t *testing.T) {
	for _, mode := range []posix.HandleMode{posix.HandleAuto, posix.HandleTable} {
		dir := t.TempDir()
		fs, err := posix.New(posix.Config{Root: dir, StateDir: t.TempDir(), Handles: mode})
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		root, err := fs.Root(ctx)
		if err != nil {
			t.Fatal(err)
		}
		c := &vfs.Cred{}
		n, created, err := root.Create(ctx, c, "a", true, &vfs.SetAttr{Mask: vfs.AttrMode, Mode: 0o640})
		if err != nil || !created {
			t.Fatal(created, err)
		}
		f, err := n.Open(ctx, c, vfs.OpenRead|vfs.OpenWrite)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(ctx, []byte("hello"), 3, vfs.FileSync); err != nil {
			t.Fatal(err)
		}
		if err := f.Commit(ctx, 0, 0); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 8)
		if k, eof, err := f.ReadAt(ctx, b, 0); k != 8 || !eof || err != nil {
			t.Fatal(k, eof, err)
		}
		h := n.Handle()
		f.Close()
		n.Release()
		m, err := fs.Resolve(ctx, h)
		if err != nil {
			t.Fatal(err)
		}
		if eof, err := root.ReadDir(ctx, c, 0, vfs.AttrStat, true, func(e *vfs.DirEntry) bool { t.Logf("%+v", *e); return true }); !eof || err != nil {
			t.Fatal(eof, err)
		}
		m.Release()
		root.Release()
		if err := fs.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
