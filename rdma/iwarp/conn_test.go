package iwarp

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"fileserver/rdma"
)

// TestDisconnectSendsWhatIsPosted: megabytes posted before Disconnect arrive.
func TestDisconnectSendsWhatIsPosted(t *testing.T) {
	c, s := connect(t, Config{}, Config{})
	const n = 4 << 20
	fill(c.mem[:n], 5)
	s.recv(1, 0, 8)
	s.recv(2, 0, 8)
	c.recv(3, n, 8)
	for i := range 16 {
		c.post(rdma.SendWR{Opcode: rdma.OpWrite, SGL: c.sgl(i*n/16, n/16), RemoteAddr: s.mr.Addr() + uint64(n+i*n/16), RKey: s.mr.RKey()})
	}
	c.post(rdma.SendWR{ID: 9, Opcode: rdma.OpSend, Flags: rdma.SendSignaled})
	if err := c.id.Disconnect(); err != nil {
		t.Fatal(err)
	}
	if err := c.qp.PostSend([]rdma.SendWR{{Opcode: rdma.OpSend}}); !errors.Is(err, rdma.ErrNotConnected) {
		t.Errorf("PostSend after Disconnect: %v", err)
	}
	s.want(1, rdma.OpRecv, rdma.StatusSuccess)
	if !bytes.Equal(s.mem[n:2*n], c.mem[:n]) {
		t.Error("data that was posted before Disconnect is missing")
	}
	s.want(2, rdma.OpRecv, rdma.StatusWRFlushErr)
	c.want(9, rdma.OpSend, rdma.StatusSuccess)
	c.want(3, rdma.OpRecv, rdma.StatusWRFlushErr)
	for _, e := range []*end{c, s} {
		if ev := e.wantEvent(rdma.EventDisconnected); ev.Err != nil {
			t.Error(ev.Err)
		}
		if _, ok := <-e.id.Events(); ok {
			t.Error("an event behind the last")
		}
	}
	if err := c.qp.PostRecv([]rdma.RecvWR{{}}); !errors.Is(err, rdma.ErrNotConnected) {
		t.Errorf("PostRecv after the end: %v", err)
	}
}

// TestFlushOrder: everything outstanding comes back, in the order posted.
func TestFlushOrder(t *testing.T) {
	r, e, _ := attachRaw(t, Config{}, depthRequest(4, 0), nil)
	r.open()
	for i := range uint64(5) {
		e.recv(100+i, 0, 8)
	}
	sig := rdma.SendSignaled
	e.post(
		rdma.SendWR{ID: 1, Opcode: rdma.OpRead, SGL: e.sgl(0, 8)}, // unsignalled: comes back all the same
		rdma.SendWR{ID: 2, Opcode: rdma.OpSend, Flags: sig},       // sent, but behind the READ
		rdma.SendWR{ID: 3, Opcode: rdma.OpRead, Flags: sig, SGL: e.sgl(0, 8)},
		rdma.SendWR{ID: 4, Opcode: rdma.OpSend, Flags: rdma.SendFence},
		rdma.SendWR{ID: 5, Opcode: rdma.OpWrite, Flags: sig},
	)
	for range 3 {
		r.segment()
	}
	_ = r.c.Close()
	e.want(1, rdma.OpRead, rdma.StatusWRFlushErr)
	e.want(2, rdma.OpSend, rdma.StatusSuccess)
	e.want(3, rdma.OpRead, rdma.StatusWRFlushErr)
	e.want(4, rdma.OpSend, rdma.StatusWRFlushErr)
	e.want(5, rdma.OpWrite, rdma.StatusWRFlushErr)
	for i := range uint64(5) {
		e.want(100+i, rdma.OpRecv, rdma.StatusWRFlushErr)
	}
}

// TestStall: a peer that stops reading loses its connection; the time to close
// in order is bounded, too.
func TestStall(t *testing.T) {
	for reason, end := range map[Reason]func(*end){ReasonStalled: func(*end) {}, ReasonCloseTimeout: func(e *end) { _ = e.id.Disconnect() }} {
		cfg := Config{StallTimeout: 100 * time.Millisecond}
		if reason == ReasonCloseTimeout {
			cfg = Config{CloseTimeout: 100 * time.Millisecond}
		}
		r, e, _ := attachRaw(t, cfg, nil, nil)
		_ = r.c.SetReadBuffer(4096)
		r.open()
		for id := range uint64(endDepth) {
			e.post(rdma.SendWR{ID: id, Opcode: rdma.OpWrite, SGL: e.sgl(0, endMem), RKey: 1})
		}
		for e.p.Stats().TxWaits == 0 {
			time.Sleep(time.Millisecond)
		}
		end(e)
		reasonCounted(t, e.p, reason)
		e.wantEvent(rdma.EventEstablished)
		if ev := e.event(); ev.Err == nil {
			t.Errorf("%v: event %+v", reason, ev)
		}
		var last uint64
		for {
			wc := e.next() // unsignalled: only the flushed ones come
			if wc.Status != rdma.StatusWRFlushErr || last != 0 && wc.ID != last+1 {
				t.Fatalf("completion %+v behind %d", wc, last)
			}
			if last = wc.ID; last == endDepth-1 {
				break
			}
		}
	}
}

