package posix_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"fileserver/vfs"
	"fileserver/vfs/posix"
)

var (
	ctx   = context.Background()
	admin = &vfs.Cred{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())}
)

// modes are the configurations this user can have.
func modes() map[string]posix.Config {
	m := map[string]posix.Config{"table": {Handles: posix.HandleTable}}
	if os.Geteuid() == 0 {
		m["native"] = posix.Config{Handles: posix.HandleNative}
		m["own"] = posix.Config{Handles: posix.HandleNative, OwnChecks: true}
	}
	return m
}

// inModes runs a test in each configuration, in a directory with "root", "state" and "outside".
func inModes(t *testing.T, run func(t *testing.T, top string, cfg posix.Config)) {
	for name, cfg := range modes() {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			for _, d := range []string{"root", "outside"} {
				must(t, os.Mkdir(filepath.Join(top, d), 0o755))
			}
			cfg.Root, cfg.StateDir = filepath.Join(top, "root"), filepath.Join(top, "state")
			run(t, top, cfg)
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func start(t *testing.T, cfg posix.Config) (*posix.FS, vfs.Node) {
	t.Helper()
	fs, err := posix.New(cfg)
	must(t, err)
	root, err := fs.Root(ctx)
	must(t, err)
	t.Cleanup(func() {
		root.Release()
		must(t, fs.Close())
		if n := fs.Nodes(); n != 0 {
			t.Errorf("%d nodes were not released", n)
		}
	})
	return fs, root
}

// want checks the outcome of a call.
func want(t *testing.T, what string, err error, status ...vfs.Status) {
	t.Helper()
	got := vfs.StatusOf(err)
	for _, s := range status {
		if got == s {
			return
		}
	}
	t.Errorf("%s: %v, want %v", what, err, status)
}

// lookup goes down a path.
func lookup(t *testing.T, n vfs.Node, names ...string) vfs.Node {
	t.Helper()
	for i, name := range names {
		next, err := n.Lookup(ctx, admin, name)
		if i > 0 {
			n.Release()
		}
		if err != nil {
			t.Fatalf("Lookup(%q): %v", name, err)
		}
		n = next
	}
	return n
}

func content(t *testing.T, n vfs.Node) string {
	t.Helper()
	f, err := n.Open(ctx, admin, vfs.OpenRead)
	must(t, err)
	defer f.Close()
	b := make([]byte, 100)
	k, _, err := f.ReadAt(ctx, b, 0)
	must(t, err)
	return string(b[:k])
}
