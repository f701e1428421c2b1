// Package vfstest is the suite every backend passes: the contracts of package vfs, and what they leave open as
// the backends agreed on it:
//
//   - A name that is empty fails with ErrInvalid; ".", "..", and names with "/" or NUL with ErrBadName; one longer
//     than Caps.MaxName with ErrNameTooLong. All other bytes are taken as they are.
//   - What a call on the wrong kind of object fails with: names in what is no directory ErrNotDir; Open of a directory
//     ErrIsDir, of a symbolic link ErrSymlink, of others ErrWrongType; Readlink of others ErrInvalid;
//     SetAttr of the size of a directory ErrIsDir, of others ErrInvalid; Link of a directory ErrIsDir.
//   - A new object has exactly the mode asked for (no umask), but for a directory the set-id bits: set-gid is inherited.
//   - The owner may set the size of a file whatever its mode says: an NFSv3 client truncates what it had open
//     before it was made read-only.
//   - Who may execute a file, but not read it, may open it for reading with ReadIfExecutable, and with nothing else.
//   - An object without a name lives as long as a File has it open. Then its handle fails with ErrStale.
//   - A Node or File of another file system, given as an argument, fails with ErrXDev.
package vfstest

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"

	"fileserver/vfs"
)

// Options say what a backend can be held to.
type Options struct {
	// Root: the backend enforces the rules for any identity, and the suite's own is uid 0. Without it, all
	// calls are made as Cred.
	Root bool
	// Cred owns the root directory and makes the calls; nil: the user of the process (with Root: uid 0).
	Cred *vfs.Cred
	// Reopen ends the file system as a server's end does, and returns it as its successor finds it.
	// Without it nothing is asked about restarts.
	Reopen func(t *testing.T, fs vfs.FS) vfs.FS
	// NoXattr, NoAllocate, NoSeek, NoClone and NoCopy: the storage below cannot do that. Such calls fail with ErrUnsupported,
	// or the interface is missing.
	NoXattr, NoAllocate, NoSeek, NoClone, NoCopy bool
	// NoBtime: the time of creation cannot be set (ErrUnsupported or ErrInvalid).
	NoBtime bool
	// MaxAllocs are the allocations granted per call in steady state, by the name of the subtest of
	// Allocs; 0 for those not named.
	MaxAllocs map[string]float64
	// Short scales the largest tests down, as -short does.
	Short bool
	// MaxOffset is where the largest offsets are tried; 0: 1 TiB. The storage below must take a sparse file of that size.
	MaxOffset int64
}

// Run runs the suite. newFS makes an empty file system, and cleans up by t.Cleanup.
func Run(t *testing.T, newFS func(t *testing.T) vfs.FS, opt Options) {
	if opt.Cred == nil {
		opt.Cred = &vfs.Cred{UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}
		if opt.Root {
			opt.Cred = &vfs.Cred{}
		}
	}
	if opt.MaxOffset == 0 {
		opt.MaxOffset = 1 << 40
	}
	for _, s := range []struct {
		name string
		run  func(*env)
	}{
		{"Basics", testBasics}, {"Names", testNames}, {"Kinds", testKinds}, {"Create", testCreate}, {"Remove", testRemove}, {"Link", testLink},
		{"Rename", testRename}, {"RenameTrees", testRenameTrees}, {"SetAttr", testSetAttr}, {"Change", testChange}, {"Handles", testHandles}, {"Unlinked", testUnlinked},
		{"Reopen", testReopen}, {"ReadDir", testReadDir}, {"ReadDirModify", testReadDirModify}, {"ReadDirLarge", testReadDirLarge},
		{"ReadWrite", testReadWrite}, {"Stability", testStability}, {"Sparse", testSparse}, {"Xattr", testXattr}, {"Clone", testClone}, {"Copy", testCopy},
		{"DataModel", testDataModel}, {"TreeModel", testTreeModel}, {"Concurrent", testConcurrent}, {"Allocs", testAllocs},
		{"Permissions", testPermissions},
	} {
		t.Run(s.name, func(t *testing.T) { s.run(newEnv(t, newFS, opt)) })
	}
}

