// Package admission bounds the memory that the requests of one connection hold. Requests beyond the limit wait, in order of
// arrival, until others release memory. So a client that sends many requests and reads no responses cannot take all memory.
package admission

import (
	"sync"
	"sync/atomic"
)

// Waiter is a request that waits.
type Waiter interface {
	// Admitted is called once, when there is room; the bytes are counted. The caller of Give calls it and may hold locks, but not
	// the Budget's. Admitted must not block.
	Admitted()
}

// Budget counts the bytes that a connection's requests hold. Its lock is a leaf. Without waiters nothing is locked.
type Budget struct {
	limit int64
	held  atomic.Int64
	count atomic.Int32 // len(queue)

	mu     sync.Mutex
	queue  []entry // first come, first served
	closed bool
}

type entry struct {
	w Waiter
	n int64
}

// New makes a budget of limit bytes.
func New(limit int64) *Budget { return &Budget{limit: limit} }

// Try counts n bytes and returns true, if there is room for them and nobody waits.
func (b *Budget) Try(n int64) bool { return b.count.Load() == 0 && b.fits(n) }

// Admit counts n bytes for w and returns true. If there is no room, it queues w and returns false; Admitted may then be called
// before Admit has returned. A request that is larger than the limit is admitted when nothing else is held.
func (b *Budget) Admit(n int64, w Waiter) bool {
	if b.Try(n) {
		return true
	}
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		b.held.Add(n) // nobody waits any more: what is left ends soon
		return true
	}
	b.count.Add(1)
	b.queue = append(b.queue, entry{w, n})
	b.mu.Unlock()
	b.wake() // what was in the way may be gone by now
	return false
}

// fits counts n bytes if there is room for them.
func (b *Budget) fits(n int64) bool {
	if sum := b.held.Add(n); sum > b.limit && sum != n {
		b.held.Add(-n)
		return false
	}
	return true
}

// Add counts n more bytes of a request that has been admitted, even if there is no room.
func (b *Budget) Add(n int64) { b.held.Add(n) }

// Give subtracts n bytes and admits the waiting requests that now fit.
func (b *Budget) Give(n int64) {
	if b.held.Add(-n); b.count.Load() > 0 {
		b.wake()
	}
}

// Released is Give for the bytes of a buffer: a Budget can be the buffer's slab.Owner.
func (b *Budget) Released(size int) { b.Give(int64(size)) }

// wake admits the waiting requests that fit.
func (b *Budget) wake() {
	for {
		b.mu.Lock()
		if len(b.queue) == 0 || !b.fits(b.queue[0].n) {
			b.mu.Unlock()
			return
		}
		w := b.popLocked()
		b.mu.Unlock()
		w.Admitted()
	}
}

func (b *Budget) popLocked() Waiter {
	w := b.queue[0].w
	b.queue[0] = entry{}
	if b.queue = b.queue[1:]; len(b.queue) == 0 {
		b.queue = nil
	}
	b.count.Add(-1)
	return w
}

// Close returns the requests that wait. Their bytes are not counted, and their Admitted is not called. Later requests do not wait.
func (b *Budget) Close() (waiting []Waiter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for len(b.queue) > 0 {
		waiting = append(waiting, b.popLocked())
	}
	return waiting
}

// Held returns how many bytes are counted.
func (b *Budget) Held() int64 { return b.held.Load() }

// Waiting returns how many requests wait.
func (b *Budget) Waiting() int { return int(b.count.Load()) }

// Limit is the budget's limit, bytes.
func (b *Budget) Limit() int64 { return b.limit }
