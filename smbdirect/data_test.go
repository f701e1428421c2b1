package smbdirect

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

// talk runs f with a peer that has negotiated r.
func talk(t *testing.T, o options, r negotiateRequest, f func(t *testing.T, e *env, p *peer, resp negotiateResponse)) {
	t.Helper()
	bubble(t, o, func(t *testing.T, e *env) {
		p := e.newPeer()
		f(t, e, p, p.negotiate(r))
		p.close()
	})
}

func echoed(t *testing.T, sizes ...int) {
	t.Helper()
	talk(t, options{}, usual(), func(t *testing.T, e *env, p *peer, resp negotiateResponse) {
		for _, n := range sizes {
			p.sendMessage(pattern(n), int(resp.maxReceiveSize)-dataOffset)
			if got := p.message(); !bytes.Equal(got, pattern(n)) {
				t.Fatalf("echo of %d bytes: %d differ", n, len(got))
			}
		}
	})
}

// sendMessage sends msg in fragments of at most size bytes.
func (p *peer) sendMessage(msg []byte, size int) {
	for len(msg) > 0 {
		n := min(size, len(msg))
		p.send(data(255, 200, uint32(len(msg)-n), msg[:n]))
		msg = msg[n:]
		synctest.Wait()
	}
}

func TestBVT_SmbdDataTransfer_Basic_SendSmallBytesOfData(t *testing.T) { echoed(t, 1, 2, 100, 1340) }

func TestBVT_SmbdDataTransfer_Basic_SendModerateBytesData(t *testing.T) {
	echoed(t, 1341, 2680, 2681, 65536, 131072)
}

// The first fragment has no data, but says how much will come; the next have 128 bytes, 127 and so on down to none, and up again.
func TestSmbdDataTransfer_VariableLengthSegment(t *testing.T) {
	talk(t, options{}, usual(), func(t *testing.T, e *env, p *peer, resp negotiateResponse) {
		want := pattern(20_000)
		p.send(data(255, 1, uint32(len(want)), nil))
		for at, n, step := 0, 128, -1; at < len(want); n += step {
			k := min(n, len(want)-at)
			p.send(data(255, 30, uint32(len(want)-at-k), want[at:at+k]))
			synctest.Wait()
			at += k
			if n == 0 {
				step = 1
			}
		}
		if got := p.message(); !bytes.Equal(got, want) {
			t.Fatal("another message came back")
		}
	})
}

func TestSmbdDataTransfer_SmallLengthSegment(t *testing.T) {
	talk(t, options{}, usual(), func(t *testing.T, e *env, p *peer, resp negotiateResponse) {
		p.sendMessage(pattern(1000), 1)
		if got := p.message(); !bytes.Equal(got, pattern(1000)) {
			t.Fatal("another message came back")
		}
		for i, b := range pattern(1000) { // and in messages of full size
			m := data(255, 30, uint32(999-i), []byte{b})
			p.send(append(m, make([]byte, int(resp.maxReceiveSize)-len(m))...))
			synctest.Wait()
		}
		if got := p.message(); !bytes.Equal(got, pattern(1000)) {
			t.Fatal("another message came back")
		}
	})
}

func TestSmbdDataTransfer_Redundancy(t *testing.T) {
	talk(t, options{}, usual(), func(t *testing.T, e *env, p *peer, resp negotiateResponse) {
		p.send(append(data(255, 100, 0, pattern(100)), make([]byte, 200)...)) // bytes behind the data
		if got := p.message(); !bytes.Equal(got, pattern(100)) {
			t.Fatal("another message came back")
		}
	})
}

func TestSmbdDataTransfer_ReceiveMaxReceiveSize(t *testing.T) {
	talk(t, options{}, usual(), func(t *testing.T, e *env, p *peer, resp negotiateResponse) {
		n := int(resp.maxReceiveSize) - dataOffset
		p.send(data(255, 100, 0, pattern(n)))
		if got := p.message(); !bytes.Equal(got, pattern(n)) {
			t.Fatal("another message came back")
		}
	})
}

// ends sends messages after the negotiation; the server must then disconnect.
func ends(t *testing.T, msgs ...[]byte) {
	t.Helper()
	bubble(t, options{}, func(t *testing.T, e *env) {
		p := e.newPeer()
		p.negotiate(usual())
		for _, m := range msgs {
			p.send(m)
			synctest.Wait()
		}
		start := time.Now()
		p.gone()
		if time.Since(start) > 0 {
			t.Errorf("disconnected after %v only", time.Since(start))
		}
		if len(e.received) > 0 {
			t.Errorf("the server took the message")
		}
	})
}

