// Package fusetest mounts a [vfs.FS] through FUSE, in tests: system calls of any program then run against a backend
// as they would against a kernel's file system, with the caller's uid and gid as the identity, and locks kept by package vfs/lock.
//
// It needs /dev/fuse, and, unless the tests run as root, fusermount3 (Debian package fuse3, see packages.txt).
package fusetest

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"fileserver/vfs"
	"fileserver/vfs/lock"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Mount mounts fs for the time of the test and returns where. Mounts with the same Manager share locks as clients of one server do.
// Nothing is cached in the kernel but pages, so that several mounts of one file system agree.
func Mount(t testing.TB, fs vfs.FS, locks *lock.Manager) string {
	t.Helper()
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Fatalf("fusetest: %v: FUSE tests need the kernel module fuse (modprobe fuse) or, in a container, the device (--device /dev/fuse --cap-add SYS_ADMIN)", err)
	}
	root := os.Geteuid() == 0
	if !root {
		if _, err := exec.LookPath("fusermount3"); err != nil {
			t.Fatalf("fusetest: %v: not being root, FUSE tests need the Debian package fuse3", err)
		}
	}
	dir := t.TempDir()
	raw, err := newRaw(fs, locks)
	if err != nil {
		t.Fatalf("fusetest: %v", err)
	}
	server, err := fuse.NewServer(raw, dir, &fuse.MountOptions{
		FsName: "fusetest", Name: "fileserver", EnableLocks: true, DisableReadDirPlus: true, AllowOther: root, DirectMountStrict: root, MaxWrite: 1 << 20,
	})
	if err != nil {
		t.Fatalf("fusetest: mount at %s: %v (mount(2) needs CAP_SYS_ADMIN)", dir, err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		server.Serve()
	}()
	if err := server.WaitMount(); err != nil {
		t.Fatalf("fusetest: mount at %s: %v", dir, err)
	}
	unmount := server.Unmount
	if root {
		// By force, which ends the connection: a copy of the mount in a namespace that somebody made
		// meanwhile would keep it alive for as long as that lasts.
		unmount = func() error { return unix.Unmount(dir, unix.MNT_FORCE) }
	}
	t.Cleanup(func() {
		// A file that was just closed may still keep the mount busy.
		for try := 0; ; try++ {
			err := unmount()
			if err == nil {
				break
			}
			if try == 100 {
				t.Errorf("fusetest: unmount of %s: %v", dir, err)
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		<-served
		raw.releaseAll()
	})
	return dir
}
