package posix_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"fileserver/vfs"
	"fileserver/vfs/posix"
	"fileserver/vfs/vfstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// places are directories on different file systems.
func places(t *testing.T) map[string]string {
	m := map[string]string{"tmp": t.TempDir()}
	if dir, err := os.MkdirTemp("/dev/shm", "posix"); err == nil {
		t.Cleanup(func() { os.RemoveAll(dir) })
		m["shm"] = dir
	}
	return m
}

func TestSuite(t *testing.T) {
	root := os.Geteuid() == 0
	modes := map[string]posix.Config{"table": {Handles: posix.HandleTable}}
	if root {
		modes["native"] = posix.Config{Handles: posix.HandleNative}
		modes["own"] = posix.Config{Handles: posix.HandleNative, OwnChecks: true}
	}
	for where, dir := range places(t) {
		for name, cfg := range modes {
			if root && (where+name == "tmpown" || where+name == "shmtable") {
				continue // nothing that the others do not show, and the suite takes its time
			}
			t.Run(where+"/"+name, func(t *testing.T) {
				dirs := make(map[vfs.FS]posix.Config)
				start := func(t *testing.T, cfg posix.Config) vfs.FS {
					fs, err := posix.New(cfg)
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { fs.Close() })
					dirs[fs] = cfg
					return fs
				}
				vfstest.Run(t, func(t *testing.T) vfs.FS {
					cfg := cfg
					top, err := os.MkdirTemp(dir, "fs")
					if err != nil {
						t.Fatal(err)
					}
					cfg.Root, cfg.StateDir = filepath.Join(top, "root"), filepath.Join(top, "state")
					if err := os.Mkdir(cfg.Root, 0o755); err != nil {
						t.Fatal(err)
					}
					return start(t, cfg)
				}, vfstest.Options{
					Root:    root && !cfg.OwnChecks,
					Short:   true, // the whole of it takes minutes on a busy machine
					NoBtime: true, NoClone: true,
					Reopen: func(t *testing.T, fs vfs.FS) vfs.FS {
						cfg := dirs[fs]
						fs.Close()
						return start(t, cfg)
					},
				})
			})
		}
	}
}

// TestUnprivileged runs the tests of this package again as an ordinary user.
func TestUnprivileged(t *testing.T) {
	if os.Geteuid() != 0 {
		return // this is that user, or somebody else without privilege
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/tmp", "posix")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	bin := filepath.Join(dir, "test")
	b, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{os.WriteFile(bin, b, 0o755), os.Chmod(bin, 0o755), os.Chmod(dir, 0o755), os.Mkdir(dir+"/tmp", 0o777), os.Chmod(dir+"/tmp", 0o1777)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(bin, "-test.short", "-test.timeout=10m")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+dir+"/tmp")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%d bytes of output", len(out))
}