// TestDeregisterUnderREAD: memory can go away under a peer's READ without a crash.
func TestDeregisterUnderREAD(t *testing.T) {
	r, e, _ := attachRaw(t, Config{}, depthRequest(0, 4), nil)
	mr, err := e.pd.RegMR(e.mem, rdma.AccessRemoteRead)
	if err != nil {
		t.Fatal(err)
	}
	r.fpdu(readSeg(1, readRequest{size: endMem, srcSTag: mr.RKey(), srcTO: mr.Addr()}))
	for e.p.Stats().TxWaits == 0 {
		time.Sleep(time.Millisecond)
	}
	if err := mr.Deregister(); err != nil {
		t.Fatal(err)
	}
	if err := mr.Deregister(); !errors.Is(err, rdma.ErrClosed) {
		t.Errorf("second Deregister: %v", err)
	}
	buf := make([]byte, 1<<20)
	for { // let it go on, into the void
		if _, err := r.c.Read(buf); err != nil {
			break
		}
	}
	reasonCounted(t, e.p, ReasonRegionGone)
	e.wantEvent(rdma.EventEstablished)
	e.wantEvent(rdma.EventFatal)
}

func TestInvalidation(t *testing.T) {
	c, s := connect(t, Config{}, Config{})
	mr, err := c.pd.RegMR(c.mem[:4096], allAcc)
	if err != nil {
		t.Fatal(err)
	}
	c.recv(1, 0, 8)
	s.post(rdma.SendWR{Opcode: rdma.OpSendInvalidate, Invalidate: mr.RKey(), Flags: rdma.SendSolicited})
	if wc := c.want(1, rdma.OpRecv, rdma.StatusSuccess); !wc.Invalidated || wc.InvKey != mr.RKey() {
		t.Errorf("completion %+v", wc)
	}
	s.post(rdma.SendWR{ID: 2, Opcode: rdma.OpRead, SGL: s.sgl(0, 8), RemoteAddr: mr.Addr(), RKey: mr.RKey()})
	s.want(2, rdma.OpRead, rdma.StatusRemAccessErr)
	reasonCounted(t, c.p, ReasonReadAccess)
	if err := mr.Deregister(); err != nil {
		t.Error(err)
	}
}

// TestKeys: neither addresses nor keys tell about the process, and keys are not reused at once.
func TestKeys(t *testing.T) {
	p := testProvider(t, Config{})
	pd, _ := p.dev.AllocPD()
	mem := make([]byte, 64)
	seen := map[uint32]bool{}
	for range 2000 {
		mr, err := pd.RegMR(mem, rdma.AccessRemoteRead)
		if err != nil {
			t.Fatal(err)
		}
		if k := mr.RKey(); k == 0 || k&sinkSTagBit != 0 || p.dev.keys.lookup(k) != mr.(*region) || p.dev.keys.lookup(k^1) != nil {
			t.Fatalf("key %#x", k)
		}
		seen[mr.RKey()] = true
		if err := pd.Dealloc(); !errors.Is(err, rdma.ErrBusy) {
			t.Fatalf("Dealloc with a region: %v", err)
		}
		if err := mr.Deregister(); err != nil || p.dev.keys.lookup(mr.RKey()) != nil {
			t.Fatal("a region that is deregistered is found", err)
		}
	}
	if len(seen) < 1990 {
		t.Errorf("%d keys of 2000 differ", len(seen))
	}
	if err := pd.Dealloc(); err != nil {
		t.Error(err)
	}
	if _, err := pd.RegMR(mem, rdma.AccessRemoteAtomic); !errors.Is(err, rdma.ErrUnsupported) {
		t.Errorf("atomics: %v", err)
	}
}

