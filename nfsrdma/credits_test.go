package nfsrdma

import (
	"context"
	"testing"

	"fileserver/internal/slab"
	"fileserver/rdma/rdmatest/mem"
)

// idleLimit is what a connection may hold of the pool, bytes, whose client has at most one call outstanding.
const idleLimit = 100 << 10

// TestIdleConnectionsHoldLittle: a connection holds little before its client has called, and as little while that
// has one call outstanding at a time.
func TestIdleConnectionsHoldLittle(t *testing.T) {
	e := newEnv(t, options{caps: mem.IWARPCaps()})
	const conns = 20
	var clients []*Client
	for range conns {
		clients = append(clients, e.dial(ClientConfig{}))
	}
	check := func(when string) {
		t.Helper()
		each := e.server.Stats().Bytes / conns
		t.Logf("%s: %d bytes for each connection", when, each)
		if each > idleLimit {
			t.Errorf("%s: %d bytes of the pool for each connection, want %d at most", when, each, idleLimit)
		}
	}
	check("connected")
	for _, c := range clients {
		for range 50 {
			do(t, c, &Request{Head: head(doHead, 5)})
		}
		if n := c.Stats().Granted; n != firstCredits {
			t.Errorf("%d credits granted, want %d", n, firstCredits)
		}
	}
	check("after one call at a time")
}

// TestCreditsGrowWithUse: a client that uses its credits is granted more, up to what is configured, and has a receive for
// each of them: on iWARP a SEND without a receive would end the connection.
func TestCreditsGrowWithUse(t *testing.T) {
	e := newEnv(t, options{caps: mem.IWARPCaps()})
	c := e.dial(ClientConfig{})
	do(t, c, &Request{Head: head(doHead, 5)})
	ends := make(chan error, DefaultCredits)
	for n := 0; n < DefaultCredits-1; n++ {
		go func() { ends <- c.Do(context.Background(), &Request{Head: head(doWait)}, &Response{}) }()
		e.until("the call waits", func(*Conn) bool { return e.entered.Load() == int64(n+1) })
		do(t, c, &Request{Head: head(doHead, 5)}) // its reply grants more
	}
	if n := c.Stats().Granted; n != DefaultCredits {
		t.Errorf("%d credits granted, want %d", n, DefaultCredits)
	}
	if n := e.srv.Conns()[0].Stats().RecvsPosted; n < DefaultCredits+spareRecvs-(DefaultCredits-1) {
		t.Errorf("%d receives posted", n)
	}
	close(e.gate)
	for range DefaultCredits - 1 {
		if err := <-ends; err != nil {
			t.Error(err)
		}
	}
}

// TestCreditsWithoutMemory: a client for whose receives there is no memory keeps the credits it has, and is served.
func TestCreditsWithoutMemory(t *testing.T) {
	e := newEnv(t, options{caps: mem.IWARPCaps(), limit: slab.ArenaSize})
	c := e.dial(ClientConfig{})
	do(t, c, &Request{Head: head(doHead, 5)})
	var taken []*slab.Buf
	for b, ok := e.server.TryGet(4096); ok; b, ok = e.server.TryGet(4096) {
		taken = append(taken, b)
	}
	conn := e.srv.Conns()[0] // idle, so that nobody else grows its credits
	granted := func() int {
		t.Helper()
		conn.growCredits(firstCredits)
		do(t, c, &Request{Head: head(doHead, 5)})
		return c.Stats().Granted
	}
	if n := granted(); n != firstCredits {
		t.Errorf("%d credits granted without memory, want %d", n, firstCredits)
	}
	for _, b := range taken[:5] {
		b.Release()
	}
	if n := granted(); n != firstCredits+5 {
		t.Errorf("%d credits granted with memory for 5 more, want %d", n, firstCredits+5)
	}
	for _, b := range taken[5:] {
		b.Release()
	}
	if n := granted(); n != 2*(firstCredits+5) {
		t.Errorf("%d credits granted, want %d", n, 2*(firstCredits+5))
	}
}
