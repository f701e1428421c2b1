package smbdirect

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fileserver/internal/slab"
	"fileserver/rdma"
	"fileserver/rdma/rdmatest/mem"
	"fileserver/smb/transport"
)

func (e *env) dialNet(p Params) *NetConn {
	e.t.Helper()
	n, err := DialNet(context.Background(), clientSide{e.p}, e.addr, e.memory("client"), p)
	if err != nil {
		e.t.Fatal(err)
	}
	return n
}

func framed(msg []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(msg))), msg...)
}

func TestNetConn(t *testing.T) {
	for name, caps := range map[string]rdma.Caps{"iwarp": mem.IWARPCaps(), "roce": mem.RoCECaps()} {
		t.Run(name, func(t *testing.T) {
			bubble(t, options{caps: caps}, func(t *testing.T, e *env) {
				n := e.dialNet(Params{})
				defer n.Close()
				for _, size := range []int{1, 1340, 1341, 100_000, 1 << 20} {
					msg := framed(pattern(size))
					go func() { // in odd pieces
						for at, k := 0, 1; at < len(msg); k = k*3 + 1 {
							end := min(at+k, len(msg))
							if _, err := n.Write(msg[at:end]); err != nil {
								t.Error(err)
							}
							at = end
						}
					}()
					got := make([]byte, len(msg))
					if _, err := io.ReadFull(n, got); err != nil || !bytes.Equal(got, msg) {
						t.Fatalf("%d bytes: %v, or another message", size, err)
					}
				}
				// Several messages in one Write.
				if _, err := n.Write(append(framed([]byte("one")), framed([]byte("two"))...)); err != nil {
					t.Fatal(err)
				}
				got := make([]byte, 14)
				if _, err := io.ReadFull(n, got); err != nil || string(got[4:7])+string(got[11:]) != "onetwo" {
					t.Fatalf("%q %v", got, err)
				}
			})
		})
	}
}

