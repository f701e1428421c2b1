package iwarp

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"fileserver/internal/queue"
	"fileserver/rdma"
)

// completionQueue implements rdma.CQ. It grows, so that a consumer that polls late loses nothing.
type completionQueue struct {
	count atomic.Int32 // completions queued, so that an empty poll takes no lock

	mu      sync.Mutex
	queue   queue.Queue[rdma.WC]
	waiting bool
	closed  bool
	users   int
	wake    chan struct{}
}

func newCQ() *completionQueue { return &completionQueue{wake: make(chan struct{}, 1)} }

// push queues completions, in order.
func (q *completionQueue) push(wc ...rdma.WC) {
	q.mu.Lock()
	for i := range wc {
		q.queue.Push(wc[i])
	}
	q.count.Store(int32(q.queue.Len()))
	q.signalLocked()
	q.mu.Unlock()
}

// signalLocked wakes the waiter.
func (q *completionQueue) signalLocked() {
	if q.waiting {
		q.waiting = false
		select {
		case q.wake <- struct{}{}:
		default:
		}
	}
}

// Poll implements rdma.CQ.
func (q *completionQueue) Poll(wc []rdma.WC) int {
	if q.count.Load() == 0 {
		return 0
	}
	q.mu.Lock()
	n := min(q.queue.Len(), len(wc))
	for i := range n {
		wc[i], _ = q.queue.Pop()
	}
	q.count.Store(int32(q.queue.Len()))
	q.mu.Unlock()
	return n
}

// Wait implements rdma.CQ.
func (q *completionQueue) Wait(ctx context.Context) error {
	q.mu.Lock()
	switch {
	case q.count.Load() > 0:
		q.mu.Unlock()
		return nil
	case q.closed:
		q.mu.Unlock()
		return rdma.ErrClosed
	}
	q.waiting = true
	q.mu.Unlock()
	if done := ctx.Done(); done == nil {
		<-q.wake
	} else if !q.await(done) {
		q.mu.Lock()
		q.waiting = false
		select {
		case <-q.wake: // signalled in the meantime
		default:
		}
		n := q.count.Load()
		q.mu.Unlock()
		if n > 0 {
			return nil
		}
		return context.Cause(ctx)
	}
	if q.count.Load() > 0 {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return rdma.ErrClosed
	}
	return nil
}

// await waits for the queue or for done. It reports whether it was the queue.
func (q *completionQueue) await(done <-chan struct{}) bool {
	select {
	case <-q.wake:
		return true
	case <-done:
		return false
	}
}

// Close implements rdma.CQ.
func (q *completionQueue) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.users > 0 {
		return fmt.Errorf("%w: %d queues complete into the completion queue", rdma.ErrBusy, q.users)
	}
	q.closed = true
	q.signalLocked()
	return nil
}

func (q *completionQueue) use(n int) {
	q.mu.Lock()
	q.users += n
	q.mu.Unlock()
}
