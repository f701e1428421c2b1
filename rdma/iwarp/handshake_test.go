package iwarp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"fileserver/rdma"
)

// TestSIWRequest: the bytes of a Linux NFS client, and the reply it wants.
func TestSIWRequest(t *testing.T) {
	p, l := listenRaw(t, Config{})
	r := dialRaw(t, l)
	for i := range siwRequest { // in the smallest pieces
		r.write(siwRequest[i : i+1])
	}
	id := acceptID(t, l)
	if peer := id.Remote(); peer.IRD != 0 || peer.ORD != 128 || !bytes.Equal(peer.PrivateData, siwRequest[24:]) {
		t.Fatalf("Remote %+v", peer)
	}
	if id.RemoteAddr() != addrPort(r.c.LocalAddr()) || id.LocalAddr() != l.Addr() {
		t.Errorf("addresses %v, %v", id.LocalAddr(), id.RemoteAddr())
	}
	e := newEnd(t, p, id)
	if err := id.Accept(rdma.ConnParams{IRD: 16, ORD: 16, PrivateData: []byte("reply")}); err != nil {
		t.Fatal(err)
	}
	e.wantEvent(rdma.EventEstablished)
	e.post(rdma.SendWR{Opcode: rdma.OpSend, SGL: e.sgl(0, 4)}) // waits for the peer's first FPDU
	want := []byte("MPA ID Rep Frame\x10\x02\x00\x09\x00\x00\x00\x10reply")
	got := make([]byte, len(want))
	if _, err := io.ReadFull(r.c, got); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("reply %q, %v, want %q", got, err, want)
	}
	_ = r.c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, _ := r.c.Read(got); n != 0 {
		t.Fatalf("%d bytes behind the reply, before the initiator's first FPDU", n)
	}
	_ = r.c.SetReadDeadline(time.Now().Add(10 * time.Second))
	r.open()
	if s, b := r.segment(); s.op != opSend || len(b) != 4 {
		t.Fatalf("segment %+v", s)
	}
	if q := e.qp.(*queuePair); q.tx.fpdu < 65000 {
		t.Errorf("FPDUs of %d bytes for siw", q.tx.fpdu)
	}
}

// TestResponder: requests of all kinds of peers.
func TestResponder(t *testing.T) {
	tests := map[string]struct {
		req    mpaFrame
		reply  mpaFrame
		first  []byte // the first FPDU
		reader bool   // which wants a Read Response
	}{
		"v1":     {req: mpaFrame{Rev: 1, Private: []byte("hi")}, reply: mpaFrame{Rev: 1}},
		"v1 crc": {req: mpaFrame{Rev: 1, CRC: true}, reply: mpaFrame{Rev: 1, CRC: true}},
		"v2":     {req: mpaFrame{Rev: 2, CRC: true}, reply: mpaFrame{Rev: 2, CRC: true}},
		"v2 enhanced": {
			req:   mpaFrame{Rev: 2, Enhanced: true, IRD: 3, ORD: 100},
			reply: mpaFrame{Rev: 2, Enhanced: true, IRD: 8, ORD: 3},
		},
		"v2 unspecified": {
			req:   mpaFrame{Rev: 2, Enhanced: true, IRD: mpaDepth, ORD: mpaDepth},
			reply: mpaFrame{Rev: 2, Enhanced: true, IRD: 8, ORD: 8},
		},
		"Chelsio": {
			req:    mpaFrame{Rev: 2, Enhanced: true, CRC: true, PeerToPeer: true, RTRRead: true, IRD: 4, ORD: 0},
			reply:  mpaFrame{Rev: 2, Enhanced: true, CRC: true, PeerToPeer: true, RTRRead: true, IRD: 1, ORD: 4},
			first:  readSeg(1, readRequest{sinkSTag: 0xdead, srcSTag: 0xbeef, srcTO: ^uint64(0)}),
			reader: true,
		},
		"Intel": {
			req:   mpaFrame{Rev: 2, Enhanced: true, CRC: true, PeerToPeer: true, RTRWrite: true, RTRRead: true, IRD: 4, ORD: 4},
			reply: mpaFrame{Rev: 2, Enhanced: true, CRC: true, PeerToPeer: true, RTRWrite: true, IRD: 4, ORD: 4},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r, e, reply := attachRaw(t, Config{}, tt.req.append(nil), func(e *end) { e.recv(1, 0, 16) })
			tt.reply.Reply = true
			reply.Private = nil
			if !bytes.Equal(reply.append(nil), tt.reply.append(nil)) {
				t.Fatalf("reply %+v, want %+v", reply, tt.reply)
			}
			if tt.req.PeerToPeer {
				select {
				case ev := <-e.id.Events():
					t.Fatalf("event %+v before the ready-to-receive frame", ev)
				default:
				}
			}
			if tt.first == nil {
				r.open()
			} else {
				r.fpdu(tt.first)
			}
			if tt.reader {
				if s, b := r.segment(); s.op != opReadResponse || s.stag != 0xdead || len(b) != 0 || !s.last {
					t.Fatalf("segment %+v, want an empty Read Response", s)
				}
			}
			e.wantEvent(rdma.EventEstablished)
			r.fpdu(sendSeg(1, 0, true, []byte("hello")))
			if wc := e.want(1, rdma.OpRecv, rdma.StatusSuccess); wc.ByteLen != 5 || string(e.mem[:5]) != "hello" {
				t.Errorf("received %d bytes", wc.ByteLen)
			}
		})
	}
}

