package smbdirect

import (
	"testing"
	"testing/synctest"
)

// idleLimit is what a connection may hold of the pool, bytes, whose peer is not authenticated or has one message
// outstanding at most.
const idleLimit = 40 << 10

// TestIdleConnectionsHoldLittle: receives are few until the peer is authenticated and uses them.
func TestIdleConnectionsHoldLittle(t *testing.T) {
	bubble(t, options{early: 64 << 10, mute: true}, func(t *testing.T, e *env) {
		check := func(when string, most int64) {
			t.Helper()
			n := e.pools["server"].Stats().Bytes
			t.Logf("%s: %d bytes", when, n)
			if n > most {
				t.Errorf("%s: the connection holds %d bytes of the pool, want %d at most", when, n, most)
			}
		}
		p := e.newPeer()
		defer p.close()
		check("connected", idleLimit)
		resp := p.negotiate(ask(255))
		if resp.creditsGranted != firstReceives {
			t.Fatalf("%d credits granted, want %d", resp.creditsGranted, firstReceives)
		}
		have := int(resp.creditsGranted)
		// use spends all credits but one, and counts those that come back.
		use := func() {
			for ; have > 1; have-- {
				p.send(data(255, 2, 0, pattern(100)))
				<-e.received
			}
			for synctest.Wait(); len(p.msgs) > 0; synctest.Wait() {
				h, _, err := parseData(p.recv())
				if err != nil {
					t.Fatal(err)
				}
				have += int(h.creditsGranted)
			}
		}
		for range 5 {
			use()
		}
		if have > firstReceives {
			t.Errorf("a peer that is not authenticated has %d credits", have)
		}
		check("not authenticated", idleLimit)
		e.srv.Conns()[0].Authenticated()
		check("authenticated and idle", idleLimit)
		for range 20 {
			use()
		}
		if n := e.srv.Conns()[0].Stats().RecvsPosted; n != DefaultCredits {
			t.Errorf("%d receives for a peer that uses all its credits, want %d", n, DefaultCredits)
		}
		check("in use", 8<<10+DefaultCredits*2<<10)
	})
}
