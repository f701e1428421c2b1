package mem

import (
	"context"
	"fmt"
	"sync"

	"fileserver/rdma"
)

// CQ implements [rdma.CQ].
type CQ struct {
	notify chan struct{} // capacity 1
	closed chan struct{}

	mu       sync.Mutex
	ring     []cqe
	head, n  int
	attached int // depths of the queues that complete here
	shut     bool
}

// cqe is a completion and the queue slots that come free when it is polled.
type cqe struct {
	wc           rdma.WC
	qp           *QP
	sends, recvs int32
}

// CreateCQ implements [rdma.Device].
func (d *Device) CreateCQ(depth int) (rdma.CQ, error) {
	if depth < 1 {
		return nil, fmt.Errorf("mem: completion queue of %d entries", depth)
	}
	if d.isRemoved() {
		return nil, rdma.ErrDeviceRemoved
	}
	return &CQ{ring: make([]cqe, depth), notify: make(chan struct{}, 1), closed: make(chan struct{})}, nil
}

// attach reserves room for the completions of a queue.
func (c *CQ) attach(depth int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.shut:
		return rdma.ErrClosed
	case c.attached+depth > len(c.ring):
		return fmt.Errorf("mem: completion queue of %d entries for queues of %d", len(c.ring), c.attached+depth)
	}
	c.attached += depth
	return nil
}

func (c *CQ) detach(depth int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.attached -= depth
}

// push cannot overflow: queue slots are freed by Poll, and attach has counted them.
func (c *CQ) push(e cqe) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == len(c.ring) {
		panic("mem: completion queue overrun")
	}
	c.ring[(c.head+c.n)%len(c.ring)] = e
	c.n++
	select {
	case c.notify <- struct{}{}:
	default:
	}
}

// Poll implements [rdma.CQ].
func (c *CQ) Poll(wc []rdma.WC) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(len(wc), c.n)
	for i := range n {
		e := &c.ring[c.head]
		wc[i] = e.wc
		e.qp.sqUsed.Add(-e.sends)
		e.qp.rqUsed.Add(-e.recvs)
		*e = cqe{}
		c.head = (c.head + 1) % len(c.ring)
	}
	c.n -= n
	return n
}

func (c *CQ) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// Wait implements [rdma.CQ].
func (c *CQ) Wait(ctx context.Context) error {
	for c.len() == 0 {
		select {
		case <-c.notify:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-c.closed:
			return rdma.ErrClosed
		}
	}
	return nil
}

// Close implements [rdma.CQ].
func (c *CQ) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.attached > 0 {
		return fmt.Errorf("%w: completion queue", rdma.ErrBusy)
	}
	if !c.shut {
		c.shut = true
		close(c.closed)
	}
	return nil
}
