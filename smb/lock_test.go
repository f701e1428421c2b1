package smb

import (
	"testing"

	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
	"fileserver/vfs/lock"
)

const (
	shared    = wire.LockFlagShared | wire.LockFlagFailImmediately
	exclusive = wire.LockFlagExclusive | wire.LockFlagFailImmediately
	unlock    = wire.LockFlagUnlock
)

func lockBody(id wire.FileID, elems ...wire.LockElement) func([]byte, int) []byte {
	q := wire.LockRequest{FileID: id}
	for _, e := range elems {
		q.Locks.Add(e)
	}
	return q.Append
}

// lock sends a LOCK and wants the status.
func (c *fileClient) lock(id wire.FileID, want wire.Status, elems ...wire.LockElement) {
	c.T.Helper()
	r := c.Do(smbtest.Request{Command: wire.CmdLock, Body: lockBody(id, elems...)})[0]
	if r.Status != want {
		c.T.Errorf("LOCK %v: %v, want %v", elems, r.Status, want)
	}
}

func at(off, n uint64, f wire.LockFlags) wire.LockElement {
	return wire.LockElement{Offset: off, Length: n, Flags: f}
}

func TestLocks(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("f")
	c := e.files(wire.Dialect311)
	a, b := c.must(want("f", wire.FileOpen)).FileID, c.must(want("f", wire.FileOpen)).FileID
	const no = wire.StatusLockNotGranted
	c.lock(a, 0, at(0, 10, exclusive))
	c.lock(b, no, at(9, 1, exclusive))
	c.lock(b, no, at(0, 100, shared))
	c.lock(b, 0, at(10, 5, exclusive))
	c.lock(a, no, at(5, 1, exclusive)) // not even of its own
	c.lock(a, 0, at(5, 1, shared))     // but this
	c.lock(a, wire.StatusRangeNotLocked, at(0, 9, unlock))
	c.lock(a, 0, at(0, 10, unlock))
	c.lock(b, no, at(5, 1, exclusive)) // the shared one is left
	c.lock(b, 0, at(5, 1, shared), at(0, 5, exclusive))
	c.lock(a, 0, at(5, 1, unlock))
	c.lock(a, wire.StatusRangeNotLocked, at(5, 1, unlock))
	c.lock(b, 0, at(5, 1, unlock), at(0, 5, unlock), at(10, 5, unlock))
	// All of a list, or nothing.
	c.lock(a, 0, at(50, 1, exclusive))
	c.lock(b, no, at(20, 1, exclusive), at(50, 1, exclusive))
	c.lock(a, 0, at(20, 1, exclusive))
	c.lock(a, 0, at(20, 1, unlock), at(50, 1, unlock))
	// What is odd.
	c.lock(a, wire.StatusInvalidParameter, at(0, 1, 0))
	c.lock(a, wire.StatusInvalidParameter, at(0, 1, shared|exclusive))
	c.lock(a, wire.StatusInvalidParameter, at(0, 1, exclusive), at(1, 1, unlock))
	c.lock(a, wire.StatusInvalidParameter, at(0, 1, wire.LockFlagExclusive), at(1, 1, wire.LockFlagExclusive))
	c.lock(a, wire.StatusInvalidLockRange, at(^uint64(0), 2, exclusive))
	c.lock(a, 0, at(^uint64(0), 1, exclusive))
	c.lock(b, no, at(^uint64(0)-5, 6, shared))
	c.lock(a, 0, at(0, ^uint64(0), exclusive))
	c.lock(a, 0, at(0, ^uint64(0), unlock), at(^uint64(0), 1, unlock))
	c.lock(a, 0, at(7, 0, exclusive)) // no bytes are in nobody's way
	c.lock(b, 0, at(7, 0, exclusive), at(7, 1, exclusive))
	c.lock(a, 0, at(7, 0, unlock))
	c.lock(b, 0, at(7, 0, unlock), at(7, 1, unlock))
	// Shared locks stack.
	c.lock(a, 0, at(0, 10, shared), at(0, 10, shared), at(5, 10, shared))
	c.lock(a, 0, at(0, 10, unlock))
	c.lock(b, no, at(0, 1, exclusive))
	c.lock(a, 0, at(0, 10, unlock))
	c.lock(b, 0, at(0, 5, exclusive))
	c.lock(b, no, at(5, 1, exclusive))
	c.closeFile(a)
	c.lock(b, 0, at(5, 10, exclusive))
	c.closeFile(b)
}

