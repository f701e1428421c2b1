package iwarp

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fileserver/internal/slab"
	"fileserver/rdma"
	"fileserver/rdma/rdmatest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var loopback = netip.MustParseAddrPort("127.0.0.1:0")

// end is one side of a test connection, with memory registered for everything.
type end struct {
	t    testing.TB
	p    *Provider
	dev  rdma.Device
	pd   rdma.PD
	cq   rdma.CQ
	id   rdma.ID
	qp   rdma.QP
	pool *slab.Pool
	buf  *slab.Buf
	mem  []byte
	mr   rdma.MR
}

const (
	endMem   = 8 << 20
	endDepth = 128
	allAcc   = rdma.AccessLocalWrite | rdma.AccessRemoteRead | rdma.AccessRemoteWrite
)

func testProvider(t testing.TB, cfg Config) *Provider {
	t.Helper()
	cfg.Log = rdmatest.Log()
	p, err := New(cfg)
	return rdmatest.Opened(t, p, err)
}

// newEnd gives an ID everything it needs.
func newEnd(t testing.TB, p *Provider, id rdma.ID) *end {
	t.Helper()
	e := &end{t: t, p: p, dev: id.Device(), id: id}
	var err error
	check := func() {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	e.pd, err = e.dev.AllocPD()
	check()
	e.cq, err = e.dev.CreateCQ(2 * endDepth)
	check()
	e.qp, err = id.CreateQP(e.pd, rdma.QPConfig{
		SendCQ: e.cq, RecvCQ: e.cq, SendDepth: endDepth, RecvDepth: endDepth, MaxSendSGE: 16, MaxRecvSGE: 16, MaxInline: 256,
	})
	check()
	e.pool = slab.New(slab.Config{Limit: slab.ArenaSize})
	e.buf, err = e.pool.Get(context.Background(), endMem)
	check()
	e.mem = e.buf.Bytes()
	e.mr, err = e.pd.RegMR(e.mem, allAcc)
	check()
	t.Cleanup(e.close)
	return e
}

func (e *end) close() {
	check := func(err error) {
		if err != nil {
			e.t.Error(err)
		}
	}
	check(e.id.Close())
	check(e.mr.Deregister())
	check(e.cq.Close())
	check(e.pd.Dealloc())
	e.buf.Release()
	if l := e.pool.Leaks(); len(l) > 0 {
		e.t.Error(l)
	}
	check(e.pool.Close())
}

func (e *end) sge(off, n int) rdma.SGE {
	return rdma.SGE{Addr: e.mr.Addr() + uint64(off), Length: uint32(n), LKey: e.mr.LKey()}
}

func (e *end) sgl(off, n int) []rdma.SGE { return []rdma.SGE{e.sge(off, n)} }

func (e *end) recv(id uint64, off, n int) {
	e.t.Helper()
	if err := e.qp.PostRecv([]rdma.RecvWR{{ID: id, SGL: e.sgl(off, n)}}); err != nil {
		e.t.Fatal(err)
	}
}

func (e *end) post(wrs ...rdma.SendWR) {
	e.t.Helper()
	if err := e.qp.PostSend(wrs); err != nil {
		e.t.Fatal(err)
	}
}

// next is the next completion.
func (e *end) next() rdma.WC {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var wc [1]rdma.WC
	for e.cq.Poll(wc[:]) == 0 {
		if err := e.cq.Wait(ctx); err != nil {
			e.t.Fatalf("no completion: %v", err)
		}
	}
	return wc[0]
}

// want takes the next completion and compares it.
func (e *end) want(id uint64, op rdma.Opcode, s rdma.Status) rdma.WC {
	e.t.Helper()
	wc := e.next()
	if wc.ID != id || wc.Opcode != op || wc.Status != s {
		e.t.Fatalf("completion %+v, want ID %d, %v, %v", wc, id, op, s)
	}
	return wc
}

func (e *end) event() rdma.Event {
	e.t.Helper()
	select {
	case ev := <-e.id.Events():
		return ev
	case <-time.After(10 * time.Second):
		e.t.Fatal("no event")
		panic("unreachable")
	}
}

func (e *end) wantEvent(typ rdma.EventType) rdma.Event {
	e.t.Helper()
	ev := e.event()
	if ev.Type != typ {
		e.t.Fatalf("event %+v, want type %d", ev, typ)
	}
	return ev
}

var testParams = rdma.ConnParams{IRD: 8, ORD: 8}

// connect makes a connection: client and server, by two providers.
func connect(t testing.TB, ccfg, scfg Config) (c, s *end) {
	t.Helper()
	return connectWith(t, ccfg, scfg, nil)
}

// connectWith calls prepare with both ends before they are connected.
func connectWith(t testing.TB, ccfg, scfg Config, prepare func(c, s *end)) (c, s *end) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	sp, cp := testProvider(t, scfg), testProvider(t, ccfg)
	l, err := sp.Listen(ctx, loopback)
	if err != nil {
		t.Fatal(err)
	}
	cid, err := cp.Resolve(ctx, l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	c = newEnd(t, cp, cid)
	done := make(chan error, 1)
	go func() { done <- cid.Connect(ctx, testParams) }()
	sid, err := l.Accept(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s = newEnd(t, sp, sid)
	if prepare != nil {
		prepare(c, s)
	}
	if err := sid.Accept(testParams); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	c.wantEvent(rdma.EventEstablished)
	s.wantEvent(rdma.EventEstablished)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return c, s
}
