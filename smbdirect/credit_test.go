package smbdirect

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

// ask is usual with another number of credits asked for.
func ask(credits uint16) negotiateRequest {
	r := usual()
	r.creditsRequested = credits
	return r
}

func TestBVT_SmbdCreditMgmt_OperationWithMinimumCredits(t *testing.T) {
	talk(t, options{}, ask(1), func(t *testing.T, e *env, p *peer, resp negotiateResponse) {
		if resp.creditsGranted != 1 {
			t.Fatalf("%d credits granted", resp.creditsGranted)
		}
		limited(t, p, 1, 20)
	})
}

func TestSmbdCreditMgmt_OperationWithLimitedCredits(t *testing.T) {
	talk(t, options{}, ask(10), func(t *testing.T, e *env, p *peer, resp negotiateResponse) {
		if resp.creditsGranted != 10 {
			t.Fatalf("%d credits granted", resp.creditsGranted)
		}
		limited(t, p, 10, 50)
	})
}

// limited exchanges n messages, never using more credits than were granted, and
// granting ten at first and then one for each SEND that arrives.
func limited(t *testing.T, p *peer, credits, n int) {
	t.Helper()
	have, owe := credits, 10
	for i := range n {
		for have == 0 {
			h, _, err := parseData(p.recv())
			if err != nil {
				t.Fatal(err)
			}
			have, owe = have+int(h.creditsGranted), owe+1
		}
		have--
		p.send(data(uint16(credits), uint16(owe), 0, pattern(i+1)))
		owe = 0
		for {
			h, d, err := parseData(p.recv())
			if err != nil {
				t.Fatal(err)
			}
			if have, owe = have+int(h.creditsGranted), owe+1; have > credits {
				t.Fatalf("the server granted up to %d credits, asked for were %d", have, credits)
			}
			if len(d) > 0 {
				if !bytes.Equal(d, pattern(i+1)) {
					t.Fatal("another message came back")
				}
				break
			}
		}
	}
}

// A client that uses all its credits gets them back, and never more than it asked for. The
// server does not wait for the very last: a client must keep that.
func TestSmbdCreditMgmt_ConsumeAllSendCredits(t *testing.T) {
	talk(t, options{mute: true}, ask(10), func(t *testing.T, e *env, p *peer, resp negotiateResponse) {
		have := int(resp.creditsGranted)
		for range 5 {
			for ; have > 0; have-- {
				p.send(data(10, 1, 0, pattern(10)))
			}
			synctest.Wait()
			for len(p.msgs) > 0 {
				h, d, err := parseData(p.recv())
				if err != nil || len(d) > 0 || h.creditsGranted == 0 || h.creditsRequested == 0 || h.remaining != 0 {
					t.Fatalf("%+v, %d bytes, %v", h, len(d), err)
				}
				have += int(h.creditsGranted)
			}
			if have < 9 || have > 10 {
				t.Fatalf("%d credits after all were used, want 9 or 10", have)
			}
		}
	})
}

// A server that has no credits sends nothing until it gets some, and then everything.
func TestSmbdCreditMgmt_ConsumeAllReceiveCredits(t *testing.T) {
	talk(t, options{}, ask(255), func(t *testing.T, e *env, p *peer, _ negotiateResponse) {
		const size = 1340
		p.send(data(255, 2, uint32(9*size), pattern(10 * size)[:size]))
		for i := 1; i < 10; i++ {
			p.send(data(255, 0, uint32((9-i)*size), pattern(10 * size)[i*size:(i+1)*size]))
		}
		synctest.Wait()
		if n := len(p.msgs); n != 2 {
			t.Fatalf("%d SENDs with two credits", n)
		}
		first, d, err := parseData(p.recv())
		last, e2, err2 := parseData(p.recv())
		if err != nil || err2 != nil || last.creditsGranted == 0 {
			t.Fatalf("%+v %v, %+v %v: the last credit is spent for a grant only", first, err, last, err2)
		}
		time.Sleep(4 * time.Second)
		p.send(data(255, 10, 0, nil))
		if got := append(append(d, e2...), p.message()...); !bytes.Equal(got, pattern(10*size)) {
			t.Fatal("another message came back")
		}
	})
}

