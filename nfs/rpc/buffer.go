package rpc

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"fileserver/internal/admission"
	"fileserver/internal/slab"
)

// maxBufferWait is how long a call waits for memory: longer than others' replies mostly need to go out, and
// shorter than clients wait for an answer.
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

// own has the connection's budget told when the buffer, whose bytes it has admitted, is given back.
func (c *Call) own(b *slab.Buf) *slab.Buf {
	if c.Held != nil {
		b.SetOwner(c.Held)
	}
	return b
}

// roomWait waits for room in a budget. Who ends it first, the budget or the time, decides.
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
