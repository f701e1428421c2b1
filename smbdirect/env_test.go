package smbdirect

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fileserver/internal/logbuf"
	"fileserver/internal/slab"
	"fileserver/rdma"
	"fileserver/rdma/rdmatest/mem"
	"fileserver/smb/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// env is a server that echoes messages.
type env struct {
	t        *testing.T
	p        *mem.Provider
	srv      *Server
	addr     netip.AddrPort
	pools    map[string]*slab.Pool
	stop     func()
	received chan []byte // copies of what the server received
	mute     bool        // the server does not echo
	logs     logbuf.Buffer

	mu  sync.Mutex
	mem map[string]*rdma.Memory
}

type echo struct {
	e *env
	c transport.Conn
}

func (h *echo) Message(buf *slab.Buf) {
	h.e.received <- bytes.Clone(buf.Bytes())
	if h.e.mute {
		buf.Release()
		return
	}
	_ = h.c.Send(&transport.Outgoing{Pieces: []transport.Piece{{Buf: buf, Len: buf.Len()}}})
}

func (h *echo) Closed(error) {}

type options struct {
	caps   rdma.Caps
	params Params
	limit  int64
	mute   bool
	early  int
}

// newEnv starts a server. It is stopped and checked by close, which a synctest bubble must call itself.
func newEnv(t *testing.T, o options) *env {
	t.Helper()
	if o.caps.MaxSGE == 0 {
		o.caps = mem.IWARPCaps()
	}
	e := &env{t: t, mem: make(map[string]*rdma.Memory), received: make(chan []byte, 1000), mute: o.mute}
	e.p = mem.New(mem.Config{Devices: []mem.DeviceConfig{{Caps: o.caps}, {Caps: o.caps}}, StrictKeys: true})
	e.pools = map[string]*slab.Pool{
		"server": slab.New(slab.Config{Limit: o.limit, Debug: true}), "client": slab.New(slab.Config{Debug: true}),
	}
	domain := rdma.NewDomain(e.p.Device(0), e.pools["server"], false)
	var err error
	e.srv, err = NewServer(Config{
		Memory: func(rdma.Device) (*rdma.Memory, error) { return domain.Attach() }, Params: o.params, EarlyMessage: o.early, Logger: slog.New(slog.NewTextHandler(&e.logs, nil)),
		Handler: func(c transport.Conn) transport.Handler { return &echo{e, c} },
	})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := e.p.Listen(context.Background(), netip.AddrPortFrom(e.p.Device(0).Addr(), 5445))
	if err != nil {
		t.Fatal(err)
	}
	e.addr = ln.Addr()
	served := make(chan error, 1)
	go func() { served <- e.srv.Serve(context.Background(), ln) }()
	e.stop = sync.OnceFunc(func() {
		if err := ln.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		if err := e.srv.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if err := domain.Close(); err != nil {
			t.Error(err)
		}
		for _, m := range e.mem {
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		}
		for side, p := range e.pools {
			for _, l := range p.Leaks() {
				t.Errorf("%s: leak: %s", side, l)
			}
		}
		if t.Failed() {
			t.Logf("server's log:\n%s", e.logs.String())
		}
	})
	return e
}

func (e *env) memory(side string) func(rdma.Device) (*rdma.Memory, error) {
	return func(d rdma.Device) (*rdma.Memory, error) {
		e.mu.Lock()
		defer e.mu.Unlock()
		if m := e.mem[side]; m != nil {
			return m, nil
		}
		pd, err := d.AllocPD()
		if err != nil {
			return nil, err
		}
		m, err := rdma.NewMemory(pd, e.pools[side], rdma.AccessLocalWrite)
		if err == nil {
			e.mem[side] = m
		}
		return m, err
	}
}

// clientSide connects from the provider's second device.
type clientSide struct{ *mem.Provider }

func (p clientSide) Resolve(_ context.Context, addr netip.AddrPort) (rdma.ID, error) {
	return p.Device(1).Resolve(addr)
}