// TestRefused: what is not answered with a connection, and why.
func TestRefused(t *testing.T) {
	tests := map[string]struct {
		bytes  []byte
		reason Reason
		reject bool // a reply says so
	}{
		"markers":        {(&mpaFrame{Rev: 2, Enhanced: true, Markers: true}).append(nil), ReasonMPAMarkers, true},
		"revision 0":     {(&mpaFrame{Rev: 0}).append(nil), ReasonMPARevision, true},
		"revision 3":     {(&mpaFrame{Rev: 3}).append(nil), ReasonMPARevision, true},
		"reject flag":    {(&mpaFrame{Rev: 2, Reject: true}).append(nil), ReasonMPAMalformed, true},
		"no depths":      {[]byte("MPA ID Req Frame\x10\x02\x00\x03abc"), ReasonMPAMalformed, false},
		"too long":       {[]byte("MPA ID Req Frame\x10\x02\x02\x01"), ReasonMPAMalformed, false},
		"a reply":        {(&mpaFrame{Rev: 2, Reply: true}).append(nil), ReasonNotMPA, false},
		"something else": {[]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), ReasonNotMPA, false},
		"early data":     {append(bytes.Clone(siwRequest), 0, 14), ReasonMPAEarlyData, false},
		"silence":        {nil, ReasonMPATimeout, false},
		"half":           {siwRequest[:19], ReasonMPATimeout, false},
		"half private":   {siwRequest[:25], ReasonMPATimeout, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, l := listenRaw(t, Config{RequestTimeout: 200 * time.Millisecond})
			r := dialRaw(t, l)
			r.write(tt.bytes)
			f, err := readFrame(r.c, true)
			switch {
			case tt.reject && (err != nil || !f.Reject):
				t.Errorf("reply %+v, %v, want a rejection", f, err)
			case !tt.reject && !errors.Is(err, io.EOF) && !isReset(err):
				t.Errorf("reply %+v, %v, want the end of the stream", f, err)
			}
			reasonCounted(t, p, tt.reason)
			_ = r.c.Close()
			for end := time.Now().Add(10 * time.Second); p.Stats().HalfOpen != 0; time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("the refused connection stays half-open")
				}
			}
		})
	}
}

func isReset(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && socketError(err).Reason == ReasonReset
}