// env is a test and its file system. What its helpers obtain they also release.
type env struct {
	*testing.T
	ctx   context.Context
	fs    vfs.FS
	newFS func(t *testing.T) vfs.FS
	opt   Options
	c     *vfs.Cred
	root  vfs.Node
}

func newEnv(t *testing.T, newFS func(t *testing.T) vfs.FS, opt Options) *env {
	e := &env{T: t, ctx: context.Background(), newFS: newFS, opt: opt, c: opt.Cred, fs: newFS(t)}
	root, err := e.fs.Root(e.ctx)
	if err != nil {
		t.Fatalf("Root: %v", err)
	}
	e.root = root
	t.Cleanup(root.Release)
	return e
}

// short reports whether the largest tests are to be scaled down.
func (e *env) short() bool { return e.opt.Short || raceEnabled || testing.Short() }

// sub runs a subtest in the same file system.
func (e *env) sub(name string, run func(*env)) {
	e.Run(name, func(t *testing.T) {
		s := *e
		s.T = t
		run(&s)
	})
}

// want checks the outcome of a call against the statuses allowed.
func (e *env) want(what string, err error, allowed ...vfs.Status) {
	e.Helper()
	if got := vfs.StatusOf(err); !slices.Contains(allowed, got) {
		e.Fatalf("%s: %v (%v), want %v", what, err, got, allowed)
	}
}

func (e *env) ok(what string, err error) {
	e.Helper()
	if err != nil {
		e.Fatalf("%s: %v", what, err)
	}
}

// node checks that n was obtained, and keeps it until the end of the test.
func (e *env) node(n vfs.Node, err error) vfs.Node {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
	e.Cleanup(n.Release)
	return n
}

func mode(m uint32) *vfs.SetAttr { return &vfs.SetAttr{Mask: vfs.AttrMode, Mode: m} }

func (e *env) mkdir(dir vfs.Node, name string, m uint32) vfs.Node {
	e.Helper()
	return e.node(dir.Mkdir(e.ctx, e.c, name, mode(m)))
}

func (e *env) create(dir vfs.Node, name string, m uint32) vfs.Node {
	e.Helper()
	n, created, err := dir.Create(e.ctx, e.c, name, true, mode(m))
	if err == nil && !created {
		e.Fatalf("Create(%q, excl) says it made nothing", name)
	}
	return e.node(n, err)
}

// file makes a file with the content.
func (e *env) file(dir vfs.Node, name, content string) vfs.Node {
	e.Helper()
	n := e.create(dir, name, 0o644)
	if content != "" {
		f := e.open(n, vfs.OpenWrite)
		e.write(f, content, 0)
	}
	return n
}

func (e *env) symlink(dir vfs.Node, name, target string) vfs.Node {
	e.Helper()
	return e.node(dir.Symlink(e.ctx, e.c, name, target, &vfs.SetAttr{}))
}

func (e *env) lookup(dir vfs.Node, name string) vfs.Node {
	e.Helper()
	n, err := dir.Lookup(e.ctx, e.c, name)
	if err != nil {
		e.Fatalf("Lookup(%q): %v", name, err)
	}
	e.Cleanup(n.Release)
	return n
}

// gone checks that there is no such name.
func (e *env) gone(dir vfs.Node, name string) {
	e.Helper()
	n, err := dir.Lookup(e.ctx, e.c, name)
	if err == nil {
		n.Release()
	}
	e.want("Lookup("+name+")", err, vfs.ErrNotFound)
}

func (e *env) open(n vfs.Node, flags vfs.OpenFlags) vfs.File {
	e.Helper()
	f, err := n.Open(e.ctx, e.c, flags)
	if err != nil {
		e.Fatalf("Open: %v", err)
	}
	e.Cleanup(func() { f.Close() })
	return f
}

