package posix_test

import (
	"bytes"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"fileserver/vfs"
	"fileserver/vfs/posix"
)

// TestFull: on a full file system the storage of files that local programs have removed is given back, and the
// call that found it full succeeds.
func TestFull(t *testing.T) {
	if os.Geteuid() != 0 {
		return // mounts are the superuser's
	}
	if os.Getenv(ownMounts) == "" {
		exe, err := os.Executable()
		must(t, err)
		cmd := exec.Command(exe, "-test.run=^TestFull$")
		cmd.Env = append(os.Environ(), ownMounts+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	must(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	inModes(t, func(t *testing.T, top string, cfg posix.Config) {
		must(t, unix.Mount("none", cfg.Root, "tmpfs", 0, "size=4m,nr_inodes=10"))
		t.Cleanup(func() { must(t, unix.Unmount(cfg.Root, unix.MNT_DETACH)) })
		fs, root := start(t, cfg)
		user := &vfs.Cred{UID: 61001, GID: 62001}
		if !fs.KernelPermissions() {
			user = admin
		}
		must(t, root.SetAttr(ctx, admin, &vfs.SetAttr{Mask: vfs.AttrMode, Mode: 0o777}))
		write := func(name string, s vfs.Stability) {
			t.Helper()
			n, _, err := root.Create(ctx, user, name, true, &vfs.SetAttr{Mask: vfs.AttrMode, Mode: 0o644})
			must(t, err)
			defer n.Release()
			f, err := n.Open(ctx, user, vfs.OpenWrite|vfs.OpenRead)
			must(t, err)
			defer f.Close()
			data := bytes.Repeat([]byte(name), 3<<20)
			k, err := f.WriteAt(ctx, data, 0, s)
			if err != nil || k != len(data) {
				t.Fatalf("%s: wrote %d of %d bytes: %v", name, k, len(data), err)
			}
			back := make([]byte, len(data))
			if _, _, err := f.ReadAt(ctx, back, 0); err != nil || !bytes.Equal(back, data) {
				t.Errorf("%s: what was read is not what was written, %v", name, err)
			}
		}
		write("a", vfs.Unstable)
		must(t, os.Remove(cfg.Root+"/a"))
		write("b", vfs.Unstable) // 3 of 4 MiB were held by the cache
		must(t, os.Remove(cfg.Root+"/b"))
		fs.ForgetReclaim()
		write("c", vfs.FileSync)

		// The same with objects in place of bytes.
		var names []string
		for i := range 20 {
			name := string(rune('k' + i))
			n, _, err := root.Create(ctx, user, name, true, nil)
			if err != nil {
				want(t, "Create where there is no room", err, vfs.ErrNoSpace)
				break
			}
			n.Release()
			names = append(names, name)
		}
		if len(names) == 0 || len(names) == 20 {
			t.Fatalf("%d objects in a file system that holds 10", len(names))
		}
		must(t, os.Remove(cfg.Root+"/"+names[0]))
		must(t, os.Remove(cfg.Root+"/"+names[1]))
		fs.ForgetReclaim()
		for _, make := range []func() (vfs.Node, error){
			func() (vfs.Node, error) { n, _, err := root.Create(ctx, user, "file", true, nil); return n, err },
			func() (vfs.Node, error) { return root.Mkdir(ctx, user, "dir", nil) },
		} {
			n, err := make()
			must(t, err)
			n.Release()
		}
		_, err := root.Mkdir(ctx, user, "one too many", nil)
		want(t, "Mkdir where there is no room", err, vfs.ErrNoSpace)
	})
}
