package nfsrdma

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fileserver/internal/logbuf"
	"fileserver/internal/slab"
	"fileserver/nfs/rpc"
	"fileserver/nfs/xdr"
	"fileserver/rdma"
	"fileserver/rdma/rdmatest/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The test program: a call is XID, CALL, what to do, arguments.
const (
	doEcho        = iota + 1 // opaque…: each comes back as a placeable result
	doMake                   // n, count: count placeable results of n bytes
	doHead                   // n: n bytes of result that is not placeable
	doWait                   // waits for env.gate, then returns nothing
	doDrop                   // no reply
	doMixed                  // n: a result of n bytes that is not placeable, then one that is
	doHoldPayload            // opaque: looked at, and no results
)

// env is a server on a provider in this process, and what it takes to connect to it.
type env struct {
	t       *testing.T
	p       *mem.Provider
	srv     *Server
	addr    netip.AddrPort
	gate    chan struct{}
	entered atomic.Int64
	server  *slab.Pool
	client  *slab.Pool
	logs    logbuf.Buffer

	mu  sync.Mutex
	mem map[string]*rdma.Memory
}

type options struct {
	caps   rdma.Caps
	server Config // Handler, Memory and Logger are filled in
	limit  int64  // of the server's pool
	quick  bool   // pools without debugging, which allocates
	own    bool   // a protection domain for each connection
}

func newEnv(t *testing.T, o options) *env {
	t.Helper()
	e := &env{t: t, gate: make(chan struct{}), mem: make(map[string]*rdma.Memory)}
	e.p = mem.New(mem.Config{Devices: []mem.DeviceConfig{{Caps: o.caps}, {Caps: o.caps}}})
	e.server = slab.New(slab.Config{Limit: o.limit, Debug: !o.quick})
	e.client = slab.New(slab.Config{Debug: !o.quick})
	o.server.Handler = rpcHandler(e.serve)
	domain := rdma.NewDomain(e.p.Device(0), e.server, o.own)
	o.server.Memory = func(rdma.Device) (*rdma.Memory, error) { return domain.Attach() }
	o.server.Logger = slog.New(slog.NewTextHandler(&e.logs, nil))
	var err error
	if e.srv, err = NewServer(o.server); err != nil {
		t.Fatal(err)
	}
	ln, err := e.p.Listen(t.Context(), netip.AddrPortFrom(e.p.Device(0).Addr(), 20049))
	if err != nil {
		t.Fatal(err)
	}
	e.addr = ln.Addr()
	served := make(chan error, 1)
	go func() { served <- e.srv.Serve(context.Background(), ln) }()
	t.Cleanup(func() {
		if err := ln.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := e.srv.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := domain.Close(); err != nil {
			t.Error(err)
		}
		for _, m := range e.mem {
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		}
		for name, p := range map[string]*slab.Pool{"server": e.server, "client": e.client} {
			for _, l := range p.Leaks() {
				t.Errorf("%s: leak: %s", name, l)
			}
		}
		if t.Failed() {
			t.Logf("server's log:\n%s", e.logs.String())
		}
	})
	return e
}

// memory gives each side one memory a device.
func (e *env) memory(side string, pool *slab.Pool) func(rdma.Device) (*rdma.Memory, error) {
	return func(d rdma.Device) (*rdma.Memory, error) {
		e.mu.Lock()
		defer e.mu.Unlock()
		key := side + d.Name()
		if m := e.mem[key]; m != nil {
			return m, nil
		}
		pd, err := d.AllocPD()
		if err != nil {
			return nil, err
		}
		m, err := rdma.NewMemory(pd, pool, rdma.AccessLocalWrite)
		if err == nil {
			e.mem[key] = m
		}
		return m, err
	}
}

func (e *env) dial(cfg ClientConfig) *Client {
	e.t.Helper()
	if cfg.Memory == nil {
		cfg.Memory = e.memory("client", e.client)
	}
	c, err := Dial(e.t.Context(), clientSide{e.p}, e.addr, cfg)
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { _ = c.Close() })
	return c
}