func TestSmbdDataTransfer_UncompletedMessage(t *testing.T) {
	for i := range headerLen {
		ends(t, data(255, 100, 0, pattern(100))[:i])
	}
}

// bad makes a message with 100 bytes of data, and lets f spoil its header.
func bad(f func(h *dataTransfer, raw []byte)) []byte {
	b := data(255, 100, 0, pattern(100))
	h := dataTransfer{creditsRequested: 255, creditsGranted: 100, length: 100, offset: dataOffset}
	f(&h, b)
	le := h.append(nil)
	copy(b, le[:12])
	put := func(at int, v uint32) {
		b[at], b[at+1], b[at+2], b[at+3] = byte(v), byte(v>>8), byte(v>>16), byte(v>>24)
	}
	put(12, h.offset)
	put(16, h.length)
	return b
}

func TestSmbdDataTransfer_NegativeParameter_DataOffset_Against8ByteAligned(t *testing.T) {
	for _, o := range []uint32{20, 21, 23, 25, 28} {
		ends(t, bad(func(h *dataTransfer, _ []byte) { h.offset, h.length = o, 10 }))
	}
}

func TestSmbdDataTransfer_NegativeParameter_DataOffset_AgainstMessageLength(t *testing.T) {
	for _, o := range []uint32{0, 8, 16, 32, 128, 1 << 20, 1<<32 - 8} {
		ends(t, bad(func(h *dataTransfer, _ []byte) { h.offset = o }))
	}
}

func TestSmbdDataTransfer_NegativeParameter_DataLength_AgainstMessageLength(t *testing.T) {
	for _, n := range []uint32{101, 1 << 20, 1<<32 - 24, 1<<32 - 1} {
		ends(t, bad(func(h *dataTransfer, _ []byte) { h.length = n }))
	}
}

func TestSmbdDataTransfer_NegativeParameter_DataLength_AgainstMaxReceiveSize(t *testing.T) {
	ends(t, data(255, 100, 0, pattern(1365-dataOffset))) // of what it negotiates by default; that much is echoed elsewhere
	ends(t, data(255, 100, 0, pattern(1365)))
	ends(t, data(255, 100, 0, pattern(3000)))
	// The peer prefers to send less, and is held to it.
	bubble(t, options{}, func(t *testing.T, e *env) {
		r := usual()
		r.preferredSendSize = 1024
		p := e.newPeer()
		if resp := p.negotiate(r); resp.maxReceiveSize != 1024 {
			t.Fatalf("%+v", resp)
		}
		p.send(data(255, 100, 0, pattern(1024-dataOffset)))
		if got := p.message(); !bytes.Equal(got, pattern(1024-dataOffset)) {
			t.Fatal("another message came back")
		}
		p.send(data(255, 100, 0, pattern(1025-dataOffset)))
		p.gone()
	})
}

func TestSmbdDataTransfer_NegativeParameter_AgainstMaxFragmentedSize(t *testing.T) {
	ends(t, data(255, 100, 1<<20-99, pattern(100)))
	talk(t, options{mute: true}, usual(), func(t *testing.T, e *env, p *peer, resp negotiateResponse) {
		p.sendMessage(pattern(1<<20), int(resp.maxReceiveSize)-dataOffset)
		if got := <-e.received; !bytes.Equal(got, pattern(1<<20)) {
			t.Fatal("another message has arrived")
		}
	})
}

func TestSmbdDataTransfer_NegativeParameter_RemainingDataLength_AgainstMaxFragmentedSize(t *testing.T) {
	ends(t, data(255, 100, 1<<32-1, pattern(100)))
	ends(t, data(255, 100, 1<<20, pattern(1)))
}

func TestSmbdDataTransfer_NegativeParameter_RemainingDataLength_Zero(t *testing.T) {
	// The second of three fragments claims to be the last.
	ends(t, data(255, 100, 200, pattern(100)), data(255, 100, 0, pattern(100)))
	// The last but one of them does.
	ends(t, data(255, 100, 200, pattern(100)), data(255, 100, 100, pattern(100)), data(255, 100, 0, pattern(99)))
	// Another rest than the last fragment said, behind one without data; or more than a message may have.
	ends(t, data(255, 100, 200, pattern(100)), data(255, 100, 199, nil))
	ends(t, data(255, 100, 1<<20+1, nil))
}

func TestSmbdDataTransfer_NegativeParameter_RemainingDataLength_AgainstFragmentReassemblyRemaining(t *testing.T) {
	ends(t, data(255, 100, 200, pattern(100)), data(255, 100, 101, pattern(100)))
	ends(t, data(255, 100, 200, pattern(100)), data(255, 100, 99, pattern(100)))
	ends(t, data(255, 100, 200, pattern(100)), data(255, 100, 0, pattern(201)))
}

