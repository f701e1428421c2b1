package posix

import (
	"errors"
	"fmt"
	"runtime"
	"sync"

	"fileserver/vfs"
)

// apart is threads that do nothing but act for others. A thread that took an identity and gave it back is not what it was before to the
// kernel: its credentials are equal, but not the same, and what insists on that (the files of the kernel's RDMA,
// ib_safe_file_access) refuses it from then on. Threads that it starts inherit that.
type apart struct {
	mu     sync.Mutex
	idle   []*actor
	closed bool
}

// idleActors is how many threads are kept for the next call.
const idleActors = 8

// actor is a goroutine with a thread of its own.
type actor struct {
	calls chan func() error
	done  chan error
}

var errActor = errors.New("posix: the thread that acted for the caller ended")

// do makes call as c.
func (a *apart) do(b *base, c *vfs.Cred, call func() error) error {
	t := a.take()
	var fault any
	t.calls <- func() (err error) {
		defer func() { fault = recover() }()
		id, err := b.assume(c)
		if err != nil {
			return err
		}
		defer id.restore()
		return call()
	}
	err := <-t.done
	if err == errActor {
		return fmt.Errorf("%w: %w", vfs.ErrServerFault, err)
	}
	a.put(t)
	if fault != nil {
		panic(fault) // the caller's goroutine is the one that is prepared for it
	}
	return err
}

func (a *apart) take() *actor {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := len(a.idle); n > 0 {
		t := a.idle[n-1]
		a.idle = a.idle[:n-1]
		return t
	}
	t := &actor{calls: make(chan func() error), done: make(chan error, 1)}
	go t.run()
	return t
}

func (a *apart) put(t *actor) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || len(a.idle) == idleActors {
		close(t.calls)
		return
	}
	a.idle = append(a.idle, t)
}

// close ends the idle threads; the others end with their calls.
func (a *apart) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	for _, t := range a.idle {
		close(t.calls)
	}
	a.idle = nil
}

func (t *actor) run() {
	runtime.LockOSThread()                // for good: the thread ends with the goroutine
	defer func() { t.done <- errActor }() // nobody hears it, unless the goroutine ends in the middle of a call
	for call := range t.calls {
		t.done <- call()
	}
}