func TestSmbdCreditMgmt_ConsumeAllCreditServer_Timeout(t *testing.T) {
	bubble(t, options{}, func(t *testing.T, e *env) {
		p := e.newPeer()
		p.negotiate(usual())
		for i := range 5 {
			p.send(data(255, uint16(min(1, i)), 0, pattern(5000)[:1000]))
		}
		for range 3 {
			p.send(data(255, 0, 0, pattern(1000)))
		}
		synctest.Wait()
		if n := len(p.msgs); n != 4 {
			t.Errorf("%d SENDs with 4 credits", n)
		}
		start := time.Now()
		if p.gone(); len(p.msgs) > 0 {
			t.Error("sent without a credit")
		}
		if d := time.Since(start); d != 5*time.Second {
			t.Errorf("dropped after %v", d)
		}
	})
}

func TestSmbdCreditMgmt_NegativeParameter_CreditRequested(t *testing.T) {
	ends(t, data(0, 100, 0, pattern(100)))
	ends(t, data(0, 100, 0, nil))
}

// A peer that sends more than it may is out.
func TestSentWithoutCredit(t *testing.T) {
	bubble(t, options{mute: true, params: Params{Credits: 20}}, func(t *testing.T, e *env) {
		p := e.newPeer()
		if resp := p.negotiate(ask(5)); resp.creditsGranted != 5 {
			t.Fatalf("%d credits granted", resp.creditsGranted)
		}
		// The server has no credit to grant more with.
		for range 6 {
			p.send(data(5, 0, 0, pattern(10)))
		}
		p.gone()
	})
}

// Both sides down to one credit, and nothing to grant: neither may spend it.
func TestLastCreditIsKept(t *testing.T) {
	now := time.Now()
	m := newMachine(Params{Credits: 4}.withDefaults(false), false, now)
	m.posted()
	if _, err := m.requested(ask(4).append(nil), now); err != nil {
		t.Fatal(err)
	}
	m.sendCredits = 1
	if _, ok := m.next(100, 100, now); ok {
		t.Fatal("the last credit was spent without a grant")
	}
	if m.deadline() != now.Add(creditGrantTimeout) {
		t.Error("nobody waits for the credits")
	}
	m.posted()
	o, ok := m.next(100, 100, now)
	if !ok || o.h.creditsGranted != 1 || m.sendCredits != 0 {
		t.Fatalf("%+v %v", o, ok)
	}
	if m.posted(); m.deadline() != now.Add(idleTimeout) {
		t.Error("the grant timer goes on")
	}
	if _, ok := m.next(100, 100, now); ok {
		t.Fatal("sent without a credit")
	}
}

// A receive is granted once, whatever happens in between.
func TestEachReceiveIsGrantedOnce(t *testing.T) {
	now := time.Now()
	m := newMachine(Params{Credits: 8}.withDefaults(false), false, now)
	posted := 0
	post := func(n int) {
		for range n {
			m.posted()
			posted++
		}
	}
	post(8)
	posted-- // the request takes one
	if _, err := m.requested(ask(8).append(nil), now); err != nil {
		t.Fatal(err)
	}
	given := int(m.grant())
	for i := range 1000 {
		if given > posted {
			t.Fatalf("step %d: %d credits are out, %d receives posted", i, given, posted)
		}
		if given > 0 {
			given--
			posted--
			if _, err := m.received(data(8, 3, 0, pattern(i%50)), now); err != nil {
				t.Fatal(err)
			}
		}
		if i%3 == 0 {
			post(min(2, 8-posted))
		}
		if o, ok := m.next(i%2*10, 10, now); ok {
			given += int(o.h.creditsGranted)
		}
	}
}
