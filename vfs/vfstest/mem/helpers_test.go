package mem_test

import (
	"context"
	"testing"

	"fileserver/vfs"
	"fileserver/vfs/vfstest/mem"
)

var (
	ctx  = context.Background()
	root = &vfs.Cred{}
)

// env is a file system and its root directory.
type env struct {
	*testing.T
	fs   *mem.FS
	root vfs.Node
}

func newEnv(t *testing.T, opt mem.Options) *env {
	e := &env{T: t}
	e.use(mem.New(opt))
	return e
}

// use goes on with another file system.
func (e *env) use(fs *mem.FS) {
	e.Helper()
	n, err := fs.Root(ctx)
	e.ok(err)
	e.fs, e.root = fs, n
}

func (e *env) ok(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

func (e *env) want(err error, want vfs.Status) {
	e.Helper()
	if got := vfs.StatusOf(err); got != want {
		e.Fatalf("got %v (%v), want %v", got, err, want)
	}
}

// create makes a file in the root directory, and opens it.
func (e *env) create(name string) (vfs.Node, vfs.File) {
	e.Helper()
	n, _, err := e.root.Create(ctx, root, name, true, &vfs.SetAttr{Mask: vfs.AttrMode, Mode: 0o644})
	e.ok(err)
	return n, e.open(n)
}

func (e *env) open(n vfs.Node) vfs.File {
	e.Helper()
	f, err := n.Open(ctx, root, vfs.OpenRead|vfs.OpenWrite)
	e.ok(err)
	return f
}

func (e *env) write(f vfs.File, p string, off int64, s vfs.Stability) {
	e.Helper()
	if n, err := f.WriteAt(ctx, []byte(p), off, s); n != len(p) || err != nil {
		e.Fatalf("WriteAt = %d, %v", n, err)
	}
}

// content is what a file contains; missing, if there is none of that name.
func (e *env) content(name string) string {
	e.Helper()
	n, err := e.root.Lookup(ctx, root, name)
	if err != nil {
		e.want(err, vfs.ErrNotFound)
		return "missing"
	}
	defer n.Release()
	f := e.open(n)
	defer f.Close()
	b := make([]byte, 1<<20)
	k, _, err := f.ReadAt(ctx, b, 0)
	e.ok(err)
	return string(b[:k])
}

func (e *env) expect(name, want string) {
	e.Helper()
	if got := e.content(name); got != want {
		e.Fatalf("%s contains %.40q (%d bytes), want %.40q (%d)", name, got, len(got), want, len(want))
	}
}