// An idle client is asked whether it lives; if it answers, even late, the connection stays, and when it asks itself it is answered.
func TestSmbdDataTransfer_IdleConnection_Server(t *testing.T) {
	talk(t, options{}, usual(), func(t *testing.T, e *env, p *peer, _ negotiateResponse) {
		start := time.Now()
		p.send(data(255, 10, 0, nil))
		for range 3 {
			h, d, err := parseData(p.recv())
			if err != nil || len(d) > 0 || h.flags != flagResponseRequested || h.creditsRequested == 0 || h.remaining != 0 {
				t.Fatalf("%+v, %d bytes, %v", h, len(d), err)
			}
			if idle := time.Since(start); idle != 120*time.Second {
				t.Fatalf("asked after %v", idle)
			}
			time.Sleep(4 * time.Second)
			start = time.Now()
			b := data(255, 10, 0, nil)
			b[4] = flagResponseRequested
			p.send(b)
			h, d, err = parseData(p.recv())
			if err != nil || len(d) > 0 || h.flags != 0 || h.creditsRequested == 0 || time.Since(start) > 0 {
				t.Fatalf("%+v, %d bytes, %v, after %v", h, len(d), err, time.Since(start))
			}
		}
	})
}

func TestSmbdDataTransfer_IdleConnection_Server_Timeout(t *testing.T) {
	bubble(t, options{}, func(t *testing.T, e *env) {
		p := e.newPeer()
		p.negotiate(usual())
		p.send(data(255, 10, 0, nil))
		start := time.Now()
		p.gone()
		if d := time.Since(start); d != 125*time.Second {
			t.Errorf("dropped after %v", d)
		}
	})
}

// A client that asks whether the server lives is answered at once.
func TestSmbdDataTransfer_IdleConnection_Client(t *testing.T) {
	talk(t, options{}, usual(), func(t *testing.T, e *env, p *peer, _ negotiateResponse) {
		start := time.Now()
		b := data(255, 10, 0, nil)
		b[4] = flagResponseRequested
		for range 3 {
			time.Sleep(119 * time.Second)
			p.send(b)
			if h, d, err := parseData(p.recv()); err != nil || len(d) > 0 || h.creditsRequested == 0 || h.flags != 0 || h.creditsGranted == 0 {
				t.Fatalf("%+v, %d bytes, %v", h, len(d), err)
			}
		}
		if d := time.Since(start); d != 3*119*time.Second {
			t.Errorf("answered after %v", d)
		}
	})
}

// Until somebody is authenticated a message is short, whatever was negotiated.
func TestEarlyMessage(t *testing.T) {
	bubble(t, options{early: 1000}, func(t *testing.T, e *env) {
		p := e.newPeer()
		p.negotiate(usual())
		p.send(data(255, 100, 0, pattern(1000)))
		if got := p.message(); !bytes.Equal(got, pattern(1000)) {
			t.Fatal("another message came back")
		}
		p.send(data(255, 100, 901, pattern(100)))
		p.gone()

		p = e.newPeer()
		p.negotiate(usual())
		e.srv.Conns()[0].Authenticated()
		p.send(data(255, 100, 901, pattern(100)))
		p.send(data(255, 0, 0, pattern(901)))
		if got := p.message(); len(got) != 1001 {
			t.Fatalf("%d bytes came back", len(got))
		}
		p.close()
	})
}

// What only claims to be long takes no memory for that before somebody is authenticated, and is whole in the end.
func TestEarlyMessageGrows(t *testing.T) {
	bubble(t, options{early: 60_000}, func(t *testing.T, e *env) {
		p := e.newPeer()
		p.negotiate(usual())
		synctest.Wait()
		before := e.pools["server"].Stats().Bytes
		msg := pattern(50_000)
		for at, n := 0, 1; at < len(msg); n = 1340 {
			k := min(n, len(msg)-at)
			p.send(data(255, 100, uint32(len(msg)-at-k), msg[at:at+k]))
			synctest.Wait()
			at += k
			if took := e.pools["server"].Stats().Bytes - before; at < len(msg) && took > int64(max(4*at, 2<<10)) {
				t.Fatalf("%d bytes take %d", at, took)
			}
		}
		if got := p.message(); !bytes.Equal(got, msg) {
			t.Fatal("another message came back")
		}
		p.send(data(255, 100, 49_999, pattern(1))) // and what is never whole is given back
		p.close()
	})
}
