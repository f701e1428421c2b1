package posix

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"

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

// crew runs calls as other users. The kernel has an identity for each thread, and a thread that once had another
// identity never runs anything else. One reason is that other work might run as the wrong user. The other is that
// the kernel compares credentials by their address: it does not let such a thread write to an InfiniBand device
// that another thread has opened (ib_safe_file_access), even after it has taken its own identity back.
//
// So the crew has threads of its own, the hands. Each has a goroutine that is locked to it until both end. A hand
// keeps the identity of its last call: consecutive calls of one user change nothing.
type crew struct {
	base base

	mu     sync.Mutex
	idle   []*hand // the one that was busy last at the end
	closed bool
}

// maxIdle is how many idle hands are kept.
const maxIdle = 16

// hand is a thread of the crew. Its fields belong to its goroutine. While it is idle, the fields of the call belong
// to the caller.
type hand struct {
	base  *base
	calls chan *vfs.Cred // the identity for the next call; closed at the end
	done  chan struct{}

	// The identity the thread has.
	uid, gid uint32
	groups   []uint32

	// The call and its result.
	call   func() error
	err    error
	panics any  // what it panicked with
	lost   bool // the identity of the thread is unknown, so it has ended
}

var errIdentity = errors.New("posix: the thread did not get the identity")

// trial reports whether this process may take other identities.
func (w *crew) trial() bool {
	if w.base.uid != 0 {
		// Only for uid 0 does the kernel take CAP_DAC_OVERRIDE and its like away from a thread
		// that changes its fsuid, and give them back afterwards.
		return false
	}
	return w.as(&vfs.Cred{UID: 65534, GID: 65534, Groups: []uint32{65533}}, func() error { return nil }) == nil
}

// as runs a call as c. A panic in the call is passed on to the caller.
func (w *crew) as(c *vfs.Cred, call func() error) error {
	if c.UID == w.base.uid && c.GID == w.base.gid {
		return call()
	}
	h := w.take(c)
	h.call = call
	h.calls <- c
	<-h.done
	err, panics := h.err, h.panics
	h.call, h.err, h.panics = nil, nil, nil
	w.put(h)
	if panics != nil {
		panic(panics)
	}
	return err
}

// take returns a hand for a call as c; if possible one that has the identity of c already.
func (w *crew) take(c *vfs.Cred) *hand {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.idle)
	if n == 0 {
		h := &hand{base: &w.base, calls: make(chan *vfs.Cred), done: make(chan struct{}), uid: w.base.uid, gid: w.base.gid, groups: w.base.groups}
		go h.run()
		return h
	}
	i := n - 1
	for j := i; j >= 0; j-- {
		if h := w.idle[j]; h.uid == c.UID && h.gid == c.GID && slices.Equal(h.groups, c.Groups) {
			i = j
			break
		}
	}
	h := w.idle[i]
	w.idle = slices.Delete(w.idle, i, i+1)
	return h
}

// put takes back a hand whose call is over.
func (w *crew) put(h *hand) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case h.lost:
	case w.closed, len(w.idle) >= maxIdle:
		close(h.calls)
	default:
		w.idle = append(w.idle, h)
	}
}

// close ends the hands; a busy hand ends after its call.
func (w *crew) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for _, h := range w.idle {
		close(h.calls)
	}
	w.idle = nil
}

// run runs calls until the channel is closed. The goroutine ends while it is locked to its thread, so the thread
// ends too.
func (h *hand) run() {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		// The first thread cannot end, and its identity is shown as that of the process. So it must not become a
		// hand.
		elsewhere := make(chan struct{})
		go func() {
			close(elsewhere)
			h.run()
		}()
		<-elsewhere
		runtime.UnlockOSThread()
		return
	}
	for c := range h.calls {
		if h.err = h.become(c); h.err == nil {
			h.err = h.make()
		} else {
			h.lost = true
		}
		lost := h.lost
		h.done <- struct{}{}
		if lost {
			return
		}
	}
}

func (h *hand) make() error {
	defer func() {
		if v := recover(); v != nil {
			h.panics = fmt.Sprintf("%v\n\n%s", v, debug.Stack())
		}
	}()
	return h.call()
}

// become takes an identity.
//
// setfsuid(2) away from 0 takes the file-system capabilities from the thread
// (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER, CAP_FSETID, CAP_CHOWN, CAP_MKNOD), so the kernel checks as it would for a process
// of c; back to 0 gives them back.
func (h *hand) become(c *vfs.Cred) error {
	// The superuser has all permissions without groups.
	if c.UID != h.base.uid && !slices.Equal(c.Groups, h.groups) {
		if e := threadSetGroups(c.Groups); e != 0 {
			return fmt.Errorf("%w: %w (%w)", vfs.ErrTooManyFiles, errIdentity, e)
		}
		h.groups = append([]uint32(nil), c.Groups...)
	}
	if c.GID != h.gid {
		if !threadSetFSGID(c.GID) {
			return fmt.Errorf("%w: %w (gid %d)", vfs.ErrServerFault, errIdentity, c.GID)
		}
		h.gid = c.GID
	}
	if c.UID != h.uid {
		if !threadSetFSUID(c.UID) {
			return fmt.Errorf("%w: %w (uid %d)", vfs.ErrServerFault, errIdentity, c.UID)
		}
		h.uid = c.UID
	}
	return nil
}

// as runs a call as c if the kernel checks permissions, and otherwise as the server. If the call finds the file
// system full, as frees the storage of removed files in the cache and, if there was any, runs the call again.
func (fs *FS) as(c *vfs.Cred, call func() error) error {
	err := fs.asOnce(c, call)
	if full(err) && fs.reclaim() {
		err = fs.asOnce(c, call)
	}
	return err
}

func (fs *FS) asOnce(c *vfs.Cred, call func() error) error {
	if !fs.kernel {
		return call()
	}
	return fs.crew.as(c, call)
}
