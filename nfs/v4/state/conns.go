package state

import (
	"slices"
	"sync"
	"sync/atomic"
)

// maxConns is how many connections a session remembers: the latest.
const maxConns = 64

// connSet is the connections bound to a session (RFC 8881 2.10.3.1). Most requests come on a connection that is bound
// already, so it is read without a lock.
type connSet struct {
	list atomic.Pointer[[]uint64] // the latest first; replaced, never changed
	mu   sync.Mutex               // held to replace list
}

// Bind binds a connection to the session (RFC 8881 18.34).
func (se *Session) Bind(conn uint64) { se.conns.add(conn) }

func (s *connSet) has(conn uint64) bool {
	l := s.list.Load()
	return l != nil && slices.Contains(*l, conn)
}

func (s *connSet) add(conn uint64) {
	if s.has(conn) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	next := []uint64{conn}
	if l := s.list.Load(); l != nil {
		if slices.Contains(*l, conn) {
			return
		}
		next = append(next, (*l)[:min(len(*l), maxConns-1)]...)
	}
	s.list.Store(&next)
}
