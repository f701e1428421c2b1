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
	// patience is how long a call waits for its turn. It is less than the minute after which clients of NFS and SMB assume that
	// the server is dead.
	patience = 30 * time.Second
	// queuePerThread is how many calls may wait, for each call that may run.
	queuePerThread = 4
)

// ErrOverload is the error of a call that did not get its turn: too many calls wait already, or it has waited too long. The
// client may try again later.
var ErrOverload = errors.New("too many calls are blocked in the file system")

// Share is the part of one share. It bounds the calls inside the share's file system, each of which may hold a thread while it
// is blocked. Further calls wait, in the order of arrival.
//
// The zero Share is not ready for use; [Shares.Add] returns one.
type Share struct {
	all     *Shares
	cache   atomic.Int64
	limit   atomic.Int64
	running atomic.Int64
	waiting atomic.Int64 // length of queue; written under mu
	refused atomic.Uint64

	mu    sync.Mutex
	queue []chan struct{} // closed when it is the waiter's turn
}

// ShareStats says how busy a share is.
type ShareStats struct {
	Limit   int    // calls that may be inside at once
	Running int    // calls inside
	Waiting int    // calls that wait for their turn
	Refused uint64 // calls that did not get one, since the start
}

// Stats returns the current numbers.
func (s *Share) Stats() ShareStats {
	return ShareStats{int(s.limit.Load()), int(s.running.Load()), int(s.waiting.Load()), s.refused.Load()}
}

// Enter begins a call, which ends with Leave. It waits while too many calls are inside. The error is [ErrOverload], or that of
// ctx if ctx ends first.
func (s *Share) Enter(ctx context.Context) error {
	if s.TryEnter() {
		return nil
	}
	return s.wait(ctx)
}

// TryEnter is Enter without waiting. It reports whether the call has begun.
func (s *Share) TryEnter() bool { return s.waiting.Load() == 0 && s.take() }

// take takes a place if one is free.
func (s *Share) take() bool {
	for {
		n := s.running.Load()
		if n >= s.limit.Load() {
			return false
		}
		if s.running.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Leave ends a call.
func (s *Share) Leave() {
	s.running.Add(-1)
	// A waiter counts itself before it checks for a free place, so either it or this call sees the other.
	if s.waiting.Load() > 0 {
		s.mu.Lock()
		s.admitLocked()
		s.mu.Unlock()
	}
}

// admitLocked admits waiting calls while there are free places.
func (s *Share) admitLocked() {
	for len(s.queue) > 0 && s.take() {
		close(s.queue[0])
		s.queue[0] = nil
		s.queue = s.queue[1:]
		s.waiting.Add(-1)
	}
}

func (s *Share) wait(ctx context.Context) error {
	turn := make(chan struct{})
	s.mu.Lock()
	if len(s.queue) >= queuePerThread*int(s.limit.Load()) {
		s.mu.Unlock()
		s.refused.Add(1)
		return ErrOverload
	}
	s.queue = append(s.queue, turn)
	s.waiting.Add(1)
	s.admitLocked()
	s.mu.Unlock()

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
	if !s.giveUp(turn) { // its turn came at the same moment
		return nil
	}
	s.refused.Add(1)
	return err
}

// giveUp removes a waiter from the queue, and reports whether it was still there.
func (s *Share) giveUp(turn chan struct{}) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.queue, turn)
	if i < 0 {
		return false
	}
	s.queue = slices.Delete(s.queue, i, i+1)
	s.waiting.Add(-1)
	return true
}

func (s *Share) setLimits(threads, cache int) {
	s.cache.Store(int64(cache))
	s.limit.Store(int64(threads))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.admitLocked()
}

// Cache returns how many descriptors the share may keep open for later use. It changes when shares are added and removed.
func (s *Share) Cache() int { return int(s.cache.Load()) }

// Close returns the share's part to the others. Calls that are inside still end with Leave.
func (s *Share) Close() { s.all.remove(s) }
