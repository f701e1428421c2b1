package mem_test

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"fileserver/internal/slab"
	"fileserver/rdma"
	"fileserver/rdma/rdmatest"
	"fileserver/rdma/rdmatest/mem"
)

// TestPair joins two providers with different limits.
func TestPair(t *testing.T) {
	fabrics := map[string]*mem.Fabric{}
	open := func(caps rdma.Caps) rdmatest.Open {
		return func(t *testing.T) rdmatest.Harness {
			f := fabrics[t.Name()]
			if f == nil {
				f = mem.NewFabric()
				fabrics[t.Name()] = f
			}
			return rdmatest.Harness{Provider: mem.New(mem.Config{Fabric: f, StrictKeys: true, Devices: []mem.DeviceConfig{{Caps: caps}}})}
		}
	}
	rdmatest.RunPair(t, open(mem.RoCECaps()), open(mem.DefaultCaps()))
}

// node is one side of a connection, without an endpoint.
type node struct {
	t    *testing.T
	id   rdma.ID
	pd   rdma.PD
	cq   rdma.CQ
	qp   rdma.QP
	pool *slab.Pool
	buf  *slab.Buf
	mr   rdma.MR
}

func newNode(t *testing.T, id rdma.ID, depth int) *node {
	t.Helper()
	n := &node{t: t, id: id, pool: slab.New(slab.Config{Limit: slab.ArenaSize})}
	n.buf, _ = n.pool.TryGet(4096)
	var err [4]error
	n.pd, err[0] = id.Device().AllocPD()
	n.cq, err[1] = id.Device().CreateCQ(2 * depth)
	n.qp, err[2] = id.CreateQP(n.pd, rdma.QPConfig{SendCQ: n.cq, RecvCQ: n.cq, SendDepth: depth, RecvDepth: depth})
	n.mr, err[3] = n.pd.RegMR(n.buf.Bytes(), rdma.AccessLocalWrite|rdma.AccessRemoteRead|rdma.AccessRemoteWrite)
	if err := errors.Join(err[:]...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		n.id.Close()
		n.polled(100)
		n.buf.Release()
		if err := errors.Join(n.mr.Deregister(), n.cq.Close(), n.pd.Dealloc(), n.pool.Close()); err != nil {
			t.Error(err)
		}
	})
	return n
}

func (n *node) sge(off, k int) []rdma.SGE {
	return []rdma.SGE{{Addr: n.mr.Addr() + uint64(off), Length: uint32(k), LKey: n.mr.LKey()}}
}

func (n *node) send(op rdma.Opcode, flags rdma.SendFlags, to *node) error {
	return n.qp.PostSend([]rdma.SendWR{{ID: 1, Opcode: op, Flags: flags, SGL: n.sge(0, 8), RemoteAddr: to.mr.Addr(), RKey: to.mr.RKey()}})
}

func (n *node) recv() error { return n.qp.PostRecv([]rdma.RecvWR{{ID: 2, SGL: n.sge(100, 64)}}) }

// polled are the completions there are, at most most.
func (n *node) polled(most int) (st []rdma.Status) {
	wc := make([]rdma.WC, most)
	for _, c := range wc[:n.cq.Poll(wc)] {
		st = append(st, c.Status)
	}
	return st
}