// TestHalfOpenOfOneClient: who opens connections and says nothing does not keep other clients out, and an address that
// is not admitted is closed at once.
func TestHalfOpenOfOneClient(t *testing.T) {
	p, l := listenRaw(t, Config{MaxHalfOpen: 32, RequestTimeout: time.Minute, Admits: func(a netip.Addr) bool {
		return a != netip.MustParseAddr("127.0.0.2")
	}})
	dial := func(from string) net.Conn {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		c, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	closed := func(c net.Conn) {
		t.Helper()
		c.SetReadDeadline(time.Now().Add(20 * time.Second))
		if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("not closed: %v", err)
		}
	}
	closed(dial("127.0.0.2"))
	reasonCounted(t, p, ReasonNotAdmitted)
	for range 32 {
		dial("127.0.0.3")
	}
	closed(dial("127.0.0.3"))
	reasonCounted(t, p, ReasonHalfOpenLimit)
	a := dialRaw(t, l)
	a.write(siwRequest)
	if err := acceptID(t, l).Close(); err != nil {
		t.Fatal(err)
	}
}

func TestHalfOpenLimit(t *testing.T) {
	p, l := listenRaw(t, Config{MaxHalfOpen: 2, RequestTimeout: time.Minute})
	a := dialRaw(t, l)
	dialRaw(t, l)
	for range 1000 {
		if p.Stats().HalfOpen == 2 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	third := dialRaw(t, l)
	if _, err := third.c.Read(make([]byte, 1)); err == nil {
		t.Fatal("a third half-open connection of two")
	}
	reasonCounted(t, p, ReasonHalfOpenLimit)
	a.write(siwRequest) // the first are not harmed
	if err := acceptID(t, l).Close(); err != nil {
		t.Fatal(err)
	}
}

func TestBacklog(t *testing.T) {
	p, l := listenRaw(t, Config{Backlog: 1})
	first, second := dialRaw(t, l), dialRaw(t, l)
	first.write(siwRequest)
	for range 1000 {
		if len(l.(*listener).requests) == 1 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	second.write(siwRequest)
	if _, err := second.c.Read(make([]byte, 1)); err == nil {
		t.Fatal("a reply to a request beyond the backlog")
	}
	reasonCounted(t, p, ReasonBacklog)
	if err := l.Close(); err != nil { // ends what waits for Accept
		t.Fatal(err)
	}
	if _, err := first.c.Read(make([]byte, 1)); err == nil {
		t.Fatal("a reply from a listener that is closed")
	}
	if _, err := l.Accept(context.Background()); !errors.Is(err, rdma.ErrClosed) {
		t.Errorf("Accept: %v", err)
	}
}

func TestReject(t *testing.T) {
	for _, rev := range []int{1, 2} {
		ctx := context.Background()
		sp, l := listenRaw(t, Config{})
		cp := testProvider(t, Config{MPARevision: rev})
		id, err := cp.Resolve(ctx, l.Addr())
		if err != nil {
			t.Fatal(err)
		}
		e := newEnd(t, cp, id)
		e.recv(1, 0, 8)
		done := make(chan error, 1)
		go func() { done <- id.Connect(ctx, rdma.ConnParams{IRD: 1, ORD: 1, PrivateData: []byte("please")}) }()
		sid := acceptID(t, l)
		if got := sid.Remote().PrivateData; string(got) != "please" {
			t.Errorf("request with %q", got)
		}
		if err := sid.Reject([]byte("no room")); err != nil {
			t.Fatal(err)
		}
		var rej *rdma.RejectedError
		if err := <-done; !errors.As(err, &rej) || string(rej.PrivateData) != "no room" {
			t.Fatalf("Connect: %v", err)
		}
		e.want(1, rdma.OpRecv, rdma.StatusWRFlushErr)
		e.wantEvent(rdma.EventDisconnected)
		reasonCounted(t, sp, ReasonRejected)
		if err := id.Connect(ctx, rdma.ConnParams{}); !errors.Is(err, rdma.ErrNotConnected) {
			t.Errorf("Connect again: %v", err)
		}
	}
}

// TestInitiator: replies of all kinds of peers.
func TestInitiator(t *testing.T) {
	offer := func(f mpaFrame) mpaFrame {
		f.Reply = true
		return f
	}
	tests := map[string]struct {
		cfg    Config
		reply  mpaFrame
		more   []byte
		reason Reason // of the failure
		first  opcode // of the ready-to-receive frame, if rtr
		rtr    bool
		ird    int
		ord    int
	}{
		"siw":          {cfg: Config{NoPeerToPeer: true}, reply: offer(mpaFrame{Rev: 2, Enhanced: true, IRD: 5, ORD: 4}), ird: 4, ord: 5},
		"RTR WRITE":    {reply: offer(mpaFrame{Rev: 2, Enhanced: true, IRD: 128, ORD: 8, PeerToPeer: true, RTRWrite: true}), rtr: true, first: opWrite, ird: 8, ord: 8},
		"RTR READ":     {reply: offer(mpaFrame{Rev: 2, Enhanced: true, IRD: 0, ORD: 8, PeerToPeer: true, RTRRead: true}), rtr: true, first: opReadRequest, ird: 8, ord: 1},
		"no RTR":       {reply: offer(mpaFrame{Rev: 2, Enhanced: true, IRD: 8, ORD: 8, CRC: true}), ird: 8, ord: 8},
		"wants more":   {reply: offer(mpaFrame{Rev: 2, Enhanced: true, IRD: 8, ORD: 20}), ird: 20, ord: 8},
		"v1":           {reply: offer(mpaFrame{Rev: 1}), ird: 8, ord: 8},
		"not enhanced": {reply: offer(mpaFrame{Rev: 2}), ird: 8, ord: 8},
		"open depths":  {reply: offer(mpaFrame{Rev: 2, Enhanced: true, IRD: mpaDepth, ORD: mpaDepth}), ird: 8, ord: 8},
		"RTR SEND":     {reply: offer(mpaFrame{Rev: 2, Enhanced: true, PeerToPeer: true, RTRSend: true}), reason: ReasonMPARTR},
		"ORD":          {reply: offer(mpaFrame{Rev: 2, Enhanced: true, ORD: 129}), reason: ReasonInsufficientIRD},
		"markers":      {reply: offer(mpaFrame{Rev: 2, Enhanced: true, Markers: true}), reason: ReasonMPAMarkers},
		"revision":     {reply: offer(mpaFrame{Rev: 3}), reason: ReasonMPARevision},
		"a request":    {reply: mpaFrame{Rev: 2}, reason: ReasonNotMPA},
		"early data":   {reply: offer(mpaFrame{Rev: 2}), more: []byte{0}, reason: ReasonMPAEarlyData},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			nl, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = nl.Close() }()
			tt.cfg.RTRRepeatAfter = -1
			p := testProvider(t, tt.cfg)
			id, err := p.Resolve(ctx, addrPort(nl.Addr()))
			if err != nil {
				t.Fatal(err)
			}
			e := newEnd(t, p, id)
			done := make(chan error, 1)
			go func() { done <- id.Connect(ctx, testParams) }()
			c, err := nl.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			r := &rawPeer{t: t, c: c.(*net.TCPConn), crc: tt.reply.CRC}
			req, err := readFrame(c, false)
			if err != nil || req.PeerToPeer == tt.cfg.NoPeerToPeer || req.IRD != 8 || req.ORD != 8 || req.Markers {
				t.Fatalf("request %+v, %v", req, err)
			}
			r.write(append(tt.reply.append(nil), tt.more...))
			err = <-done
			var ie *Error
			if tt.reason != 0 {
				if !errors.As(err, &ie) || ie.Reason != tt.reason {
					t.Fatalf("Connect: %v, want %v", err, tt.reason)
				}
				e.wantEvent(rdma.EventDisconnected)
				reasonCounted(t, p, tt.reason)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			e.wantEvent(rdma.EventEstablished)
			if ird, ord := id.Negotiated(); ird != tt.ird || ord != tt.ord {
				t.Errorf("negotiated %d, %d, want %d, %d", ird, ord, tt.ird, tt.ord)
			}
			msn := uint32(1)
			if tt.rtr {
				s, _ := r.segment()
				if s.op != tt.first || s.tagged && s.length != 0 {
					t.Fatalf("first segment %+v", s)
				}
				if s.op == opReadRequest {
					msn = 2
					r.fpdu(ulpdu(segment{op: opReadResponse, tagged: true, last: true, stag: e.qp.(*queuePair).sq.oldestRead().sinkSTag}, nil))
				}
			}
			e.post(rdma.SendWR{ID: 3, Opcode: rdma.OpRead, Flags: rdma.SendSignaled, SGL: e.sgl(0, 4)})
			r.fpdu(response(r.wantReadRequest(msn), 0, true, []byte("data")))
			e.want(3, rdma.OpRead, rdma.StatusSuccess)
		})
	}
}

