package mem_test

import (
	"context"
	"testing"

	"fileserver/vfs"
	"fileserver/vfs/mem"
)

var (
	ctx  = context.Background()
	root = &vfs.Cred{}
)

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// create makes a file in the root directory and opens it.
func create(t *testing.T, fs *mem.FS, name string) (vfs.Node, vfs.File) {
	t.Helper()
	dir := must[vfs.Node](t)(fs.Root(ctx))
	defer dir.Release()
	n, _, err := dir.Create(ctx, root, name, false, &vfs.SetAttr{Mask: vfs.AttrMode, Mode: 0o644})
	if err != nil {
		t.Fatal(err)
	}
	return n, must[vfs.File](t)(n.Open(ctx, root, vfs.OpenRead|vfs.OpenWrite))
}

func TestSmoke(t *testing.T) {
	fs := mem.New(mem.Options{})
	n, f := create(t, fs, "a")
	if _, err := f.WriteAt(ctx, []byte("hello"), 3, vfs.FileSync); err != nil {
		t.Fatal(err)
	}
	var b [10]byte
	if n, eof, err := f.ReadAt(ctx, b[:], 0); n != 8 || !eof || err != nil || string(b[:8]) != "\x00\x00\x00hello" {
		t.Fatal(n, eof, err, b)
	}
	h := n.Handle()
	n.Release()
	f.Close()
	n = must[vfs.Node](t)(fs.Resolve(ctx, h))
	n.Release()
	if a, b := fs.Outstanding(); a != 0 || b != 0 {
		t.Fatalf("%d nodes and %d files outstanding", a, b)
	}
}
