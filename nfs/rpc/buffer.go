package rpc

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"fileserver/internal/admission"
	"fileserver/internal/slab"
)

// maxBufferWait is how long a call waits for memory. Most replies of other calls go out sooner, and clients wait longer
// for an answer.
const maxBufferWait = 5 * time.Second

var errNoMemory = errors.New("rpc: no memory has become free in time")

// Buffer returns a buffer of n bytes for a payload of the reply. It waits for a while if the pool is exhausted, or if
// the calls of the connection hold as much as they may. The error means that the client is to ask again later
// (NFS3ERR_JUKEBOX, NFS4ERR_DELAY).
func (c *Call) Buffer(ctx context.Context, n int) (*slab.Buf, error) {
	size := int64(slab.SizeOf(n))
	if c.Held == nil || c.Held.Try(size) {
		if b, ok := c.Buffers.TryGet(n); ok {
			return c.own(b), nil
		}
	} else if !waitForRoom(ctx, c.Held, size) {
		return nil, errNoMemory
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxBufferWait, errNoMemory)
	defer cancel()
	b, err := c.Buffers.Get(ctx, n)
	if err != nil {
		if c.Held != nil {
			c.Held.Give(size)
		}
		return nil, err
	}
	return c.own(b), nil
}

// own returns the buffer's bytes to the connection's budget, which has admitted them, when the buffer is released.
func (c *Call) own(b *slab.Buf) *slab.Buf {
	if c.Held != nil {
		b.SetOwner(c.Held)
	}
	return b
}

// roomWait waits for room in a budget. The budget and the timeout race to set over; the first decides.
type roomWait struct {
	budget *admission.Budget
	n      int64
	over   atomic.Bool
	room   chan struct{}
}

// Admitted implements [admission.Waiter].
func (w *roomWait) Admitted() {
	if w.over.Swap(true) {
		w.budget.Give(w.n) // nobody waits any more
		return
	}
	close(w.room)
}

// waitForRoom counts n bytes in b when there is room, and reports whether there was in time.
func waitForRoom(ctx context.Context, b *admission.Budget, n int64) bool {
	w := &roomWait{budget: b, n: n, room: make(chan struct{})}
	if b.Admit(n, w) {
		return true
	}
	timeout := time.NewTimer(maxBufferWait)
	defer timeout.Stop()
	select {
	case <-w.room:
		return true
	case <-timeout.C:
	case <-ctx.Done():
	}
	return w.over.Swap(true) // true: there is room after all
}
