package posix_test

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"fileserver/vfs"
	"fileserver/vfs/posix"
)

// ownMounts is set in the copy of the test binary that has a mount namespace of its own.
const ownMounts = "FILESERVER_TEST_MOUNTS"

// TestMounts publishes directories in and around mounts.
func TestMounts(t *testing.T) {
	if os.Geteuid() != 0 {
		return // mounts are the superuser's
	}
	if os.Getenv(ownMounts) == "" {
		exe, err := os.Executable()
		must(t, err)
		cmd := exec.Command(exe, "-test.run=^TestMounts$")
		cmd.Env = append(os.Environ(), ownMounts+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	must(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	inModes(t, func(t *testing.T, top string, cfg posix.Config) {
		mount := func(src, dst, kind string, flags uintptr) {
			t.Helper()
			must(t, os.MkdirAll(dst, 0o755))
			must(t, unix.Mount(src, dst, kind, flags, ""))
			t.Cleanup(func() { must(t, unix.Unmount(dst, unix.MNT_DETACH)) })
		}
		mount("none", cfg.Root+"/tmpfs", "tmpfs", 0)
		mount(top+"/outside", cfg.Root+"/bind", "", unix.MS_BIND)
		must(t, os.WriteFile(top+"/outside/secret", nil, 0o666))
		must(t, os.WriteFile(cfg.Root+"/f", []byte("f"), 0o666))
		_, root := start(t, cfg)
		for _, name := range []string{"tmpfs", "bind"} {
			_, err := root.Lookup(ctx, admin, name)
			want(t, "Lookup of a mount", err, vfs.ErrAccess)
			_, err = root.Mkdir(ctx, admin, name, nil)
			want(t, "Mkdir over a mount", err, vfs.ErrExist)
			_, _, err = root.Create(ctx, admin, name, true, nil)
			want(t, "Create over a mount", err, vfs.ErrExist)
			_, _, err = root.Create(ctx, admin, name, false, nil)
			want(t, "Create of what is a mount", err, vfs.ErrAccess)
			if err := root.Remove(ctx, admin, name, true); err == nil {
				t.Error("removed a mount")
			}
			if err := root.Rename(ctx, admin, name, root, "x"); err == nil {
				t.Error("renamed a mount")
			}
		}
		seen := 0
		_, err := root.ReadDir(ctx, admin, 0, vfs.AttrStat, true, func(e *vfs.DirEntry) bool {
			seen++
			if zero := e.Handle.IsZero(); zero != (e.Name != "f") || zero != (e.Attr.Mask == 0) {
				t.Errorf("%+v", e)
			}
			return true
		})
		must(t, err)
		if seen != 3 {
			t.Errorf("%d entries", seen)
		}
		// The root of a share may be a mount, and the same objects have other handles there.
		bound := cfg
		bound.Root, bound.StateDir = top+"/bound", top+"/state2"
		mount(cfg.Root, bound.Root, "", unix.MS_BIND)
		fs, again := start(t, bound)
		n := lookup(t, again, "f")
		h := n.Handle()
		n.Release()
		fs.Shrink()
		n, err = fs.Resolve(ctx, h)
		must(t, err)
		if content(t, n) != "f" {
			t.Error("another file")
		}
		n.Release()
		up, err := again.Parent(ctx, admin)
		must(t, err)
		if up.Handle() != again.Handle() {
			t.Error("left the mount")
		}
		up.Release()
	})
}
