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

// Share is the part of one share. It bounds the calls that are inside the share's file system, each of
// which may hold a thread while it is blocked: a call that comes when all places are taken waits, in
// the order of arrival.
//
// The zero Share is not ready for use: [Shares.Add] makes one.
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

// Stats returns the numbers of the moment.
func (s *Share) Stats() ShareStats {
	return ShareStats{int(s.limit.Load()), int(s.running.Load()), int(s.waiting.Load()), s.refused.Load()}
}

// Enter begins a call, which ends with Leave. It waits where too many are inside; the error is
// [ErrOverload], or that of ctx when it ends first.
func (s *Share) Enter(ctx context.Context) error {
	if s.TryEnter() {
		return nil
	}
	return s.wait(ctx)
}

// TryEnter is Enter that does not wait: it reports whether the call has begun.
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
	// Whoever waits has counted itself before it looked for a free place, so one of the two sees the other.
	if s.waiting.Load() > 0 {
		s.mu.Lock()
		s.admitLocked()
		s.mu.Unlock()
	}
}

// admitLocked lets those in whose turn it is.
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

// giveUp takes a waiter out of the queue, and reports whether it was there still.
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

// Cache is how many descriptors the share may keep open for later use. It changes when shares come and go.
func (s *Share) Cache() int { return int(s.cache.Load()) }

// Close gives the share's part back. Calls that are inside still end with Leave.
func (s *Share) Close() { s.all.remove(s) }
