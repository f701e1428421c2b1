package budget

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// patience is how long a call waits for its turn. It is less than the minute after which clients
	// of NFS and SMB take the server for dead.
	patience = 30 * time.Second
	// queuePerThread is how many calls wait at most, for each that may run.
	queuePerThread = 4
)

// ErrOverload is the error of a call that did not get its turn: too many wait already, or it has
// waited for too long. The client may try again later.
var ErrOverload = errors.New("too many calls are blocked in the file system")

// Calls bounds the calls that are inside one share's file system, each of which may hold a thread
// while it is blocked. A call that comes when all are taken waits, in the order of arrival.
//
// The zero Calls is not ready for use: [Threads.Share] makes one.
type Calls struct {
	threads *Threads
	limit   atomic.Int64
	running atomic.Int64
	waiting atomic.Int64 // length of queue; written under mu
	refused atomic.Uint64

	mu    sync.Mutex
	queue []chan struct{} // closed when it is the waiter's turn
}

// CallStats says how busy a share is.
type CallStats struct {
	Limit   int    // calls that may be inside at once
	Running int    // calls inside
	Waiting int    // calls that wait for their turn
	Refused uint64 // calls that did not get one, since the start
}

// Stats returns the numbers of the moment.
func (c *Calls) Stats() CallStats {
	return CallStats{int(c.limit.Load()), int(c.running.Load()), int(c.waiting.Load()), c.refused.Load()}
}

// Enter begins a call, which ends with Leave. It waits where too many are inside; the error is
// [ErrOverload], or that of ctx when it ends first.
func (c *Calls) Enter(ctx context.Context) error {
	if c.TryEnter() {
		return nil
	}
	return c.wait(ctx)
}

// TryEnter is Enter that does not wait: it reports whether the call has begun.
func (c *Calls) TryEnter() bool { return c.waiting.Load() == 0 && c.take() }

// take takes a place if one is free.
func (c *Calls) take() bool {
	for {
		n := c.running.Load()
		if n >= c.limit.Load() {
			return false
		}
		if c.running.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Leave ends a call.
func (c *Calls) Leave() {
	c.running.Add(-1)
	// Whoever waits has counted itself before it looked for a free place, so one of the two sees the other.
	if c.waiting.Load() > 0 {
		c.mu.Lock()
		c.admitLocked()
		c.mu.Unlock()
	}
}

// admitLocked lets those in whose turn it is.
func (c *Calls) admitLocked() {
	for len(c.queue) > 0 && c.take() {
		close(c.queue[0])
		c.queue[0] = nil
		c.queue = c.queue[1:]
		c.waiting.Add(-1)
	}
}

func (c *Calls) wait(ctx context.Context) error {
	turn := make(chan struct{})
	c.mu.Lock()
	if len(c.queue) >= queuePerThread*int(c.limit.Load()) {
		c.mu.Unlock()
		c.refused.Add(1)
		return ErrOverload
	}
	c.queue = append(c.queue, turn)
	c.waiting.Add(1)
	c.admitLocked()
	c.mu.Unlock()

	late := time.NewTimer(patience)
	defer late.Stop()
	err := ErrOverload
	select {
	case <-turn:
		return nil
	case <-late.C:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if !c.giveUp(turn) { // its turn came at the same moment
		return nil
	}
	c.refused.Add(1)
	return err
}

// giveUp takes a waiter out of the queue, and reports whether it was there still.
func (c *Calls) giveUp(turn chan struct{}) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.queue, turn)
	if i < 0 {
		return false
	}
	c.queue = slices.Delete(c.queue, i, i+1)
	c.waiting.Add(-1)
	return true
}

func (c *Calls) setLimit(n int) {
	c.limit.Store(int64(n))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.admitLocked()
}

// Close gives the share's part back. Calls that are inside still end with Leave.
func (c *Calls) Close() { c.threads.remove(c) }