func TestConnectFails(t *testing.T) {
	nl, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := addrPort(nl.Addr())
	try := func(p *Provider, ctx context.Context) error {
		t.Helper()
		id, err := p.Resolve(ctx, addr)
		if err != nil {
			t.Fatal(err)
		}
		e := newEnd(t, p, id)
		err = id.Connect(ctx, testParams)
		if err == nil {
			t.Fatal("connected")
		}
		e.wantEvent(rdma.EventDisconnected)
		return err
	}
	p := testProvider(t, Config{ReplyTimeout: 50 * time.Millisecond})
	_ = try(p, context.Background()) // silence
	reasonCounted(t, p, ReasonMPATimeout)
	p = testProvider(t, Config{})
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := try(p, ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Connect: %v", err)
	}
	go func() {
		for {
			c, err := nl.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	var rej *rdma.RejectedError
	if err := try(p, context.Background()); !errors.As(err, &rej) {
		t.Errorf("Connect: %v", err)
	}
	_ = nl.Close()
	_ = try(p, context.Background()) // refused by TCP
	reasonCounted(t, p, ReasonUnreachable)
}

// TestShared: one port for MPA and for what begins otherwise, or not at all.
func TestShared(t *testing.T) {
	p := testProvider(t, Config{RequestTimeout: 300 * time.Millisecond})
	plain := make(chan net.Conn, 8)
	l, err := p.ListenShared(context.Background(), loopback, ListenConfig{Plain: func(c net.Conn) { plain <- c }})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"\x80\x00\x00\x28", "M", "MPA ID Rep Frame", "", "MPA ID Req Framf"} {
		if s == "M" {
			continue // could still become a request: see below
		}
		r := dialRaw(t, l)
		r.write([]byte(s))
		c := <-plain
		r.write([]byte(" and more"))
		_ = r.c.CloseWrite()
		got, err := io.ReadAll(c)
		if err != nil || string(got) != s+" and more" {
			t.Errorf("plain connection with %q, %v", got, err)
		}
		_ = c.Close()
	}
	r := dialRaw(t, l)
	for _, b := range siwRequest {
		r.write([]byte{b})
		time.Sleep(time.Millisecond)
	}
	if err := acceptID(t, l).Close(); err != nil {
		t.Fatal(err)
	}
	r = dialRaw(t, l)
	r.write([]byte("MPA"))
	if _, err := r.c.Read(make([]byte, 1)); err == nil {
		t.Error("an answer to part of a request")
	}
	reasonCounted(t, p, ReasonMPATimeout)
	if len(plain) != 0 {
		t.Error("MPA was taken for the plain protocol")
	}
}
