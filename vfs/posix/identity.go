package posix

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"fileserver/vfs"
)

// base is the identity of the server itself.
type base struct {
	uid, gid uint32
	groups   []uint32
}

func ownIdentity() (base, error) {
	g, err := unix.Getgroups()
	if err != nil {
		return base{}, fmt.Errorf("posix: groups of the server: %w", err)
	}
	b := base{uid: uint32(unix.Geteuid()), gid: uint32(unix.Getegid())}
	for _, id := range g {
		b.groups = append(b.groups, uint32(id))
	}
	return b, nil
}

// trial tells whether this process may take other identities, as [FS.under] does.
func (b *base) trial() bool {
	if b.uid != 0 {
		// Only for uid 0 does the kernel take CAP_DAC_OVERRIDE and its like away from a thread
		// that changes its fsuid, and give them back afterwards.
		return false
	}
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		t, err := b.assume(&vfs.Cred{UID: 65534, GID: 65534, Groups: []uint32{65533}})
		t.restore()
		result <- err
	}()
	return <-result == nil
}

// thread is an identity the calling thread has taken; the zero thread is the server's own.
type thread struct {
	base               *base // nil: nothing to restore
	groups, fsgid, uid bool  // what was changed
}

var errIdentity = errors.New("posix: the thread did not get the identity")

// assume makes the calling thread act as c until [thread.restore]. The goroutine is locked to the
// thread meanwhile, so that neither another goroutine runs with the identity nor a new thread inherits it.
//
// setfsuid(2) away from 0 takes the file-system capabilities from the thread
// (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER, CAP_FSETID, CAP_CHOWN, CAP_MKNOD), so the kernel checks as it would for a process of c.
func (b *base) assume(c *vfs.Cred) (t thread, err error) {
	if c.UID == b.uid && c.GID == b.gid {
		return t, nil
	}
	runtime.LockOSThread()
	t.base = b
	// Groups do not matter to the superuser, who has all permissions without them.
	if c.UID != b.uid && !slices.Equal(c.Groups, b.groups) {
		t.groups = true
		if e := threadSetGroups(c.Groups); e != 0 {
			t.restore()
			return thread{}, fmt.Errorf("%w: %w (%w)", vfs.ErrTooManyFiles, errIdentity, e)
		}
	}
	if c.GID != b.gid {
		t.fsgid = true
		if !threadSetFSGID(c.GID) {
			t.restore()
			return thread{}, fmt.Errorf("%w: %w (gid %d)", vfs.ErrServerFault, errIdentity, c.GID)
		}
	}
	if c.UID != b.uid {
		t.uid = true
		if !threadSetFSUID(c.UID) {
			t.restore()
			return thread{}, fmt.Errorf("%w: %w (uid %d)", vfs.ErrServerFault, errIdentity, c.UID)
		}
	}
	return t, nil
}

// restore gives the thread its own identity back. If that fails even after a while (the kernel had no memory),
// the goroutine ends while it is locked, and the thread with it: it must not run anything else.
func (t *thread) restore() {
	if t.base == nil {
		return
	}
	for wait := time.Millisecond; ; wait *= 2 {
		if t.tryRestore() {
			t.base = nil
			runtime.UnlockOSThread()
			return
		}
		if wait > time.Second {
			runtime.Goexit()
		}
		time.Sleep(wait)
	}
}

func (t *thread) tryRestore() bool {
	if t.uid && !threadSetFSUID(t.base.uid) {
		return false
	}
	if t.fsgid && !threadSetFSGID(t.base.gid) {
		return false
	}
	return !t.groups || threadSetGroups(t.base.groups) == 0
}

// under makes call with the identity of c where the kernel enforces permissions, and otherwise as it is.
func (fs *FS) under(c *vfs.Cred, call func() error) error {
	if !fs.kernel || c.UID == fs.base.uid && c.GID == fs.base.gid {
		return call()
	}
	if fs.apart != nil {
		return fs.apart.do(&fs.base, c, call)
	}
	t, err := fs.base.assume(c)
	if err != nil {
		return err
	}
	defer t.restore()
	return call()
}
