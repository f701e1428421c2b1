package smb

import (
	"sync/atomic"
	"time"

	"fileserver/smb/wire"
	"fileserver/vfs/lock"
)

// statusParked is returned by an operation's run that has begun a wait. It is not the status of a response.
const statusParked wire.Status = 0xffffffff

// maxAsync is the most requests of a connection that wait asynchronously (MS-SMB2 3.3.1.2, appendix A).
const maxAsync = 512

// wait is a request's wait for an event. An operation's run begins a wait, hands it to the code that will end it, and
// returns statusParked. run may use the request until it has returned. The wait ends once, with a status. Then the
// request is resumed: on success its operation runs again from the beginning, and any other status becomes the
// response's.
type wait struct {
	req    *request
	status wire.Status   // the status that the wait has ended with
	done   chan struct{} // closed when the wait has ended; nil if nobody waits for that
	ended  atomic.Bool   // the caller that sets it ends the wait
	state  atomic.Uint32
}

// States of a wait.
const (
	waitBegun  uint32 = iota // run has not returned
	waitParked               // run has returned: the caller of end resumes the request
	waitOver
)

// end ends the wait with a status, and returns false if it had ended before. It may be called from any goroutine, at
// any time: if the wait has ended, end does not touch the request.
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

// park parks the request. It returns false if the wait has ended already.
func (w *wait) park() bool { return w.state.CompareAndSwap(waitBegun, waitParked) }

// beginWait begins a wait that the client does not learn of and cannot cancel. The wait is part of the request, so
// the caller must make sure that somebody ends it, exactly once.
func (r *request) beginWait() *wait {
	r.ownWait = wait{req: r}
	r.wait = &r.ownWait
	return r.wait
}

// beginAsync begins a wait that may take long. The first such wait makes the request asynchronous, and sends an
// interim response (MS-SMB2 3.3.4.2). CANCEL and the end of the connection end the wait with STATUS_CANCELLED. If the
// request must not wait, beginAsync returns nil and a status that says why.
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

// mayWaitLocked returns success if the request may wait, otherwise the status that says why it must not.
func (c *Conn) mayWaitLocked(r *request) wire.Status {
	switch {
	case r.cancelled || c.closed:
		return wire.StatusCancelled
	case r.asyncID == 0 && c.asyncs >= maxAsync:
		return wire.StatusInsufficientResources
	}
	return wire.StatusSuccess
}

// await makes the request wait until the clients that cache the file have answered.
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

// delay makes the operation run again after d, without telling the client. It does not run again if the request is
// cancelled, or the connection ends, before that.
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

// resumer is an operation that has work to do when one of its waits ends.
type resumer interface {
	// resumed is called with the status that the wait has ended with. If again is true, the operation runs again;
	// otherwise the status returned is the response's.
	resumed(r *request, st wire.Status) (_ wire.Status, again bool)
}

// resume continues a request whose wait has ended. If again is true, its operation is to run again; otherwise the
// response has the status st.
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

// stillThere checks that the session, tree and open of the request have not ended while it waited. An open that has
// ended has no claims: a write through it could bypass another open that denies writing.
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