func connect(t *testing.T, cfg mem.Config, retry int) (p *mem.Provider, c, s *node) {
	t.Helper()
	p = mem.New(cfg)
	l, err := p.Listen(t.Context(), netip.AddrPort{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	id, err := p.Resolve(t.Context(), l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	c = newNode(t, id, 4)
	connected := make(chan error, 1)
	go func() {
		connected <- id.Connect(context.Background(), rdma.ConnParams{IRD: 2, ORD: 2, RNRRetry: retry})
	}()
	sid, err := l.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s = newNode(t, sid, 4)
	if err := errors.Join(sid.Accept(rdma.ConnParams{IRD: 2, ORD: 2, RNRRetry: retry}), <-connected); err != nil {
		t.Fatal(err)
	}
	return p, c, s
}

func events(id rdma.ID) (types []rdma.EventType) {
	for {
		select {
		case ev, ok := <-id.Events():
			if !ok {
				return types
			}
			types = append(types, ev.Type)
		default:
			return types
		}
	}
}

func equal[T comparable](t *testing.T, what string, got []T, want ...T) {
	t.Helper()
	same := len(got) == len(want)
	for i := 0; same && i < len(got); i++ {
		same = got[i] == want[i]
	}
	if !same {
		t.Errorf("%s: %v, not %v", what, got, want)
	}
}

const signaled = rdma.SendSignaled

// TestSlots: a slot comes free when the completion is polled, and an unsignalled
// request's with the next signalled one.
func TestSlots(t *testing.T) {
	_, c, s := connect(t, mem.Config{}, 7)
	for i := range 4 {
		if err := c.send(rdma.OpWrite, 0, s); err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
	}
	if err := c.send(rdma.OpWrite, signaled, s); !errors.Is(err, rdma.ErrQueueFull) {
		t.Errorf("a fifth request, with nothing ever signalled: %v", err)
	}
	_, c, s = connect(t, mem.Config{}, 7)
	for range 3 {
		if err := c.send(rdma.OpWrite, 0, s); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.send(rdma.OpWrite, signaled, s); err != nil {
		t.Fatal(err)
	}
	if err := c.send(rdma.OpWrite, signaled, s); !errors.Is(err, rdma.ErrQueueFull) {
		t.Errorf("a fifth request, with nothing polled: %v", err)
	}
	equal(t, "completions", c.polled(9), rdma.StatusSuccess)
	for range 4 {
		if err := c.send(rdma.OpWrite, signaled, s); err != nil {
			t.Fatal(err)
		}
	}
	equal(t, "completions", c.polled(9), 0, 0, 0, 0)
}

func TestRNRRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c, s := connect(t, mem.Config{}, 3)
		for range 2 {
			if err := c.send(rdma.OpSend, signaled, s); err != nil {
				t.Fatal(err)
			}
			equal(t, "too early", c.polled(9))
			time.Sleep(2500 * time.Microsecond) // two more tries in vain
			if err := s.recv(); err != nil {    // does not wait for the timer's
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
			equal(t, "SEND", c.polled(9), rdma.StatusSuccess)
			equal(t, "RECV", s.polled(9), rdma.StatusSuccess)
		}
		if err := c.send(rdma.OpSend, signaled, s); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		equal(t, "SEND without RECV", c.polled(9), rdma.StatusRNRRetryExcErr)
		equal(t, "events", events(c.id), rdma.EventEstablished, rdma.EventFatal)
		equal(t, "events", events(s.id), rdma.EventEstablished, rdma.EventFatal)
	})
}

func TestLateEstablished(t *testing.T) {
	_, c, s := connect(t, mem.Config{LateEstablished: true}, 7)
	if err := s.recv(); err != nil {
		t.Fatal(err)
	}
	equal(t, "events before the first message", events(s.id))
	if err := c.send(rdma.OpSend, signaled, s); err != nil {
		t.Fatal(err)
	}
	equal(t, "RECV", s.polled(9), rdma.StatusSuccess)
	equal(t, "events after it", events(s.id), rdma.EventEstablished)
}

func TestStrictReads(t *testing.T) {
	p, c, s := connect(t, mem.Config{StrictReads: true}, 7)
	p.Device(0).HoldReads()
	for range 2 {
		if err := c.send(rdma.OpRead, signaled, s); err != nil {
			t.Fatal(err)
		}
	}
	if n := p.Device(0).Outstanding(); n != 2 {
		t.Errorf("%d READs outstanding", n)
	}
	if err := c.send(rdma.OpRead, signaled, s); err != nil {
		t.Fatal(err)
	}
	equal(t, "completions", c.polled(9), rdma.StatusWRFlushErr, rdma.StatusWRFlushErr, rdma.StatusWRFlushErr)
	equal(t, "events", events(c.id), rdma.EventEstablished, rdma.EventFatal)
}

// TestHeldReads: later SENDs pass READs by unless they are fenced; beyond the ORD
// everything stands still.
func TestHeldReads(t *testing.T) {
	p, c, s := connect(t, mem.Config{}, 7)
	p.Device(0).HoldReads()
	for range 2 {
		if err := s.recv(); err != nil {
			t.Fatal(err)
		}
	}
	step := func(op rdma.Opcode, flags rdma.SendFlags) {
		t.Helper()
		if err := c.send(op, flags, s); err != nil {
			t.Fatal(err)
		}
	}
	step(rdma.OpRead, signaled)
	step(rdma.OpSend, signaled)
	equal(t, "RECV", s.polled(9), rdma.StatusSuccess)
	equal(t, "SEND", c.polled(9), rdma.StatusSuccess)
	step(rdma.OpSend, signaled|rdma.SendFence)
	equal(t, "RECV before the READ", s.polled(9))
	p.Device(0).ReleaseReads()
	equal(t, "RECV after the READ", s.polled(9), rdma.StatusSuccess)
	equal(t, "READ, SEND", c.polled(9), 0, 0)

	p.Device(0).HoldReads()
	for range 3 {
		step(rdma.OpRead, signaled)
	}
	step(rdma.OpWrite, signaled)
	if n := p.Device(0).Outstanding(); n != 2 {
		t.Errorf("%d READs outstanding, ORD is 2", n)
	}
	equal(t, "a WRITE behind a READ without credit", c.polled(9))
	p.Device(0).ReleaseReads()
	equal(t, "all", c.polled(9), 0, 0, 0, 0)
}

func TestFaults(t *testing.T) {
	bad := errors.New("bad")
	t.Run("calls", func(t *testing.T) {
		p, c, s := connect(t, mem.Config{}, 7)
		d := p.Device(0)
		d.Inject(mem.Fault{At: mem.AtPostSend, Skip: 1, Times: 2, Err: bad})
		d.Inject(mem.Fault{At: mem.AtPostRecv, Err: bad})
		d.Inject(mem.Fault{At: mem.AtRegister, Err: bad})
		var errs []error
		for range 4 {
			errs = append(errs, c.send(rdma.OpWrite, signaled, s))
		}
		equal(t, "PostSend", errs, nil, bad, bad, nil)
		equal(t, "PostRecv", []error{s.recv(), s.recv()}, bad, nil)
		if _, err := c.pd.RegMR(c.buf.Bytes(), 0); err != bad {
			t.Errorf("RegMR: %v", err)
		}
	})
	t.Run("connect", func(t *testing.T) {
		p := mem.New(mem.Config{})
		p.Device(0).Inject(mem.Fault{At: mem.AtConnect, Times: -1, Err: bad})
		id, err := p.Resolve(t.Context(), netip.MustParseAddrPort("10.0.0.1:1"))
		if err != nil {
			t.Fatal(err)
		}
		n := newNode(t, id, 1)
		for range 2 {
			if err := n.id.Connect(t.Context(), rdma.ConnParams{}); err != bad {
				t.Errorf("Connect: %v", err)
			}
		}
		p.Device(0).Heal()
		if err := n.id.Connect(t.Context(), rdma.ConnParams{}); err == nil || err == bad {
			t.Errorf("Connect: %v", err)
		}
	})
	for name, c := range map[string]struct {
		fault  mem.Fault
		op     rdma.Opcode
		status rdma.Status
		event  rdma.EventType
	}{
		"drop":    {mem.Fault{Drop: true}, rdma.OpWrite, rdma.StatusWRFlushErr, rdma.EventDisconnected},
		"status":  {mem.Fault{Status: rdma.StatusRetryExcErr}, rdma.OpSend, rdma.StatusRetryExcErr, rdma.EventFatal},
		"bad key": {mem.Fault{BadKey: true}, rdma.OpRead, rdma.StatusRemAccessErr, rdma.EventFatal},
		"rnr":     {mem.Fault{RNR: true, Op: []rdma.Opcode{rdma.OpSend}}, rdma.OpSend, rdma.StatusRNRRetryExcErr, rdma.EventFatal},
	} {
		t.Run(name, func(t *testing.T) {
			p, a, b := connect(t, mem.Config{}, 0)
			if err := b.recv(); err != nil {
				t.Fatal(err)
			}
			p.Device(0).Inject(c.fault)
			if err := a.send(c.op, signaled, b); err != nil {
				t.Fatal(err)
			}
			equal(t, "completion", a.polled(9), c.status)
			equal(t, "RECV", b.polled(9), rdma.StatusWRFlushErr)
			equal(t, "events", events(a.id), rdma.EventEstablished, c.event)
			equal(t, "events", events(b.id), rdma.EventEstablished, c.event)
		})
	}
	t.Run("delay", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p, c, s := connect(t, mem.Config{}, 7)
			p.Device(0).Inject(mem.Fault{Delay: time.Minute})
			for range 2 {
				if err := c.send(rdma.OpWrite, signaled, s); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(59 * time.Second)
			equal(t, "too early", c.polled(9))
			time.Sleep(time.Second)
			synctest.Wait()
			equal(t, "completions", c.polled(9), 0, 0)
		})
	})
}

