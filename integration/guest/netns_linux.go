package guest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// netns is a network namespace without a name, which one thread keeps. Processes that are started on that thread are in the
// namespace, and the kernel kills them when the thread ends (PR_SET_PDEATHSIG is about threads, not processes).
type netns struct {
	calls chan func()
	ended chan struct{}
	id    string // the target of /proc/PID/ns/net for processes in the namespace
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

// hold never unlocks its thread, so that the runtime ends the thread with the goroutine. The runtime never ends the main thread, which
// would stay in the namespace; hold gives it back and uses another.
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

// close kills the processes in the namespace and ends its thread.
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
