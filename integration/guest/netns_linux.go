package guest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// netns is a network namespace without a name, held by one thread. What is started on that thread lives in the namespace, and is
// killed with the thread (PR_SET_PDEATHSIG counts threads, not processes).
type netns struct {
	calls chan func()
	ended chan struct{}
	id    string // what /proc/PID/ns/net of a process inside links to
}

func newNetns() (*netns, error) {
	n := &netns{calls: make(chan func()), ended: make(chan struct{})}
	ready := make(chan error)
	go n.hold(ready)
	if err := <-ready; err != nil {
		return nil, err
	}
	return n, nil
}

// hold never unlocks its thread: the runtime ends it with the goroutine. The main thread is the exception, which would stay in the
// namespace for ever, and is left to the runtime.
func (n *netns) hold(ready chan<- error) {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		moved := make(chan struct{})
		go func() { close(moved); n.hold(ready) }()
		<-moved
		runtime.UnlockOSThread()
		return
	}
	defer close(n.ended)
	err := unix.Unshare(unix.CLONE_NEWNET)
	if err == nil {
		n.id, err = os.Readlink("/proc/thread-self/ns/net")
	}
	if err != nil {
		ready <- fmt.Errorf("guest: network namespace: %w", err)
		return
	}
	ready <- nil
	for call := range n.calls {
		call()
	}
}

// do runs f on the namespace's thread.
func (n *netns) do(f func()) {
	done := make(chan struct{})
	n.calls <- func() { defer close(done); f() }
	<-done
}

// close kills whatever still runs in the namespace and lets go of it.
func (n *netns) close() {
	links, _ := filepath.Glob("/proc/[0-9]*/ns/net")
	for _, link := range links {
		if id, err := os.Readlink(link); err != nil || id != n.id {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(link))))
		if err == nil && pid != os.Getpid() {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
	close(n.calls)
	<-n.ended
}
