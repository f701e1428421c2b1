package rdma

import (
	"context"
	"errors"
)

// watch turns the ID's events into the endpoint's end; it reports the last one's error.
func (e *Endpoint) watch(last chan<- error) {
	var err error
	defer func() { last <- err }()
	note := func(ev Event, ok bool) (more bool) {
		switch {
		case !ok:
			e.fail(err, false)
			return false
		case ev.Type == EventEstablished:
			return true
		case ev.Type == EventDeviceRemoval && ev.Err == nil:
			ev.Err = ErrDeviceRemoved
		}
		err = ev.Err
		e.fail(err, err != nil)
		return true
	}
	for {
		select {
		case ev, ok := <-e.id.Events():
			if !note(ev, ok) {
				return
			}
		case <-e.ended: // the ID is closed; its last events are in the channel
			select {
			case ev, ok := <-e.id.Events():
				if note(ev, ok) {
					continue
				}
			default:
			}
			return
		}
	}
}

// Disconnect ends the connection: requests posted before are still sent if the peer
// takes them; waiting ones fail. Handler.Closed(err) follows, also where
// the endpoint was never started. It does not wait, and only the first reason counts;
// [ErrNotConnected] is none.
func (e *Endpoint) Disconnect(err error) {
	e.fail(err, !errors.Is(err, ErrNotConnected))
	e.Start() // unless it has been
}

// fail begins the end with err. Only the first err with reason set counts: an error that
// says no more than "flushed" is no reason.
func (e *Endpoint) fail(err error, reason bool) {
	e.mu.Lock()
	first := !e.failing
	e.failing = true
	if reason && !e.causeSet {
		e.cause, e.causeSet = err, true
	}
	wake := e.wake
	e.mu.Unlock()
	if first {
		_ = e.id.Disconnect() // the ID's last event carries its error
		wake()
	}
}

// refusalLocked returns the error of requests after the end.
func (e *Endpoint) refusalLocked() error {
	if e.cause != nil {
		return e.cause
	}
	return ErrNotConnected
}

// busyLocked reports whether the provider may hold buffers of the endpoint.
func (e *Endpoint) busyLocked() bool {
	return e.posting || e.flying > 0 || e.reading > 0 || len(e.freeRecv) < len(e.recvs)
}

// wakeIfDrainedLocked ends drain's wait if a failed post has taken back the last outstanding
// request: there is no completion that would end it.
func (e *Endpoint) wakeIfDrainedLocked() {
	if e.failing && !e.busyLocked() {
		e.wake()
	}
}

// drain waits for all completions, closes everything and reports the end.
func (e *Endpoint) drain(events <-chan error) {
	wait, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	e.mu.Lock()
	defer e.wake()
	e.wake = cancel
	e.mu.Unlock()
	e.stopStallTimer()
	e.refuseQueued()
	for {
		n := e.cq.Poll(e.wcs)
		for i := range e.wcs[:n] {
			e.complete(&e.wcs[i])
		}
		e.mu.Lock()
		busy := e.busyLocked()
		e.mu.Unlock()
		if !busy || n == 0 && e.cq.Wait(wait) != nil {
			break
		}
	}
	closeErr := e.id.Close()
	for n := e.cq.Poll(e.wcs); n > 0; n = e.cq.Poll(e.wcs) {
		for i := range e.wcs[:n] {
			e.complete(&e.wcs[i])
		}
	}
	close(e.ended)
	last := <-events
	e.mu.Lock()
	err := e.cause
	if !e.causeSet {
		err = last
	}
	e.mu.Unlock()
	e.abandon()
	if endErr := errors.Join(closeErr, e.cq.Close(), e.closeSink(), e.mem.Release()); err == nil {
		err = endErr
	}
	e.cfg.Handler.Closed(err)
	close(e.done)
}

// refuseQueued ends the waiting chains and READs that have nothing in flight; the others
// end with their last completion.
func (e *Endpoint) refuseQueued() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for r, ok := e.readQ.Pop(); ok; r, ok = e.readQ.Pop() {
		r.queued = false
		if r.err == nil {
			r.err = e.refusalLocked()
		}
		if r.inFlight == 0 {
			e.endReadLocked(r)
		}
	}
	for op, ok := e.sendQ.Pop(); ok; op, ok = e.sendQ.Pop() {
		op.queued = false
		if op.err == nil {
			op.err = e.refusalLocked()
		}
		if op.inFlight == 0 {
			err := op.err
			e.mu.Unlock()
			e.finish(op, err)
			e.mu.Lock()
		}
	}
}

// abandon ends the requests that never completed. The ID is closed, so the provider
// uses no buffer any more. A correct provider has completed everything already.
func (e *Endpoint) abandon() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range e.recvs {
		if b := e.recvs[i].buf; b != nil {
			e.recvs[i].buf = nil
			e.freeRecv = append(e.freeRecv, uint32(i))
			b.Release()
		}
	}
	for _, r := range e.reads {
		if r.inFlight > 0 {
			r.inFlight, r.err = 0, e.refusalLocked()
			e.endReadLocked(r)
		}
	}
	for _, op := range e.ops {
		if op.inFlight > 0 {
			op.inFlight = 0
			err := e.refusalLocked()
			e.mu.Unlock()
			e.finish(op, err)
			e.mu.Lock()
		}
	}
	e.flying, e.reading = 0, 0
}
