//go:build linux && cgo && rdmacore

package verbs

import (
	"context"
	"testing"
	"time"

	"fileserver/internal/slab"
	"fileserver/rdma"
)

// side is one end of a connection, with one region for everything.
type side struct {
	t    testing.TB
	id   rdma.ID
	pd   rdma.PD
	cq   rdma.CQ
	qp   rdma.QP
	mr   rdma.MR
	pool *slab.Pool
	buf  *slab.Buf
}

const (
	sideDepth = 64
	sideSize  = 1 << 20
)

func newSide(t testing.TB, id rdma.ID) *side {
	t.Helper()
	s := &side{t: t, id: id, pool: slab.New(slab.Config{Limit: 32 << 20})}
	var ok bool
	if s.buf, ok = s.pool.TryGet(sideSize); !ok {
		t.Fatal("no memory")
	}
	var err error
	check := func() {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s.pd, err = id.Device().AllocPD()
	check()
	s.mr, err = s.pd.RegMR(s.buf.Bytes(), rdma.AccessLocalWrite|rdma.AccessRemoteRead|rdma.AccessRemoteWrite)
	check()
	s.cq, err = id.Device().CreateCQ(2 * sideDepth)
	check()
	s.qp, err = id.CreateQP(s.pd, rdma.QPConfig{SendCQ: s.cq, RecvCQ: s.cq, SendDepth: sideDepth, RecvDepth: sideDepth})
	check()
	return s
}

// close gives everything back; nothing of it may fail, whatever has become of the device.
func (s *side) close() {
	s.t.Helper()
	for _, f := range []func() error{s.id.Close, s.drained, s.cq.Close, s.mr.Deregister, s.pd.Dealloc} {
		if err := f(); err != nil {
			s.t.Error(err)
		}
	}
	s.buf.Release()
	if err := s.pool.Close(); err != nil {
		s.t.Error(err)
	}
}

func (s *side) drained() error {
	var wc [16]rdma.WC
	for s.cq.Poll(wc[:]) > 0 {
	}
	return nil
}

func (s *side) sge(off, n int) rdma.SGE {
	return rdma.SGE{Addr: s.mr.Addr() + uint64(off), Length: uint32(n), LKey: s.mr.LKey()}
}

// pair makes a connection through a listener. Receives of 64 bytes are posted at the
// accepting side, recvs of them, at the beginning of its region.
func pair(t testing.TB, p *Provider, l rdma.Listener, recvs int) (client, server *side) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	id, err := p.Resolve(ctx, l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	client = newSide(t, id)
	accepted := make(chan error, 1)
	go func() {
		id, err := l.Accept(ctx)
		if err == nil {
			server = newSide(t, id)
			for i := range recvs {
				server.recv(i)
			}
			err = id.Accept(rdma.ConnParams{IRD: 8, ORD: 8, RNRRetry: 7})
		}
		accepted <- err
	}()
	if err := client.id.Connect(ctx, rdma.ConnParams{IRD: 8, ORD: 8, RNRRetry: 7}); err != nil {
		t.Fatal(err)
	}
	if err := <-accepted; err != nil {
		t.Fatal(err)
	}
	return client, server
}

func (s *side) recv(i int) {
	if err := s.qp.PostRecv([]rdma.RecvWR{{ID: uint64(i), SGL: []rdma.SGE{s.sge(i*64, 64)}}}); err != nil {
		s.t.Error(err)
	}
}

func listen(t testing.TB, p *Provider) rdma.Listener {
	t.Helper()
	l, err := p.Listen(t.Context(), listenAddr(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}