// peer is the other end of a connection that sends just what the test says.
type peer struct {
	t      *testing.T
	e      *env
	ep     *rdma.Endpoint
	msgs   chan []byte
	closed chan error
}

func (p *peer) Received(buf *slab.Buf, _ uint32, _ bool) {
	p.msgs <- bytes.Clone(buf.Bytes())
	_ = p.ep.Repost(buf)
}

func (p *peer) Closed(err error) { p.closed <- err }

// newPeer connects with 300 receives posted, more than are ever granted.
func (e *env) newPeer() *peer {
	e.t.Helper()
	id, err := clientSide{e.p}.Resolve(context.Background(), e.addr)
	if err != nil {
		e.t.Fatal(err)
	}
	m, err := e.memory("client")(id.Device())
	if err != nil {
		e.t.Fatal(err)
	}
	p := &peer{t: e.t, e: e, msgs: make(chan []byte, 1000), closed: make(chan error, 1)}
	p.ep, err = rdma.NewEndpoint(id, rdma.EndpointConfig{Memory: m, SendDepth: 600, RecvDepth: 300, RecvSize: 8192, Handler: p})
	if err != nil {
		e.t.Fatal(err)
	}
	if err := id.Connect(context.Background(), rdma.ConnParams{IRD: 16, RNRRetry: 7}); err != nil {
		e.t.Fatal(err)
	}
	p.ep.Start()
	return p
}

func (p *peer) close() {
	p.ep.Disconnect(nil)
	<-p.ep.Done()
}

// send sends b as one SEND.
func (p *peer) send(b []byte) {
	p.t.Helper()
	buf, ok := p.e.pools["client"].TryGet(max(len(b), 1))
	if !ok {
		p.t.Fatal("no memory")
	}
	copy(buf.Bytes(), b)
	op := p.ep.NewSendOp()
	op.Send(buf, len(b))
	if err := p.ep.Queue(op); err != nil && !errors.Is(err, rdma.ErrNotConnected) {
		p.t.Logf("send: %v", err)
	}
}

// recv is the next message of the server.
func (p *peer) recv() []byte {
	p.t.Helper()
	select {
	case b := <-p.msgs:
		return b
	case err := <-p.closed:
		p.t.Fatalf("the server disconnected: %v\n%s", err, p.e.logs.String())
	case <-time.After(time.Hour): // virtual, in bubbles; otherwise the test's own limit strikes first
		p.t.Fatal("nothing received")
	}
	panic("unreachable")
}

// gone waits for the server to disconnect, and reports whether it said something before.
func (p *peer) gone() (last []byte) {
	p.t.Helper()
	select {
	case <-p.closed:
	case <-time.After(time.Hour):
		p.t.Fatal("the server does not disconnect")
	}
	for {
		select {
		case last = <-p.msgs:
		default:
			return last
		}
	}
}

// usual is what a client of today asks for.
func usual() negotiateRequest {
	return negotiateRequest{
		minVersion: version, maxVersion: version, creditsRequested: 255,
		preferredSendSize: 1364, maxReceiveSize: 8192, maxFragmentedSize: 1 << 20,
	}
}

func (p *peer) negotiate(r negotiateRequest) negotiateResponse {
	p.t.Helper()
	p.send(r.append(nil))
	resp, err := parseResponse(p.recv())
	if err != nil {
		p.t.Fatal(err)
	}
	return resp
}

// data makes a data transfer message.
func data(credits, granted uint16, remaining uint32, payload []byte) []byte {
	h := dataTransfer{creditsRequested: credits, creditsGranted: granted, remaining: remaining, length: uint32(len(payload))}
	b := h.append(nil)
	if len(payload) == 0 {
		return b[:headerLen]
	}
	return append(b, payload...)
}

// message receives fragments until a message is complete.
func (p *peer) message() []byte {
	p.t.Helper()
	var msg []byte
	for {
		h, d, err := parseData(p.recv())
		if err != nil {
			p.t.Fatal(err)
		}
		if msg = append(msg, d...); len(d) > 0 && h.remaining == 0 {
			return msg
		}
	}
}

func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*13 + i>>8)
	}
	return b
}
