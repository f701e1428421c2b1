package smb

import (
	"sync/atomic"
	"time"

	"fileserver/smb/wire"
	"fileserver/vfs/lock"
)

// statusParked is what an operation's run returns that has begun a wait. It is not a status of responses.
const statusParked wire.Status = 0xffffffff

// maxAsync is how many requests of a connection wait asynchronously at most (MS-SMB2 3.3.1.2, appendix A).
const maxAsync = 512

// wait is a request's wait for something. An operation's run begins one, hands it to whoever will end it, and returns
// statusParked; until it has returned it may use the request as ever. The wait ends once, with a status. Then the request is
// resumed: with success its operation runs again from the beginning, and any other status is the response's.
type wait struct {
	req    *request
	status wire.Status   // that it has ended with
	done   chan struct{} // closed when it has ended; nil for those that nobody has to be told of
	ended  atomic.Bool   // who sets it ends the wait
	state  atomic.Uint32
}

// States of a wait.
const (
	waitBegun  uint32 = iota // run has not returned
	waitParked               // run has returned: who ends the wait resumes the request
	waitOver
)

// end ends the wait with a status, and reports whether it had not ended before. It may be called from anywhere, and late: the
// request is not touched if the wait has ended.
func (w *wait) end(st wire.Status) bool {
	if w.ended.Swap(true) {
		return false
	}
	w.status = st
	if w.done != nil {
		close(w.done)
	}
	if w.state.Swap(waitOver) == waitParked {
		w.req.conn.srv.workers.Submit(w.req.compound)
	}
	return true
}

// park reports whether the request has to wait: not if the wait has ended already.
func (w *wait) park() bool { return w.state.CompareAndSwap(waitBegun, waitParked) }

// beginWait begins a wait that the client is not told of and cannot cancel. It is part of the request: somebody ends it, and only
// once.
func (r *request) beginWait() *wait {
	r.ownWait = wait{req: r}
	r.wait = &r.ownWait
	return r.wait
}

// beginAsync begins a wait that may take long. The first makes the request asynchronous: the client is told (MS-SMB2 3.3.4.2). CANCEL and
// the end of the connection end it with STATUS_CANCELLED. If there is no wait the status says why.
func (r *request) beginAsync() (*wait, wire.Status) {
	c := r.conn
	w := &wait{req: r, done: make(chan struct{})}
	c.mu.Lock()
	first := r.asyncID == 0
	if st := c.mayWaitLocked(r); st != wire.StatusSuccess {
		c.mu.Unlock()
		return nil, st
	}
	r.cancellable = w
	credits := 0
	if first {
		c.asyncs++
		c.lastAsync++
		r.asyncID = c.lastAsync
		credits = c.grantLocked(r)
	}
	c.mu.Unlock()
	r.wait = w
	if first {
		r.compound.flush()
		if err := r.interim(credits); err != nil {
			c.drop(err)
		}
	}
	return w, wire.StatusSuccess
}

// mayWaitLocked says why the request must not wait, if so.
func (c *Conn) mayWaitLocked(r *request) wire.Status {
	switch {
	case r.cancelled || c.closed:
		return wire.StatusCancelled
	case r.asyncID == 0 && c.asyncs >= maxAsync:
		return wire.StatusInsufficientResources
	}
	return wire.StatusSuccess
}

// await waits until those who cache the file have answered.
func (r *request) await(rc *lock.Recall) wire.Status {
	w, st := r.beginAsync()
	if w == nil {
		return st
	}
	go func() {
		select {
		case <-rc.Done():
			w.end(wire.StatusSuccess)
		case <-w.done:
		}
	}()
	return statusParked
}

// delay lets the operation run again after d, without telling the client. If the request is cancelled or the connection ends
// before, the operation does not run again.
func (r *request) delay(d time.Duration) wire.Status {
	c := r.conn
	w := &wait{req: r}
	c.mu.Lock()
	defer c.mu.Unlock()
	if st := c.mayWaitLocked(r); st != wire.StatusSuccess {
		return st
	}
	r.wait, r.cancellable = w, w
	time.AfterFunc(d, func() { w.end(wire.StatusSuccess) })
	return statusParked
}

// resumer is an operation that has something to do when a wait of its ends.
type resumer interface {
	// resumed is told the status that the wait has ended with. The operation runs again if again is set; otherwise the
	// status that it returns is the response's.
	resumed(r *request, st wire.Status) (_ wire.Status, again bool)
}

// resume goes on with a request whose wait has ended: its operation is to run again, or the response has the status.
func (r *request) resume() (st wire.Status, again bool) {
	st = r.wait.status
	r.wait = nil
	again = st == wire.StatusSuccess
	if x, ok := r.op.(resumer); ok && r.stage == ready {
		st, again = x.resumed(r, st)
	}
	if again {
		st = r.stillThere()
	}
	return st, again && st == wire.StatusSuccess
}

// stillThere checks that what the request is about has not ended while it waited. What an open claims has gone
// with it: who writes to the file afterwards could do so behind the back of another, who denies that.
func (r *request) stillThere() wire.Status {
	switch o, t := r.open, r.tree; {
	case o != nil && !o.ended.Load(), r.session == nil:
		return wire.StatusSuccess
	case r.session.hasEnded():
		return wire.StatusUserSessionDeleted
	case t != nil && (t.share.gone.Load() || r.session.tree(t.id) != t):
		return wire.StatusNetworkNameDeleted
	case o != nil:
		return wire.StatusFileClosed
	}
	return wire.StatusSuccess
}