func TestCQ(t *testing.T) {
	q := newCQ()
	for i := range uint64(500) { // more than asked for: nothing is lost
		q.push(rdma.WC{ID: i})
		if i%3 == 0 {
			var wc [1]rdma.WC
			if q.Poll(wc[:]) != 1 || wc[0].ID != i/3 {
				t.Fatalf("%+v", wc)
			}
		}
	}
	wc := make([]rdma.WC, 1000)
	if n := q.Poll(wc); n != 333 || wc[0].ID != 167 || wc[332].ID != 499 {
		t.Fatalf("%d completions, %+v", n, wc[0])
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("why")
	time.AfterFunc(10*time.Millisecond, func() { cancel(why) })
	if err := q.Wait(ctx); !errors.Is(err, why) {
		t.Errorf("Wait: %v", err)
	}
	time.AfterFunc(10*time.Millisecond, func() { q.push(rdma.WC{}) })
	if err := q.Wait(context.Background()); err != nil || q.Poll(wc) != 1 {
		t.Errorf("Wait: %v", err)
	}
	q.use(1)
	if err := q.Close(); !errors.Is(err, rdma.ErrBusy) {
		t.Errorf("Close in use: %v", err)
	}
	q.use(-1)
	time.AfterFunc(10*time.Millisecond, func() { _ = q.Close() })
	if err := q.Wait(context.Background()); !errors.Is(err, rdma.ErrClosed) {
		t.Errorf("Wait on a closed queue: %v", err)
	}
}

// TestAllocs: the steady state allocates nothing, whatever is sent.
func TestAllocs(t *testing.T) {
	c, s := connect(t, Config{}, Config{})
	read := []rdma.SendWR{{ID: 3, Opcode: rdma.OpRead, Flags: rdma.SendSignaled, SGL: c.sgl(0, 100_000), RemoteAddr: s.mr.Addr(), RKey: s.mr.RKey()}}
	chain := []rdma.SendWR{
		{Opcode: rdma.OpWrite, SGL: []rdma.SGE{c.sge(0, 50_000), c.sge(60_000, 5000)}, RemoteAddr: s.mr.Addr(), RKey: s.mr.RKey()},
		{ID: 2, Opcode: rdma.OpSend, Flags: rdma.SendSignaled, SGL: c.sgl(0, 4096)},
	}
	recvs := []rdma.RecvWR{{ID: 1, SGL: s.sgl(0, 4096)}}
	wc := make([]rdma.WC, 4)
	ctx := context.Background()
	take := func(e *end) {
		for e.cq.Poll(wc) == 0 {
			_ = e.cq.Wait(ctx)
		}
	}
	round := func() {
		_ = s.qp.PostRecv(recvs)
		_ = c.qp.PostSend(chain)
		take(s)
		take(c)
		_ = c.qp.PostSend(read)
		take(c)
	}
	for range 200 {
		round()
	}
	// Others' background work may allocate; a leak of ours would show in every round.
	if n := testing.AllocsPerRun(300, round); n >= slack {
		t.Errorf("%v allocations in a round of RECV, WRITE, SEND and READ", n)
	}
}

// TestIdleMemory: a connection that is idle holds no buffers.
func TestIdleMemory(t *testing.T) {
	const conns = 32
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	ctx := context.Background()
	sp, l := listenRaw(t, Config{})
	cp := testProvider(t, Config{})
	before := heap()
	for range conns {
		cid, err := cp.Resolve(ctx, l.Addr())
		if err != nil {
			t.Fatal(err)
		}
		for i, id := range []rdma.ID{cid, nil} {
			if i == 1 {
				done := make(chan error, 1)
				go func() { done <- cid.Connect(ctx, testParams) }()
				id = acceptID(t, l)
				idleQP(t, sp, id)
				if err := errors.Join(id.Accept(testParams), <-done); err != nil {
					t.Fatal(err)
				}
			} else {
				idleQP(t, cp, id)
			}
		}
	}
	per := float64(heap()-before) / (2 * conns)
	t.Logf("%.0f bytes on the heap and stacks per idle connection end, 128 receives and 256 sends deep", per)
	if per > slack*48<<10 {
		t.Errorf("%.0f bytes per idle connection end", per)
	}
}

func idleQP(t *testing.T, p *Provider, id rdma.ID) {
	pd, _ := p.dev.AllocPD()
	cq, _ := p.dev.CreateCQ(384)
	if _, err := id.CreateQP(pd, rdma.QPConfig{SendCQ: cq, RecvCQ: cq, SendDepth: 256, RecvDepth: 128, MaxSendSGE: 16}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = id.Close() })
}