// Locks are mandatory (MS-FSA 2.1.4.10).
func TestLocksForbidIO(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("f")
	c := e.files(wire.Dialect311)
	a, b := c.must(want("f", wire.FileOpen)).FileID, c.must(want("f", wire.FileOpen)).FileID
	check := func(id wire.FileID, off uint64, read, write wire.Status) {
		t.Helper()
		if _, st := c.read(wire.ReadRequest{FileID: id, Offset: off, Length: 2}); st != read {
			t.Errorf("READ at %d: %v", off, st)
		}
		if st := c.write(id, off, []byte("xy")); st != write {
			t.Errorf("WRITE at %d: %v", off, st)
		}
	}
	const no = wire.StatusFileLockConflict
	c.lock(a, 0, at(2, 2, exclusive))
	check(a, 2, 0, 0)
	check(b, 0, 0, 0)
	check(b, 1, no, no)
	check(b, 3, no, no)
	check(b, 4, 0, 0)
	c.lock(a, 0, at(2, 2, unlock))
	c.lock(a, 0, at(2, 2, shared))
	check(a, 2, 0, no) // its own shared lock forbids writes
	check(b, 2, 0, no)
	c.lock(a, 0, at(2, 2, unlock))
	check(b, 2, 0, 0)
	c.closeFile(a)
	c.closeFile(b)
}

// pending sends a LOCK that has to wait, and returns its interim response.
func (c *fileClient) pending(id wire.FileID, e wire.LockElement) smbtest.Response {
	c.T.Helper()
	r := c.Do(smbtest.Request{Command: wire.CmdLock, Body: lockBody(id, e), Ask: 4})[0]
	if r.Status != wire.StatusPending || r.AsyncID == 0 {
		c.T.Fatalf("LOCK: %v", r.Status)
	}
	return r
}

func TestLockWaits(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("f")
	c := e.files(wire.Dialect311)
	a, b := c.must(want("f", wire.FileOpen)).FileID, c.must(want("f", wire.FileOpen)).FileID
	final := func(p smbtest.Response, want wire.Status) {
		t.Helper()
		r := c.Recv()[0]
		if r.AsyncID != p.AsyncID || r.MessageID != p.MessageID || r.Status != want {
			t.Fatalf("the final response: %v of message %d, want %v of %d", r.Status, r.MessageID, want, p.MessageID)
		}
	}
	// Granted when the other has unlocked. Nothing else tells which of two responses comes first.
	c.lock(a, 0, at(0, 10, exclusive))
	p := c.pending(b, at(5, 1, wire.LockFlagExclusive))
	c.Send(c.Message(smbtest.Request{Command: wire.CmdLock, Body: lockBody(a, at(0, 10, unlock))}))
	c.twoResponses(p, 0, 0)
	c.lock(b, 0, at(5, 1, unlock))
	// Cancelled.
	c.lock(a, 0, at(0, 10, exclusive))
	p = c.pending(b, at(5, 1, wire.LockFlagExclusive))
	c.Send(c.Message(smbtest.Request{Command: wire.CmdCancel, Body: smbtest.Empty, Edit: func(h *wire.Header) {
		h.Flags |= wire.FlagAsyncCommand
		h.AsyncID = p.AsyncID
	}}))
	final(p, wire.StatusCancelled)
	// Closed.
	p = c.pending(b, at(5, 1, wire.LockFlagShared))
	c.Send(c.Message(smbtest.Request{Command: wire.CmdClose, Body: (&wire.CloseRequest{FileID: b}).Append}))
	c.twoResponses(p, wire.StatusRangeNotLocked, 0)
	// By the close of the other.
	b = c.must(want("f", wire.FileOpen)).FileID
	p = c.pending(b, at(5, 1, wire.LockFlagShared))
	c.Send(c.Message(smbtest.Request{Command: wire.CmdClose, Body: (&wire.CloseRequest{FileID: a}).Append}))
	c.twoResponses(p, 0, 0)
	// By its own.
	p = c.pending(b, at(0, 10, wire.LockFlagExclusive))
	c.Send(c.Message(smbtest.Request{Command: wire.CmdLock, Body: lockBody(b, at(5, 1, unlock))}))
	c.twoResponses(p, 0, 0)
	// The connection ends while one waits.
	a = c.must(want("f", wire.FileOpen)).FileID
	c.pending(a, at(0, 1, wire.LockFlagExclusive))
}