// TestIWARPCompletions: a WRITE that is refused may complete all the same, and the
// connection ends.
func TestIWARPCompletions(t *testing.T) {
	p, c, s := connect(t, mem.Config{Devices: []mem.DeviceConfig{{Caps: mem.IWARPCaps()}}}, 7)
	p.Device(0).Inject(mem.Fault{BadKey: true})
	if err := c.send(rdma.OpWrite, signaled, s); err != nil {
		t.Fatal(err)
	}
	equal(t, "WRITE", c.polled(9), rdma.StatusSuccess)
	equal(t, "events", events(c.id), rdma.EventEstablished, rdma.EventFatal)
}

func TestDevices(t *testing.T) {
	caps := mem.IWARPCaps()
	caps.Atomics, caps.Immediate, caps.SRQ = true, true, true
	p := mem.New(mem.Config{Devices: []mem.DeviceConfig{{Name: "a", Caps: caps}, {Addr: netip.MustParseAddr("10.1.2.3")}}})
	a, b := p.Device(0), p.Device(1)
	if c := a.Caps(); c.Atomics || c.Immediate || c.SRQ || c.MaxSGERead != 1 {
		t.Errorf("caps %+v", c)
	}
	if a.Name() != "a" || b.Name() != "mem1" || b.Addr().String() != "10.1.2.3" || b.Caps() != mem.DefaultCaps() {
		t.Errorf("devices %v %v", a, b)
	}
	all, err := p.Listen(t.Context(), netip.MustParseAddrPort("0.0.0.0:2049"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Listen(t.Context(), netip.MustParseAddrPort("10.1.2.3:2049")); err == nil {
		t.Error("an address was taken twice")
	}
	if _, err := p.Listen(t.Context(), netip.MustParseAddrPort("10.9.9.9:0")); err == nil {
		t.Error("an address of no device was taken")
	}
	go func() {
		id, err := all.Accept(context.Background())
		if err != nil {
			t.Error(err)
			return
		}
		if id.Device() != b {
			t.Errorf("accepted on %s", id.Device().Name())
		}
		if err := id.Reject(nil); err != nil {
			t.Error(err)
		}
	}()
	id, err := a.Resolve(netip.MustParseAddrPort("10.1.2.3:2049"))
	if err != nil {
		t.Fatal(err)
	}
	n := newNode(t, id, 1)
	var rejected *rdma.RejectedError
	if err := id.Connect(t.Context(), rdma.ConnParams{}); !errors.As(err, &rejected) {
		t.Error(err)
	}
	if err := all.Close(); err != nil {
		t.Error(err)
	}
	// Objects of another device, and queues larger than the completion queue.
	other, err := b.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := a.Resolve(netip.MustParseAddrPort("10.1.2.3:2049"))
	if err != nil {
		t.Fatal(err)
	}
	defer fresh.Close()
	small, err := a.CreateCQ(3)
	if err != nil {
		t.Fatal(err)
	}
	cfg := rdma.QPConfig{SendCQ: small, RecvCQ: small, SendDepth: 2, RecvDepth: 1}
	if _, err := fresh.CreateQP(other, cfg); err == nil {
		t.Error("another device's domain was accepted")
	}
	cfg.RecvDepth = 2
	if _, err := fresh.CreateQP(n.pd, cfg); err == nil {
		t.Error("a completion queue that is too small was accepted")
	}
	cfg.RecvDepth = 1
	if _, err := fresh.CreateQP(n.pd, cfg); err != nil {
		t.Error(err)
	}
	b.Remove()
	if d, _ := p.Devices(); len(d) != 1 || d[0] != a {
		t.Errorf("devices %v", d)
	}
	if _, err := b.Resolve(all.Addr()); !errors.Is(err, rdma.ErrDeviceRemoved) {
		t.Error(err)
	}
}
