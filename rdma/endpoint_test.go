package rdma_test

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"testing"

	"go.uber.org/goleak"

	"fileserver/internal/slab"
	"fileserver/rdma"
	"fileserver/rdma/rdmatest/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// side is one end of a connection under test.
type side struct {
	t    testing.TB
	pool *slab.Pool
	mem  *rdma.Memory
	dom  *rdma.Domain // that mem is from; nil: none
	id   rdma.ID
	ep   *rdma.Endpoint

	got      chan *slab.Buf
	inv      chan uint32
	closed   chan error
	received func(*slab.Buf)
}

func (s *side) Received(buf *slab.Buf, inv uint32, invalidated bool) {
	if s.received != nil {
		s.received(buf)
		return
	}
	if invalidated {
		s.inv <- inv
	}
	s.got <- buf
}

func (s *side) Closed(err error) { s.closed <- err }

type pairConfig struct {
	provider             mem.Config
	send, recv, recvSize int
	recvFirst            int
	ord                  int
	limit                int64
	wrap                 func(rdma.ID) rdma.ID
	access               rdma.Access
	own                  bool // the server has a protection domain of its own
}

// pair makes a connection of two endpoints over rdma/rdmatest/mem.
func pair(t testing.TB, c pairConfig) (client, server *side, p *mem.Provider) {
	t.Helper()
	c.send, c.recv, c.recvSize = cmp(c.send, 16), cmp(c.recv, 8), cmp(c.recvSize, 4096)
	if c.ord == 0 {
		c.ord = 8
	}
	c.ord = max(0, c.ord)
	p = mem.New(c.provider)
	l, err := p.Listen(context.Background(), netip.AddrPort{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cid, err := p.Resolve(context.Background(), l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	cc := c
	cc.own = false
	client, server = newSide(t, cc, cid), nil
	ready := make(chan *side)
	go func() {
		id, err := l.Accept(context.Background())
		if err != nil {
			t.Error(err)
		}
		s := newSide(t, c, id)
		if err := id.Accept(rdma.ConnParams{IRD: c.ord, ORD: c.ord, RNRRetry: 7}); err != nil {
			t.Error(err)
		}
		s.ep.Start()
		ready <- s
	}()
	if err := cid.Connect(context.Background(), rdma.ConnParams{IRD: c.ord, ORD: c.ord, RNRRetry: 7}); err != nil {
		t.Fatal(err)
	}
	client.ep.Start()
	server = <-ready
	return client, server, p
}

func cmp(a, b int) int {
	if a == 0 {
		return b
	}
	return a
}

func newSide(t testing.TB, c pairConfig, id rdma.ID) *side {
	t.Helper()
	if c.wrap != nil {
		id = c.wrap(id)
	}
	s := &side{t: t, id: id, got: make(chan *slab.Buf, 1024), inv: make(chan uint32, 1024), closed: make(chan error, 1)}
	s.pool = slab.New(slab.Config{Limit: max(c.limit, 64<<20)})
	if c.access == 0 {
		c.access = rdma.AccessLocalWrite | rdma.AccessRemoteRead | rdma.AccessRemoteWrite
	}
	var err error
	if c.own {
		s.dom = rdma.NewDomain(id.Device(), s.pool, true)
		s.mem, err = s.dom.Attach()
	} else {
		var pd rdma.PD
		if pd, err = id.Device().AllocPD(); err != nil {
			t.Fatal(err)
		}
		s.mem, err = rdma.NewMemory(pd, s.pool, c.access)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.ep, err = rdma.NewEndpoint(id, rdma.EndpointConfig{
		Memory: s.mem, SendDepth: c.send, RecvDepth: c.recv, RecvFirst: c.recvFirst, RecvSize: c.recvSize, Handler: s,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// end waits for the endpoint's end and checks that nothing is left behind.
func (s *side) end() error {
	s.t.Helper()
	err := <-s.closed
	<-s.ep.Done()
	for len(s.got) > 0 {
		(<-s.got).Release()
	}
	if l := s.pool.Leaks(); len(l) > 0 {
		s.t.Errorf("%d buffers leaked: %v", len(l), l[0])
	}
	release := func() error { return errors.Join(s.mem.Close(), s.mem.PD().Dealloc()) }
	if s.dom != nil {
		release = s.dom.Close // the endpoint has given its memory back
	}
	if err := release(); err != nil {
		s.t.Error(err)
	}
	if err := s.pool.Close(); err != nil {
		s.t.Error(err)
	}
	return err
}

func (s *side) buf(n int) *slab.Buf {
	s.t.Helper()
	b, ok := s.pool.TryGet(n)
	if !ok {
		s.t.Fatal("no memory")
	}
	return b
}

func (s *side) segment(b *slab.Buf, off, n int) rdma.Segment {
	s.t.Helper()
	seg, err := s.mem.Segment(b, off, n)
	if err != nil {
		s.t.Fatal(err)
	}
	return seg
}

func fill(b []byte, seed byte) {
	for i := range b {
		b[i] = byte(i)*7 + byte(i>>8) + seed
	}
}

func TestEndpointWriteSendRead(t *testing.T) {
	for name, caps := range map[string]rdma.Caps{"default": {}, "iwarp": mem.IWARPCaps(), "roce": mem.RoCECaps()} {
		t.Run(name, func(t *testing.T) {
			c, s, _ := pair(t, pairConfig{provider: mem.Config{Devices: []mem.DeviceConfig{{Caps: caps}}, LateEstablished: true}})
			ctx := context.Background()
			// The client calls.
			call := c.ep.NewSendOp()
			b := c.buf(100)
			fill(b.Bytes(), 1)
			call.Send(b, 100)
			if err := c.ep.Post(ctx, call); err != nil {
				t.Fatal(err)
			}
			req := <-s.got
			want := make([]byte, 100)
			fill(want, 1)
			if !bytes.Equal(req.Bytes(), want) {
				t.Error("the call arrived damaged")
			}
			if err := s.ep.Repost(req); err != nil {
				t.Fatal(err)
			}
			// The server reads the client's memory, and writes it back doubled up.
			src, dst := c.buf(1<<20), c.buf(1<<20)
			fill(src.Bytes(), 2)
			data := s.buf(1 << 20)
			done := make(chan error, 1)
			segs := []rdma.Segment{c.segment(src, 0, 1000), c.segment(src, 5, 0), c.segment(src, 1000, 1<<20-1000)}
			if err := s.ep.Read(data, 0, segs, rdma.CompletionFunc(func(err error) { done <- err })); err != nil {
				t.Fatal(err)
			}
			if err := <-done; err != nil || !bytes.Equal(data.Bytes(), src.Bytes()) {
				t.Fatal("READ:", err)
			}
			op := s.ep.NewSendOp()
			if err := op.Write(data, 0, 1<<20, []rdma.Segment{c.segment(dst, 0, 77), c.segment(dst, 77, 1<<20-77)}); err != nil {
				t.Fatal(err)
			}
			h := s.buf(10)
			fill(h.Bytes(), 3)
			op.Send(h, 10)
			op.OnDone(rdma.CompletionFunc(func(err error) { done <- err }))
			if err := s.ep.Post(ctx, op); err != nil {
				t.Fatal(err)
			}
			reply := <-c.got
			if reply.Len() != 10 || !bytes.Equal(dst.Bytes(), src.Bytes()) {
				t.Error("the data is not there when the reply is")
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
			reply.Release()
			src.Release()
			dst.Release()
			c.ep.Disconnect(nil)
			if err := c.end(); err != nil {
				t.Error(err)
			}
			if err := s.end(); err != nil {
				t.Error(err)
			}
		})
	}
}