func (e *env) write(f vfs.File, p string, off int64) {
	e.Helper()
	if n, err := f.WriteAt(e.ctx, []byte(p), off, vfs.Unstable); n != len(p) || err != nil {
		e.Fatalf("WriteAt(%d bytes at %d) = %d, %v", len(p), off, n, err)
	}
}

// read returns the content of the file from off on.
func (e *env) read(f vfs.File, off int64, n int) string {
	e.Helper()
	b := make([]byte, n)
	got, _, err := f.ReadAt(e.ctx, b, off)
	if err != nil {
		e.Fatalf("ReadAt(%d bytes at %d): %v", n, off, err)
	}
	return string(b[:got])
}

// contains checks the whole content of a file.
func (e *env) contains(n vfs.Node, want string) {
	e.Helper()
	f, err := n.Open(e.ctx, e.c, vfs.OpenRead)
	e.ok("Open", err)
	defer f.Close()
	if got := e.read(f, 0, len(want)+100); got != want {
		e.Fatalf("content is %.60q, want %.60q", got, want)
	}
}

func (e *env) attr(n interface {
	GetAttr(context.Context, vfs.AttrMask) (vfs.Attr, error)
}) vfs.Attr {
	e.Helper()
	a, err := n.GetAttr(e.ctx, vfs.AttrStat)
	if err != nil {
		e.Fatalf("GetAttr: %v", err)
	}
	if need := vfs.AttrStat &^ vfs.AttrBtime; a.Mask&need != need { // not every storage knows when a file was made
		e.Fatalf("GetAttr: attributes %#x are missing", need&^a.Mask)
	}
	return a
}

// same checks that two nodes are one object.
func (e *env) same(a, b vfs.Node) {
	e.Helper()
	if a.Handle() != b.Handle() {
		e.Fatal("different handles of one object")
	}
	if x, y := e.attr(a), e.attr(b); x.FileID != y.FileID || x.FileID == 0 {
		e.Fatalf("file ids %d and %d of one object", x.FileID, y.FileID)
	}
}

func (e *env) setattr(n vfs.Node, s *vfs.SetAttr) {
	e.Helper()
	if err := n.SetAttr(e.ctx, e.c, s); err != nil {
		e.Fatalf("SetAttr(%+v): %v", *s, err)
	}
}

func (e *env) truncate(n vfs.Node, size int64) {
	e.Helper()
	e.setattr(n, &vfs.SetAttr{Mask: vfs.AttrSize, Size: uint64(size)})
}

func (e *env) remove(dir vfs.Node, name string, isDir bool) {
	e.Helper()
	if err := dir.Remove(e.ctx, e.c, name, isDir); err != nil {
		e.Fatalf("Remove(%q, %v): %v", name, isDir, err)
	}
}

func (e *env) rename(dir vfs.Node, from string, to vfs.Node, name string) {
	e.Helper()
	if err := dir.Rename(e.ctx, e.c, from, to, name); err != nil {
		e.Fatalf("Rename(%q, %q): %v", from, name, err)
	}
}

// list returns the names of a directory, sorted.
func (e *env) list(dir vfs.Node) (names []string) {
	e.Helper()
	eof, err := dir.ReadDir(e.ctx, e.c, 0, 0, false, func(d *vfs.DirEntry) bool {
		names = append(names, d.Name)
		return true
	})
	if err != nil || !eof {
		e.Fatalf("ReadDir: eof %v, %v", eof, err)
	}
	slices.Sort(names)
	return names
}

// lacks checks that an ability the options deny is denied: the interface is missing (has is false), or it fails as it should.
func (e *env) lacks(what string, has bool, err error) {
	e.Helper()
	if has && !errors.Is(err, vfs.ErrUnsupported) {
		e.Fatalf("%s: %v, though the options say the storage cannot", what, err)
	}
}