func TestNetConnDeadlineAndClose(t *testing.T) {
	bubble(t, options{}, func(t *testing.T, e *env) {
		n := e.dialNet(Params{})
		if err := n.SetDeadline(time.Now().Add(3 * time.Second)); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := n.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != 3*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		if err := n.SetDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		read := make(chan error, 1)
		go func() { _, err := n.Read(make([]byte, 1)); read <- err }()
		synctest.Wait()
		if _, err := n.Write(framed([]byte("left unread"))[:7]); err != nil {
			t.Fatal(err)
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-read; !errors.Is(err, net.ErrClosed) {
			t.Errorf("the reader sees %v", err)
		}
		if _, err := n.Write(framed([]byte("late"))); err == nil {
			t.Error("written after Close")
		}
	})
}

// Two clients of the machine, each side with few credits, both sending all the time.
func TestBothSidesWithFewCredits(t *testing.T) {
	for _, credits := range []int{2, 3, 5, 17} {
		bubble(t, options{params: Params{Credits: credits}}, func(t *testing.T, e *env) {
			n := e.dialNet(Params{Credits: credits})
			defer n.Close()
			var wg sync.WaitGroup
			wg.Go(func() {
				for i := range 200 {
					if _, err := n.Write(framed(pattern(1 + i*37%6000))); err != nil {
						t.Error(err)
						return
					}
				}
			})
			for i := range 200 {
				got := make([]byte, 4+1+i*37%6000)
				if _, err := io.ReadFull(n, got); err != nil || !bytes.Equal(got, framed(pattern(1+i*37%6000))) {
					t.Fatalf("%d credits, message %d: %v, or another", credits, i, err)
				}
			}
			wg.Wait()
		})
	}
}

// Messages wait for memory, in order, and the peer with them.
func TestMemoryRunsOut(t *testing.T) {
	bubble(t, options{limit: 48 << 20, mute: true}, func(t *testing.T, e *env) {
		n := e.dialNet(Params{})
		defer n.Close()
		synctest.Wait()
		pool := e.pools["server"]
		var hold []*slab.Buf
		for {
			b, ok := pool.TryGet(64 << 10)
			if !ok {
				break
			}
			hold = append(hold, b)
		}
		for i := range 20 {
			if _, err := n.Write(framed(pattern(50_000 + i))); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if len(e.received) > 0 {
			t.Fatal("received without memory")
		}
		time.Sleep(time.Second)
		for _, b := range hold {
			b.Release()
		}
		for i := range 20 {
			if got := <-e.received; len(got) != 50_000+i || !bytes.Equal(got, pattern(50_000+i)) {
				t.Fatalf("message %d: %d bytes", i, len(got))
			}
		}
	})
}

func TestConnectionEndsWhileMemoryIsOut(t *testing.T) {
	bubble(t, options{limit: 48 << 20, mute: true}, func(t *testing.T, e *env) {
		n := e.dialNet(Params{})
		synctest.Wait()
		var hold []*slab.Buf
		for {
			b, ok := e.pools["server"].TryGet(64 << 10)
			if !ok {
				break
			}
			hold = append(hold, b)
		}
		for range 3 {
			if _, err := n.Write(framed(pattern(50_000))); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for _, b := range hold {
			b.Release()
		}
	})
}

// client collects messages.
type client struct {
	in     chan []byte
	closed chan error
}

func (c *client) Message(b *slab.Buf) { c.in <- bytes.Clone(b.Bytes()); b.Release() }
func (c *client) Closed(err error)    { c.closed <- err }

type doneChan chan error

func (d doneChan) Completed(err error) { d <- err }

// The server writes into the client's memory before its answer, reads from it,
// and gives the key back with the answer, once: a strict device would not take it again otherwise.
func TestPlaceReadInvalidate(t *testing.T) { placeReadInvalidate(t, mem.IWARPCaps()) }

func TestPlaceReadInvalidateOnAdapter(t *testing.T) { placeReadInvalidate(t, mem.AdapterCaps()) }

func placeReadInvalidate(t *testing.T, caps rdma.Caps) {
	bubble(t, options{caps: caps}, func(t *testing.T, e *env) {
		h := &client{in: make(chan []byte, 10), closed: make(chan error, 1)}
		c, err := Dial(context.Background(), clientSide{e.p}, e.addr, DialConfig{
			Memory: e.memory("client"), Handler: func(*Conn) transport.Handler { return h },
		})
		if err != nil {
			t.Fatal(err)
		}
		server := e.srv.Conns()[0]
		buf, _ := e.pools["client"].TryGet(64 << 10)
		src, _ := e.pools["server"].TryGet(64 << 10)
		dst, _ := e.pools["server"].TryGet(64 << 10)
		copy(src.Bytes(), pattern(64<<10))
		m, _ := e.memory("client")(c.ep.ID().Device())
		for range 5 {
			mr, err := m.PD().RegMR(buf.Bytes(), rdma.AccessLocalWrite|rdma.AccessRemoteRead|rdma.AccessRemoteWrite)
			if err != nil {
				t.Fatal(err) // the last answer has not invalidated the key
			}
			into := []transport.Descriptor{
				{Offset: mr.Addr(), Token: mr.RKey(), Length: 1000}, {Offset: mr.Addr() + 1000, Token: mr.RKey(), Length: 63 << 10},
			}
			note, _ := e.pools["server"].TryGet(3000)
			err = server.Send(&transport.Outgoing{
				Pieces: []transport.Piece{{Buf: note, Len: 3000}},
				Place:  []transport.Piece{{Buf: src.Retain(), Len: 10_000}, {Buf: src.Retain(), Off: 10_000, Len: 30_000}},
				Into:   into,
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := <-h.in; len(got) != 3000 || !bytes.Equal(buf.Bytes()[:40_000], pattern(40_000)) {
				t.Fatal("the answer came without the data")
			}
			done := make(doneChan, 1)
			if err := server.Read(dst, 5, 40_000, into, done); err != nil {
				t.Fatal(err)
			}
			if err := <-done; err != nil || !bytes.Equal(dst.Bytes()[5:40_005], pattern(40_000)) {
				t.Fatalf("read: %v, or other bytes", err)
			}
			if err := server.Read(dst, 0, 65<<10, into, done); err == nil {
				t.Fatal("read more than the descriptors have")
			}
			note, _ = e.pools["server"].TryGet(3000)
			err = server.Send(&transport.Outgoing{Pieces: []transport.Piece{{Buf: note, Len: 3000}}, Invalidate: mr.RKey(), HasInvalidate: true})
			if err != nil {
				t.Fatal(err)
			}
			<-h.in
			clear(buf.Bytes())
			if err := mr.Deregister(); err != nil {
				t.Fatal(err)
			}
		}
		if n := server.Stats().Invalidates; n != 5 {
			t.Errorf("%d invalidations", n)
		}
		totals := e.srv.Totals()
		if totals.Invalidates != 5 || totals.WriteBytes != 5*40_000 || totals.ReadBytes != 5*40_000 {
			t.Errorf("%+v", totals)
		}
		c.Disconnect(nil, true)
		if err := <-h.closed; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		totals.SendBytes = int64(5*3000*2 + 30*24 + 32) // SENDs count when they have completed
		if ended := e.srv.Totals(); ended != totals {
			t.Errorf("%+v of connections that have ended, %+v before", ended, totals)
		}
		buf.Release()
		src.Release()
		dst.Release()
	})
}

func TestDisconnectDrains(t *testing.T) {
	bubble(t, options{}, func(t *testing.T, e *env) {
		h := &client{in: make(chan []byte, 10), closed: make(chan error, 1)}
		_, err := Dial(context.Background(), clientSide{e.p}, e.addr, DialConfig{
			Memory: e.memory("client"), Handler: func(*Conn) transport.Handler { return h },
		})
		if err != nil {
			t.Fatal(err)
		}
		s := e.srv.Conns()[0]
		b, _ := e.pools["server"].TryGet(900_000)
		if err := s.Send(&transport.Outgoing{Pieces: []transport.Piece{{Buf: b, Len: 900_000}}}); err != nil {
			t.Fatal(err)
		}
		s.Disconnect(nil, true)
		if got := <-h.in; len(got) != 900_000 {
			t.Errorf("%d bytes arrived", len(got))
		}
		<-h.closed
	})
}

func TestClientRefusesBadResponses(t *testing.T) {
	good := negotiateResponse{
		minVersion: version, maxVersion: version, negotiated: version, creditsRequested: 1, creditsGranted: 1,
		maxReadWriteSize: 1 << 20, preferredSendSize: 1364, maxReceiveSize: 1364, maxFragmentedSize: 1 << 20,
	}
	now := time.Now()
	try := func(f func(r *negotiateResponse)) error {
		r := good
		f(&r)
		return newMachine(Params{}.withDefaults(true), true, now).responded(r.append(nil), now)
	}
	if err := try(func(*negotiateResponse) {}); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func(r *negotiateResponse){
		"not supported":       func(r *negotiateResponse) { r.status = statusNotSupported },
		"other status":        func(r *negotiateResponse) { r.status = 0xC000009A },
		"version":             func(r *negotiateResponse) { r.negotiated = 0x200 },
		"no credits asked":    func(r *negotiateResponse) { r.creditsRequested = 0 },
		"no credits granted":  func(r *negotiateResponse) { r.creditsGranted = 0 },
		"sends too much":      func(r *negotiateResponse) { r.preferredSendSize = 1365 },
		"receives too little": func(r *negotiateResponse) { r.maxReceiveSize = 127 },
		"fragments":           func(r *negotiateResponse) { r.maxFragmentedSize = 131071 },
		"transfers":           func(r *negotiateResponse) { r.maxReadWriteSize = 100 },
	} {
		if try(f) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestWire(t *testing.T) {
	req := usual()
	for i := range requestLen {
		if _, err := parseRequest(req.append(nil)[:i]); !errors.Is(err, errShort) {
			t.Errorf("request of %d bytes: %v", i, err)
		}
	}
	if got, err := parseRequest(req.append(nil)); err != nil || got != req {
		t.Errorf("%+v %v", got, err)
	}
	resp := negotiateResponse{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for i := range responseLen {
		if _, err := parseResponse(resp.append(nil)[:i]); !errors.Is(err, errShort) {
			t.Errorf("response of %d bytes: %v", i, err)
		}
	}
	if got, err := parseResponse(resp.append(nil)); err != nil || got != resp {
		t.Errorf("%+v %v", got, err)
	}
	msg := data(1, 2, 3, pattern(9))
	for i := range msg {
		if _, _, err := parseData(msg[:i]); err == nil {
			t.Errorf("data transfer cut to %d bytes: accepted", i)
		}
	}
	if h, d, err := parseData(msg); err != nil || h.remaining != 3 || !bytes.Equal(d, pattern(9)) {
		t.Errorf("%+v % x %v", h, d, err)
	}
}

func TestLegacyPrivateData(t *testing.T) {
	// cifs on siw says IRD 32, ORD 1; old ones in the wrong order.
	for _, b := range [][]byte{{0, 0, 0, 32, 0, 0, 0, 1}, {32, 0, 0, 0, 1, 0, 0, 0}} {
		if ird, ord, ok := legacy(b); ird != 32 || ord != 1 || !ok {
			t.Errorf("% x: %d %d %v", b, ird, ord, ok)
		}
	}
	for _, b := range [][]byte{nil, {0, 0, 0, 1}, make([]byte, 8), bytes.Repeat([]byte{0xff}, 8)} {
		if _, _, ok := legacy(b); ok {
			t.Errorf("% x: accepted", b)
		}
	}
	if b := appendLegacy(nil, 300, 1); !bytes.Equal(b, []byte{0, 0, 0, 255, 0, 0, 0, 1}) {
		t.Errorf("% x", b)
	}
}

func FuzzMachine(f *testing.F) {
	f.Add(usual().append(nil), data(255, 10, 0, pattern(100)), data(10, 1, 100, pattern(50)))
	f.Fuzz(func(t *testing.T, a, b, c []byte) {
		now := time.Now()
		m := newMachine(Params{}.withDefaults(false), false, now)
		for range 255 {
			m.posted()
		}
		if _, err := m.requested(a, now); err != nil {
			return
		}
		m.grant()
		room := 0
		for _, msg := range [][]byte{b, c, b, c, b} {
			fr, err := m.received(msg, now)
			if err != nil {
				return
			}
			if fr.total > 0 {
				if room = fr.total; room > m.p.MaxFragmented {
					t.Fatalf("a message of %d bytes", room)
				}
			}
			if room -= len(fr.data); room < 0 || fr.last && room != 0 {
				t.Fatalf("fragments do not make the message: %d", room)
			}
			m.posted()
			for left := 5000; ; {
				o, ok := m.next(left, 1000, now)
				if !ok {
					break
				}
				if o.data > m.maxSend-dataOffset || o.data > left {
					t.Fatalf("%d bytes in a SEND of %d", o.data, m.maxSend)
				}
				left -= o.data
			}
		}
	})
}
