package rdma

import (
	"errors"
	"time"
)

// ErrStalled ends a connection on which no request completes
// ([Endpoint.EndIfStalled]): the peer neither takes data nor answers READs.
var ErrStalled = errors.New("rdma: the peer has taken nothing and sent nothing for too long")

// stall watches over requests that make no progress. The endpoint's lock guards it.
type stall struct {
	timer *time.Timer
	every time.Duration
	done  uint64 // requests that have completed
	seen  uint64 // done at the last check
	busy  bool   // something was outstanding then
}

// EndIfStalled disconnects with [ErrStalled] when requests are outstanding or waiting
// and none of them completes for a time of d to 2 d, from now on. It is for a server that
// stops: a client whose machine or network is gone would delay it until TCP or the device
// gives up retrying.
func (e *Endpoint) EndIfStalled(d time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := &e.stall
	if s.timer != nil || e.failing {
		return
	}
	s.every, s.seen, s.busy = d, s.done, e.outstandingLocked()
	s.timer = time.AfterFunc(d, e.checkStall)
}

// outstandingLocked reports whether any request but receives is outstanding or waits.
func (e *Endpoint) outstandingLocked() bool {
	return e.flying > 0 || e.reading > 0 || e.sendQ.Len() > 0 || e.readQ.Len() > 0
}

func (e *Endpoint) checkStall() {
	e.mu.Lock()
	s := &e.stall
	stuck := s.busy && s.seen == s.done && e.outstandingLocked()
	s.seen, s.busy = s.done, e.outstandingLocked()
	if !stuck && !e.failing {
		s.timer.Reset(s.every)
	}
	e.mu.Unlock()
	if stuck {
		e.fail(ErrStalled, true)
	}
}

// stopStallTimer is called when the endpoint is failing.
func (e *Endpoint) stopStallTimer() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if t := e.stall.timer; t != nil {
		t.Stop()
	}
}
