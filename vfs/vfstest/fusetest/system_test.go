package fusetest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fileserver/vfs/lock"
	"fileserver/vfs/vfstest/fusetest"
)

const (
	again    = "resource temporarily unavailable"
	deadlock = "resource deadlock avoided"
)

// TestLocks lets processes lock one file through two mounts, as clients of one server would.
func TestLocks(t *testing.T) {
	fs, m := newMem(t), lock.New()
	one, two := fusetest.Mount(t, fs, m), fusetest.Mount(t, fs, m)
	if err := os.WriteFile(one+"/f", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	a, b := newChild(t, one+"/f"), newChild(t, two+"/f")
	waiters := func(n int) {
		t.Helper()
		for start := time.Now(); m.Counts().Waiters != n; time.Sleep(time.Millisecond) {
			if time.Since(start) > 20*time.Second {
				t.Fatalf("%+v, want %d waiters", m.Counts(), n)
			}
		}
	}
	lk := func(cmd string, kind, start, n int) string { return fmt.Sprint(cmd, " ", kind, " ", start, " ", n) }

	a.do(lk("setlk", syscall.F_WRLCK, 0, 10), "ok")
	b.do(lk("setlk", syscall.F_WRLCK, 9, 1), again)
	b.do(lk("setlk", syscall.F_RDLCK, 5, 0), again)
	b.do(lk("setlk", syscall.F_WRLCK, 10, 0), "ok")
	a.do(lk("setlk", syscall.F_RDLCK, 100, 1), again)

	// Each waits for the other: the second is told.
	a.send(lk("setlkw", syscall.F_WRLCK, 10, 1))
	waiters(1)
	b.do(lk("setlkw", syscall.F_RDLCK, 0, 1), deadlock)
	b.do(lk("setlk", syscall.F_UNLCK, 10, 1), "ok")
	a.expect("ok")
	waiters(0)

	// Who dies frees what it held, and waits no more.
	b.send(lk("setlkw", syscall.F_WRLCK, 0, 11))
	waiters(1)
	b.cmd.Process.Kill()
	waiters(0)
	b = newChild(t, two+"/f")
	b.send(lk("setlkw", syscall.F_WRLCK, 0, 0))
	waiters(1)
	a.cmd.Process.Kill()
	b.expect("ok")

	// As POSIX has it, closing the file once ends all locks of the process.
	b.do("reopen", "ok")
	a = newChild(t, one+"/f")
	a.do(lk("setlk", syscall.F_WRLCK, 0, 0), "ok")

	// flock(2) is a lock of its own kind.
	flock := func(how int) string { return lk("flock", 0, how|syscall.LOCK_NB, 0) }
	b.do(flock(syscall.LOCK_SH), "ok")
	a.do(flock(syscall.LOCK_SH), "ok")
	a.do(flock(syscall.LOCK_EX), again)
	a.do(flock(syscall.LOCK_UN), "ok")
	b.do(flock(syscall.LOCK_EX), "ok")
	a.do(flock(syscall.LOCK_SH), again)
	b.cmd.Process.Kill()
	a.do(lk("flock", 0, syscall.LOCK_EX, 0), "ok")
}

// TestIdentities checks that the identity of the caller is what the file system sees.
func TestIdentities(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("taking other identities needs root")
	}
	mnt := fusetest.Mount(t, newMem(t), lock.New())
	for dir := mnt; dir != "/tmp" && dir != "/"; dir = filepath.Dir(dir) { // others must reach the mount
		if dir != mnt {
			os.Chmod(dir, 0o755)
		}
	}
	if err := os.Chmod(mnt, os.ModeSticky|0o777); err != nil {
		t.Fatal(err)
	}
	const alice, bob = 61001, 61002
	for _, c := range []struct {
		who    uint32
		script string
		want   string // part of the output; empty: success
	}{
		{alice, "umask 0; echo secret > f; chmod 600 f; mkdir d; chmod 700 d; echo x > d/in; echo r > readonly; chmod 444 readonly", ""},
		{alice, "cat f; test $(stat -c %u:%g:%a f) = 61001:61001:600; ls d", ""},
		{bob, "cat f", "Permission denied"},
		{bob, "echo x >> f", "Permission denied"},
		{bob, "echo x > readonly", "Permission denied"},
		{alice, "echo x > readonly", "Permission denied"},
		{bob, "ls d", "Permission denied"},
		{bob, "cat d/in", "Permission denied"},
		{bob, "rm -f f", "Operation not permitted"},
		{bob, "mv f g", "Operation not permitted"},
		{bob, "chmod 777 f", "Operation not permitted"},
		{bob, "chown 61002 f", "Operation not permitted"},
		{bob, "touch -d 2001-01-01 readonly", "Permission denied"},
		{bob, "touch readonly", "Permission denied"},
		{alice, "chown 61002 f", "Operation not permitted"},
		{0, "cat f; chown 61002 f", ""},
		{bob, "test $(cat f) = secret; rm f", ""}, // it is bob's now
		{alice, "rm -r d; rm -f readonly", ""},
	} {
		out, err := as(t, c.who, "set -e; cd "+mnt+"; "+c.script)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(out, c.want)) {
			t.Errorf("%q by %d: %v, %s", c.script, c.who, err, out)
		}
	}
}
