package smb

import (
	"testing"

	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
)

// A lock of no bytes is in the way of those with bytes on both sides of it, and they of it.
func TestZeroLengthLocks(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("f")
	c := e.files(wire.Dialect311)
	a, b := c.must(want("f", wire.FileOpen)).FileID, c.must(want("f", wire.FileOpen)).FileID
	const no = wire.StatusLockNotGranted
	for _, x := range []struct {
		one, two wire.LockElement
		st       wire.Status
	}{
		{at(10, 0, exclusive), at(10, 0, exclusive), 0}, {at(10, 0, exclusive), at(9, 1, exclusive), 0}, {at(10, 0, exclusive), at(10, 1, exclusive), 0},
		{at(10, 0, exclusive), at(9, 2, exclusive), no}, {at(10, 0, exclusive), at(10, 2, exclusive), 0}, {at(10, 0, exclusive), at(9, 3, exclusive), no},
		{at(10, 0, exclusive), at(9, 2, shared), no}, {at(10, 0, shared), at(9, 2, exclusive), no}, {at(10, 0, shared), at(9, 2, shared), 0},
		{at(0, 0, exclusive), at(0, 0, exclusive), 0}, {at(0, 0, exclusive), at(0, 9, exclusive), 0},
		{at(^uint64(0), 0, exclusive), at(^uint64(0)-1, 2, exclusive), no},
	} {
		for _, in := range []bool{false, true} {
			one, two := x.one, x.two
			if in {
				one, two = two, one
			}
			for _, second := range []wire.FileID{a, b} {
				st := x.st
				if second == a && two.Flags == shared && st == no {
					st = 0 // on top of the open's own
				}
				c.lock(a, 0, one)
				c.lock(second, st, two)
				if st == 0 {
					c.lock(second, 0, at(two.Offset, two.Length, unlock))
				}
				c.lock(a, 0, at(one.Offset, one.Length, unlock))
			}
		}
	}
	// Nobody is kept from reading or writing.
	c.lock(a, 0, at(1, 0, exclusive))
	if st := c.write(b, 0, []byte("xyz")); st != 0 {
		t.Error(st)
	}
	// Who waits for one gets its turn, also when it is closed; and one waits itself.
	for _, closes := range []bool{false, true} {
		p := c.pending(b, at(0, 5, wire.LockFlagExclusive))
		if closes {
			c.Send(c.Message(smbtest.Request{Command: wire.CmdClose, Body: (&wire.CloseRequest{FileID: a}).Append}))
		} else {
			c.Send(c.Message(smbtest.Request{Command: wire.CmdLock, Body: lockBody(a, at(1, 0, unlock))}))
		}
		c.twoResponses(p, 0, 0)
		if !closes {
			p = c.pending(a, at(1, 0, wire.LockFlagExclusive))
			c.Send(c.Message(smbtest.Request{Command: wire.CmdLock, Body: lockBody(b, at(0, 5, unlock))}))
			c.twoResponses(p, 0, 0)
		}
	}
	c.closeFile(b)
	if z := &e.srv.zeroLocks; z.count.Load() != 0 || len(z.of) != 0 {
		t.Errorf("%d locks are left", z.count.Load())
	}
}

// A LOCK that is sent again does not lock again.
func TestLockSequence(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("f")
	c := e.files(wire.Dialect302)
	f := c.must(want("f", wire.FileOpen)).FileID
	lock := func(seq uint32, e wire.LockElement, want wire.Status) {
		t.Helper()
		q := wire.LockRequest{FileID: f, Sequence: seq}
		q.Locks.Add(e)
		if r := c.Do(smbtest.Request{Command: wire.CmdLock, Body: q.Append})[0]; r.Status != want {
			t.Errorf("sequence %#x: %v, want %v", seq, r.Status, want)
		}
	}
	const no = wire.StatusLockNotGranted
	one := at(0, 1, exclusive)
	lock(1<<4, one, 0)
	lock(1<<4, one, 0)    // again
	lock(1<<4|1, one, no) // another number, and what there was is forgotten
	lock(1<<4, one, no)   //
	lock(0, one, no)      // no index
	lock(65<<4, one, no)  // nor this
	lock(65<<4, one, no)  //
	lock(64<<4|15, at(0, 1, unlock), 0)
	lock(64<<4|15, at(0, 1, unlock), 0)
	lock(64<<4|14, at(0, 1, unlock), wire.StatusRangeNotLocked)
	c.closeFile(f)
}