// clientSide connects from the provider's second device.
type clientSide struct{ *mem.Provider }

func (p clientSide) Resolve(_ context.Context, addr netip.AddrPort) (rdma.ID, error) {
	return p.Device(1).Resolve(addr)
}

// buf is a buffer of the client's.
func (e *env) buf(n int) *slab.Buf {
	b, err := e.client.Get(e.t.Context(), n)
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(b.Release)
	return b
}

type rpcHandler func(context.Context, *rpc.Call, *rpc.Reply) bool

func (f rpcHandler) Serve(ctx context.Context, c *rpc.Call, r *rpc.Reply) bool { return f(ctx, c, r) }

// pattern fills b with bytes that tell where they belong.
func pattern(b []byte, seed int) []byte {
	for i := range b {
		b[i] = byte(i*7 + i>>8 + seed)
	}
	return b
}

func (e *env) serve(ctx context.Context, c *rpc.Call, r *rpc.Reply) bool {
	m := &c.Message
	xid, _, what := m.Uint32(), m.Uint32(), m.Uint32()
	r.Head = xdr.AppendUint32(xdr.AppendUint32(r.Head, xid), 1)
	switch what {
	case doEcho:
		for m.Len() > 0 && m.Err() == nil {
			p := m.Payload(8 << 20)
			buf, err := c.Buffers.Get(ctx, len(p.Data))
			if err != nil {
				return false
			}
			copy(buf.Bytes(), p.Data)
			r.AppendPayload(buf, 0, len(p.Data), true)
		}
	case doMake:
		n, count := int(m.Uint32()), int(m.Uint32())
		for i := range count {
			n := min(n, c.PayloadLimit(i, len(r.Head)+4))
			buf, err := c.Buffers.Get(ctx, n)
			if err != nil {
				return false
			}
			pattern(buf.Bytes(), i)
			r.AppendPayload(buf, 0, n, true)
		}
	case doHead:
		n := int(m.Uint32())
		r.Head = append(r.Head, pattern(make([]byte, n), 3)...)
	case doMixed:
		n := int(m.Uint32())
		for i := range 2 {
			buf, err := c.Buffers.Get(ctx, n)
			if err != nil {
				return false
			}
			pattern(buf.Bytes(), i)
			r.AppendPayload(buf, 0, n, i == 1)
		}
	case doWait:
		e.entered.Add(1)
		select {
		case <-e.gate:
		case <-ctx.Done():
		}
	case doDrop:
		return false
	case doHoldPayload:
		m.Payload(8 << 20)
	}
	if err := m.Finish(); err != nil {
		r.Reset(r.Head)
		r.Head = xdr.AppendUint32(xdr.AppendUint32(r.Head, xid), 99)
		r.Head = xdr.AppendString(r.Head, err.Error())
	}
	return true
}

var lastXID atomic.Uint32

// head begins a call.
func head(what uint32, args ...uint32) []byte {
	b := xdr.AppendUint32(nil, lastXID.Add(1))
	b = xdr.AppendUint32(xdr.AppendUint32(b, 0), what)
	for _, a := range args {
		b = xdr.AppendUint32(b, a)
	}
	return b
}

// do makes a call and checks that the reply is one to it.
func do(t *testing.T, c *Client, req *Request) Response {
	t.Helper()
	var resp Response
	if err := c.Do(t.Context(), req, &resp); err != nil {
		t.Fatal(err)
	}
	if err := checkHead(req, &resp); err != nil {
		t.Fatal(err)
	}
	return resp
}

func checkHead(req *Request, resp *Response) error {
	if len(resp.Head) < 8 || binary.BigEndian.Uint32(resp.Head) != binary.BigEndian.Uint32(req.Head) {
		return fmt.Errorf("reply % x to call % x", resp.Head, req.Head[:12])
	}
	if v := binary.BigEndian.Uint32(resp.Head[4:]); v != 1 {
		return fmt.Errorf("the server says: %s", resp.Head[12:])
	}
	return nil
}
