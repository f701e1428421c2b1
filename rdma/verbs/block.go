//go:build linux && cgo && rdmacore

package verbs

import (
	"encoding/binary"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A blocker lets a waiter sleep in a system call of its own instead of in the runtime's poller.
//
// The runtime's way to sleep and to wake costs it readings of the clock, and calls that wake its monitor, which are nothing on
// most machines and more than the request itself where system calls are dear. In a call of its own the goroutine keeps its
// processor of the runtime (P), and goes on with it. Others do without that one meanwhile, so this is for machines with one
// processor, where nobody may spin, and a second P. It costs a thread for each queue that is busy: after blockTime without
// an event the waiter sleeps in the poller.
type blocker struct {
	channel int // the completion channel, not blocking

	mu     sync.Mutex // a leaf
	event  int        // ends a wait
	rung   bool
	inWait bool // in poll(2): it closes the descriptors at the end if closed is set
	closed bool
	fds    [2]unix.PollFd

	// The waiter's.
	waits  int
	missed int // turns in vain since one that was not
	pause  int // waits without
}

const (
	blockTime  = 20 // ms
	yieldEvery = 4  // waits

	// Before it sleeps a waiter gives the processor away turns times and looks again: what it waits for often needs
	// no more than that, the device in software, or a client on the same machine, being next in turn. Where that is vain
	// it does not for a while, nor where turns are long because others have much to compute.
	turns      = 2
	mostMissed = 32
	missPause  = 64
	clockEvery = 64
	longTurn   = time.Millisecond
	longPause  = 1024
)

// newBlocker takes over the channel's descriptor, and closes it when it fails.
func newBlocker(channel int) (*blocker, error) {
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		_ = unix.Close(channel)
		return nil, os.NewSyscallError("eventfd", err)
	}
	b := &blocker{channel: channel, event: fd}
	b.fds = [2]unix.PollFd{{Fd: int32(channel), Events: unix.POLLIN}, {Fd: int32(fd), Events: unix.POLLIN}}
	return b, nil
}

// sleepBlocked is sleep with a blocker.
func (c *cq) sleepBlocked() (found bool, err error) {
	if c.block.giveTurns(c) {
		return true, nil
	}
	if _, n, err := c.fetch(true); n > 0 || err != nil {
		return n > 0, err
	}
	switch c.block.wait() {
	case blockedEvent:
		return c.takeEvent(), nil
	case blockedLong:
		return c.sleepLong(), nil
	}
	return false, nil
}

// sleepLong sleeps in the poller, which is told of the channel for that time only: it would wake for each event.
func (c *cq) sleepLong() (found bool) {
	c.mu.Lock()
	if c.kicked || c.shut || !c.h.valid() {
		c.mu.Unlock()
		return false
	}
	fd, err := unix.FcntlInt(uintptr(c.block.channel), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = c.pollable(fd)
	}
	f, raw := c.file, c.raw
	c.mu.Unlock()
	if err != nil {
		return false // no descriptors: it is tried again
	}
	c.wait.fresh = false
	err = raw.Read(c.take)
	c.mu.Lock()
	c.file = nil
	c.mu.Unlock()
	_ = f.Close()
	return err == nil
}

type blocked int

const (
	blockedEvent blocked = iota
	blockedLong          // nothing has happened for blockTime
	blockedOther
)

// wait sleeps.
func (b *blocker) wait() blocked {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return blockedOther
	}
	b.inWait = true
	b.mu.Unlock()
	n, err := unix.Poll(b.fds[:], blockTime)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.inWait = false
	switch {
	case b.closed:
		b.shut()
	case err != nil || b.fds[1].Revents != 0:
	case n == 0:
		return blockedLong
	default:
		return blockedEvent
	}
	return blockedOther
}

// wake ends a wait, that in progress or the next.
func (b *blocker) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.rung && !b.closed {
		b.rung = true
		_, _ = unix.Write(b.event, binary.NativeEndian.AppendUint64(nil, 1))
	}
}

// rest takes back what wake did.
func (b *blocker) rest() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rung && !b.closed {
		b.rung = false
		_, _ = unix.Read(b.event, make([]byte, 8))
	}
}

func (b *blocker) close() {
	b.wake()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if !b.inWait {
		b.shut()
	}
}

func (b *blocker) shut() {
	_ = unix.Close(b.event)
	_ = unix.Close(b.channel)
}

// giveTurns lets other threads have the processor, and reports whether there are completions then.
func (b *blocker) giveTurns(c *cq) bool {
	if b.pause > 0 {
		b.pause--
		return false
	}
	var start time.Time
	if b.waits%clockEvery == 0 {
		start = time.Now()
	}
	found := false
	for i := 0; i < turns && !found; i++ {
		_, _, _ = unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
		_, n, _ := c.fetch(false)
		found = n > 0
		b.missed++
	}
	if found {
		b.missed = 0
	}
	switch {
	case !start.IsZero() && time.Since(start) > longTurn:
		b.pause = longPause
	case b.missed >= mostMissed:
		b.missed, b.pause = 0, missPause
	}
	return found
}

// yield lets the runtime's scheduler run now and then. A goroutine that it never sees, in one call after the other, is for its
// monitor one to be preempted: after 10 ms, and then every 20 us.
func (b *blocker) yield() {
	if b.waits++; b.waits%yieldEvery == 0 {
		runtime.Gosched()
	}
}
