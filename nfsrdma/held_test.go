package nfsrdma

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"fileserver/rdma"
	"fileserver/rdma/rdmatest/mem"
)

const heavy = 600 << 10 // takes 1 MiB: one fits into MaxHeld below, two do not

// newHeavyEnv returns a server and a client that has its credits.
func newHeavyEnv(t *testing.T) (*env, *Client) {
	e := newEnv(t, options{caps: mem.IWARPCaps(), server: Config{MaxHeld: 1 << 20}})
	c := e.dial(ClientConfig{})
	do(t, c, &Request{Head: head(doHead, 5)})
	return e, c
}

// begin makes a call with a Write chunk of n bytes, and returns where its end is told.
func (e *env) begin(c *Client, n int, what uint32, args ...uint32) <-chan error {
	e.t.Helper()
	req := &Request{Head: head(what, args...), Writes: []Item{{Buf: e.buf(n), Len: n}}}
	done := make(chan error, 1)
	go func() { done <- c.Do(context.Background(), req, &Response{}) }()
	return done
}

// until waits for a state of the server's one connection.
func (e *env) until(what string, ok func(c *Conn) bool) {
	e.t.Helper()
	for range 2000 {
		if l := e.srv.Conns(); len(l) > 0 && ok(l[0]) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	e.t.Fatalf("never: %s", what)
}

func (c *Conn) hasWaiting() bool { return c.budget.Waiting() > 0 }

// TestHeavyCallsTakeTurns: the calls of a connection hold no more than their
// share; calls that hold nothing pass them.
func TestHeavyCallsTakeTurns(t *testing.T) {
	e, c := newHeavyEnv(t)
	var ends []<-chan error
	for range 4 {
		ends = append(ends, e.begin(c, heavy, doWait))
	}
	ends = append(ends, e.begin(c, 3<<20, doWait)) // more than may be held: alone
	e.until("all calls have arrived", func(c *Conn) bool { return c.Stats().Running == len(ends) })
	do(t, c, &Request{Head: head(doHead, 5)})
	e.until("one has begun", func(*Conn) bool { return e.entered.Load() > 0 })
	if n := e.entered.Load(); n != 1 {
		t.Errorf("%d heavy calls at once, want 1", n)
	}
	close(e.gate)
	for _, end := range ends {
		if err := <-end; err != nil {
			t.Error(err)
		}
	}
	e.until("nothing is held", func(c *Conn) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.budget.Held() == 0 && c.running == 0
	})
}

// TestHeldUntilSent: an answer that the client does not take counts still.
func TestHeldUntilSent(t *testing.T) {
	e, c := newHeavyEnv(t)
	e.p.Device(0).Inject(mem.Fault{At: mem.AtWork, Op: []rdma.Opcode{rdma.OpWrite}, Delay: 500 * time.Millisecond})
	first := e.begin(c, heavy, doMake, heavy, 1)
	e.until("the first is answered", func(c *Conn) bool { return c.Stats().Calls == 2 })
	second := e.begin(c, heavy, doMake, heavy, 1)
	e.until("the second waits", (*Conn).hasWaiting)
	for _, end := range []<-chan error{first, second} {
		if err := <-end; err != nil {
			t.Error(err)
		}
	}
}

// TestEndWithCallsWaiting: they are dropped with their connection.
func TestEndWithCallsWaiting(t *testing.T) {
	e, c := newHeavyEnv(t)
	for range 3 {
		e.begin(c, heavy, doWait)
	}
	e.until("one runs, two wait", func(c *Conn) bool { return c.Stats().Running == 3 && e.entered.Load() == 1 })
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	e.until("one runs", func(c *Conn) bool { return c.Stats().Running == 1 })
	close(e.gate)
	do(t, e.dial(ClientConfig{}), &Request{Head: head(doHead, 5)})
}

// TestShutdownLeavesVanishedClients: a client that never answers the READ of its chunk does not use up the time to stop.
func TestShutdownLeavesVanishedClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(t, options{caps: mem.IWARPCaps()})
		c := e.dial(ClientConfig{})
		do(t, c, &Request{Head: head(doHead, 5)})
		e.p.Device(0).HoldReads()
		req := &Request{Head: head(doHoldPayload, 10_000), Reads: []Item{{Pos: 16, Buf: e.buf(10_000), Len: 10_000}}}
		done := make(chan error, 1)
		go func() { done <- c.Do(context.Background(), req, &Response{}) }()
		e.until("the server reads", func(c *Conn) bool { return c.Stats().ReadsOutstanding == 1 })
		began := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := e.srv.Shutdown(ctx); err != nil || time.Since(began) > 2*drainPatience {
			t.Errorf("shutdown after %v: %v", time.Since(began), err)
		}
		if err := <-done; err == nil {
			t.Error("the call was answered")
		}
	})
}

// TestWaitingCallsHoldUpNothing: calls that wait do not hold up those behind them.
func TestWaitingCallsHoldUpNothing(t *testing.T) {
	e := newEnv(t, options{caps: mem.IWARPCaps()})
	c := e.dial(ClientConfig{})
	do(t, c, &Request{Head: head(doHead, 5)})
	var ends []<-chan error
	for range 4 {
		ends = append(ends, e.begin(c, 8<<10, doWait))
	}
	for range 20 { // the gate is closed
		if err := <-e.begin(c, 8<<10, doMake, 8<<10, 1); err != nil {
			t.Fatal(err)
		}
	}
	close(e.gate)
	for _, end := range ends {
		if err := <-end; err != nil {
			t.Error(err)
		}
	}
}