// The opens of a tree or session that ends are ended in the order in which they were made, so that a LOCK which waits for an older
// one is granted first (smb2.lock.cancel-tdis, cancel-logoff).
func TestLockWaitsForEnd(t *testing.T) {
	for _, command := range []wire.Command{wire.CmdTreeDisconnect, wire.CmdLogoff} {
		t.Run(command.String(), func(t *testing.T) {
			e := newFileEnv(t, nil)
			e.touch("f")
			for range 8 {
				c := e.files(wire.Dialect311)
				a, b := c.must(want("f", wire.FileOpen)).FileID, c.must(want("f", wire.FileOpen)).FileID
				c.lock(a, 0, at(0, 10, exclusive))
				p := c.pending(b, at(5, 1, wire.LockFlagExclusive))
				c.Send(c.Message(smbtest.Request{Command: command, Body: smbtest.Empty}))
				// The interim response is sent before the wait is known to others: then the LOCK fails.
				for range 2 {
					r := c.Recv()[0]
					late := r.MessageID == p.MessageID && r.Status == wire.StatusRangeNotLocked
					if r.Status != wire.StatusSuccess && !late {
						t.Fatalf("%v: %v", r.Command, r.Status)
					}
				}
			}
		})
	}
}

// twoResponses wants the final response to p and one other, in any order.
func (c *fileClient) twoResponses(p smbtest.Response, st, other wire.Status) {
	c.T.Helper()
	for range 2 {
		r := c.Recv()[0]
		want := other
		if r.MessageID == p.MessageID {
			want = st
		}
		if r.Status != want {
			c.T.Fatalf("%v: %v, want %v", r.Command, r.Status, want)
		}
	}
}

// An open, and a session, has no more locks than the limits say, whatever length they have.
func TestLockLimits(t *testing.T) {
	e := newFileEnv(t, nil)
	e.srv.cfg.Locks.SetLimits(lock.Limits{PerOwner: 3, PerClient: 5})
	e.touch("f")
	c := e.files(wire.Dialect311)
	a, b := c.must(want("f", wire.FileOpen)).FileID, c.must(want("f", wire.FileOpen)).FileID
	const full = wire.StatusInsufficientResources
	c.lock(a, 0, at(0, 1, exclusive), at(10, 1, shared), at(20, 0, exclusive))
	c.lock(a, full, at(30, 1, exclusive))
	c.lock(a, full, at(30, 0, exclusive))
	c.lock(a, full, at(30, 1, wire.LockFlagExclusive)) // nor does it wait
	c.lock(b, 0, at(40, 1, exclusive), at(50, 1, exclusive))
	c.lock(b, full, at(60, 1, exclusive))
	c.lock(a, 0, at(0, 1, unlock))
	c.lock(b, 0, at(60, 1, exclusive))
	c.closeFile(a)
	c.closeFile(b)
	b = c.must(want("f", wire.FileOpen)).FileID
	c.lock(b, 0, at(0, 1, exclusive), at(10, 1, shared), at(20, 1, exclusive))
	c.closeFile(b)
}
