//go:build linux && cgo && rdmacore

package verbs

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"fileserver/rdma"
)

// batch is how many completions are taken from the device with one call where the
// caller does not say.
const batch = 32

// cq implements [rdma.CQ].
//
// Completions come from two places, in this order: the stash, where a waiter and
// the end of a queue pair put what they have polled, and the device.
type cq struct {
	dev      *device
	number   uint64 // the order of locking
	depth    int
	file     *os.File // of the completion channel
	raw      syscall.RawConn
	take     func(uintptr) bool // for raw.Read
	closed   chan struct{}
	awaitRTU atomic.Int32 // queue pairs that wait for their peer's first message
	wait     waiter

	mu       sync.Mutex
	h        cqHandle // zero when the device is gone
	shut     bool
	stash    []rdma.WC
	head     int // of stash
	attached int // depths of the queues that complete here
	qps      map[uint32]*qp
	armed    bool
	woken    bool // the file's deadline is set, to wake the waiter
}

// CreateCQ implements [rdma.Device].
func (d *device) CreateCQ(depth int) (rdma.CQ, error) {
	entries := depth + depth/2 + 1 // sentinels: no more than one for each two requests
	if depth < 1 || entries > d.ctx.cqes {
		return nil, fmt.Errorf("rdma/verbs: completion queue of %d entries, %s has up to %d", depth, d.ctx.name, d.ctx.cqes*2/3)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.usableLocked(); err != nil {
		return nil, err
	}
	h, err := d.ctx.createCQ(entries)
	if err != nil {
		return nil, err
	}
	c := &cq{dev: d, number: d.p.nextHandle.Add(1), depth: depth, h: h, closed: make(chan struct{}), stash: make([]rdma.WC, 0, batch), qps: make(map[uint32]*qp)}
	c.wait.budget = d.p.spin
	if err := unix.SetNonblock(h.fd(), true); err != nil {
		panic(err) // it is open
	}
	c.file = os.NewFile(uintptr(h.fd()), "completion channel") // owns the descriptor from now on
	if c.raw, err = c.file.SyscallConn(); err != nil {
		_ = c.file.Close()
		h.destroy()
		return nil, err
	}
	c.take = c.armAndTake
	d.cqs[c] = struct{}{}
	return c, nil
}

// attach reserves room for the completions of a queue.
func (c *cq) attach(depth int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.shut:
		return rdma.ErrClosed
	case !c.h.valid():
		return rdma.ErrDeviceRemoved
	case c.attached+depth > c.depth:
		return fmt.Errorf("rdma/verbs: completion queue of %d entries for queues of %d", c.depth, c.attached+depth)
	}
	c.attached += depth
	return nil
}

func (c *cq) detach(depth int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.attached -= depth
}

// Poll implements [rdma.CQ].
func (c *cq) Poll(wc []rdma.WC) int {
	c.mu.Lock()
	if c.head < len(c.stash) {
		n := copy(wc, c.stash[c.head:])
		if c.head += n; c.head == len(c.stash) {
			c.stash, c.head = c.stash[:0], 0
		}
		c.mu.Unlock()
		return n
	}
	if !c.h.valid() {
		c.mu.Unlock()
		return 0
	}
	n, failed := c.h.poll(wc)
	c.mu.Unlock()
	c.handleCompletions(wc[:n], failed)
	return n
}

// handleCompletions updates the queue pairs of completions that came from the device: a
// queue pair has failed, or its peer has sent its first message. mu must not be held.
func (c *cq) handleCompletions(wcs []rdma.WC, failed int) {
	if failed == 0 && (len(wcs) == 0 || c.awaitRTU.Load() == 0) {
		return
	}
	for i := range wcs {
		c.mu.Lock()
		q := c.qps[wcs[i].QPN]
		c.mu.Unlock()
		switch {
		case q == nil:
		case wcs[i].Status != rdma.StatusSuccess:
			q.id.failed(&wcs[i])
		case wcs[i].Opcode == rdma.OpRecv:
			q.readyToUse()
		}
	}
}

// fetch moves completions from the device to the stash, and returns how many it
// found. arm asks for an event, unless one has been asked for (armed), before it looks.
func (c *cq) fetch(arm bool) (armed bool, n int, err error) {
	var wcs [batch]rdma.WC
	failed := 0
	c.mu.Lock()
	armed = c.armed
	switch {
	case !c.h.valid():
	case arm && !c.armed:
		n, failed, err = c.h.arm(wcs[:])
		c.armed = err == nil
	default:
		n, failed = c.h.poll(wcs[:])
	}
	c.stash = append(c.stash, wcs[:n]...)
	c.mu.Unlock()
	c.handleCompletions(wcs[:n], failed)
	return armed, n, err
}

// put adds completions that the device does not make.
func (c *cq) put(wcs []rdma.WC) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stash = append(c.stash, wcs...)
	c.wakeLocked()
}

// Close implements [rdma.CQ].
func (c *cq) Close() error {
	c.mu.Lock()
	if c.attached > 0 {
		c.mu.Unlock()
		return fmt.Errorf("%w: completion queue", rdma.ErrBusy)
	}
	first := !c.shut
	c.shut = true
	c.wakeLocked()
	c.mu.Unlock()
	if !first {
		return nil
	}
	c.dev.mu.Lock()
	delete(c.dev.cqs, c)
	c.dev.mu.Unlock()
	c.wait.forget()
	c.release()
	return nil
}

// release destroys the device's queue. What is in the stash stays.
func (c *cq) release() {
	c.mu.Lock()
	h := c.h
	c.h = cqHandle{}
	c.wakeLocked()
	c.mu.Unlock()
	if !h.valid() {
		return
	}
	_ = c.file.Close()
	h.destroy()
}
