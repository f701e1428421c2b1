package rdma_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fileserver/internal/slab"
	"fileserver/rdma"
	"fileserver/rdma/rdmatest/mem"
)

// load makes everything an endpoint does happen at once, on both sides, and
// returns how many completions are owed and how many came.
func load(t *testing.T, c, s *side, shared *slab.Buf) (owed, came *atomic.Int64) {
	owed, came = new(atomic.Int64), new(atomic.Int64)
	end := done(func(error) { came.Add(1) })
	recycle := func(x *side) func(*slab.Buf) {
		return func(b *slab.Buf) { _ = x.ep.Repost(b) }
	}
	c.received, s.received = recycle(c), recycle(s)
	segs := []rdma.Segment{c.segment(shared, 0, 3000), c.segment(shared, 3000, 1), c.segment(shared, 3001, 5000)}
	for i := range 12 {
		if c.ep.Queue(c.message(1+i)) != nil {
			break
		}
		op := s.ep.NewSendOp()
		_ = op.Write(s.buf(8000), 0, 8000, segs)
		op.Send(s.buf(10), 10)
		op.OnDone(end)
		if i%3 == 0 {
			if s.ep.Queue(op) == nil {
				owed.Add(1)
			}
		} else {
			go func() {
				if s.ep.Post(context.Background(), op) == nil {
					owed.Add(1)
				}
			}()
		}
		b := s.buf(8001)
		if s.ep.Read(b, 0, segs, done(func(error) {
			came.Add(1)
			b.Release()
		})) == nil {
			owed.Add(1)
		} else {
			b.Release()
		}
	}
	return owed, came
}

// TestFaults lets each kind of fault strike at each step of the same load. Whatever
// happens: every completion comes once, every buffer comes back, Closed is called
// once on both sides.
func TestFaults(t *testing.T) {
	for name, f := range map[string]mem.Fault{
		"drop":      {Drop: true},
		"flush":     {Status: rdma.StatusWRFlushErr},
		"failure":   {Status: rdma.StatusRetryExcErr},
		"bad key":   {BadKey: true},
		"rnr":       {RNR: true},
		"full":      {At: mem.AtPostSend, Err: rdma.ErrQueueFull},
		"post":      {At: mem.AtPostSend, Err: errors.New("bad request")},
		"post recv": {At: mem.AtPostRecv, Err: errors.New("bad receive")},
		"delay":     {Delay: 10 * time.Second, Times: 3},
	} {
		for _, caps := range []rdma.Caps{mem.DefaultCaps(), mem.IWARPCaps()} {
			for _, skip := range []int{0, 1, 2, 3, 4, 5, 6, 7, 9, 11, 14, 18, 23, 29, 36} {
				synctest.Test(t, func(t *testing.T) {
					c, s, p := pair(t, pairConfig{send: 4, recv: 16, ord: 2, provider: mem.Config{Devices: []mem.DeviceConfig{{Caps: caps}}}})
					shared := c.buf(8001)
					f.Skip = skip
					p.Device(0).Inject(f)
					owed, came := load(t, c, s, shared)
					time.Sleep(time.Minute)
					synctest.Wait()
					c.ep.Disconnect(nil)
					err := errors.Join(c.ended(shared), s.end())
					if owed.Load() != came.Load() {
						t.Errorf("%s after %d: %d completions, %d came", name, skip, owed.Load(), came.Load())
					}
					if err != nil && (name == "drop" || name == "delay") {
						t.Errorf("%s after %d: %v", name, skip, err)
					}
				})
			}
		}
	}
}

// ended is end, with one more buffer to release.
func (s *side) ended(b *slab.Buf) error {
	s.t.Helper()
	<-s.ep.Done()
	b.Release()
	return s.end()
}

// TestErrorsReachEverybody: what the handler and the completions are told.
func TestErrorsReachEverybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, p := pair(t, pairConfig{send: 1})
		p.Device(0).Inject(mem.Fault{Op: []rdma.Opcode{rdma.OpWrite}, Status: rdma.StatusRemAccessErr})
		target := s.buf(10)
		op := c.ep.NewSendOp()
		_ = op.Write(c.buf(10), 0, 10, []rdma.Segment{s.segment(target, 0, 10)})
		first := make(chan error, 1)
		op.OnDone(done(func(err error) { first <- err }))
		if err := c.ep.Post(t.Context(), op); err != nil {
			t.Fatal(err)
		}
		want := rdma.CompletionError{Opcode: rdma.OpWrite, Status: rdma.StatusRemAccessErr}
		var got *rdma.CompletionError
		if err := <-first; !errors.As(err, &got) || *got != want {
			t.Errorf("completion: %v, not %v", err, &want)
		}
		// The reason is the completion's error or the event's, whichever was first.
		after := c.ep.Post(t.Context(), c.message(1))
		if after == nil || !strings.Contains(after.Error(), want.Status.String()) {
			t.Errorf("Post afterwards: %v", after)
		}
		if err := c.end(); err != after {
			t.Errorf("Closed: %v, not %v", err, after)
		}
		target.Release()
		if err := s.end(); err == nil {
			t.Error("the other side is not told that the connection failed")
		}
	})
}

func TestDeviceRemoval(t *testing.T) {
	c, s, p := pair(t, pairConfig{})
	p.Device(0).Remove()
	for _, x := range []*side{c, s} {
		if err := x.end(); err != nil && !errors.Is(err, rdma.ErrDeviceRemoved) {
			t.Error(err)
		}
	}
	if _, err := p.Device(0).AllocPD(); !errors.Is(err, rdma.ErrDeviceRemoved) {
		t.Error(err)
	}
	if d, _ := p.Devices(); len(d) != 0 {
		t.Errorf("devices %v", d)
	}
}

func TestRunEndsWithContext(t *testing.T) {
	p := mem.New(mem.Config{})
	l, err := p.Listen(context.Background(), netip.AddrPort{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	id, err := p.Resolve(context.Background(), l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	s := newSide(t, pairConfig{send: 1, recv: 1, recvSize: 100}, id)
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	s.ep.Run(ctx)
	s.ep.Run(context.Background()) // waits, and does nothing
	if err := s.end(); err != why {
		t.Errorf("Closed: %v", err)
	}
}

// TestDisconnectBeforeStart is a connection that is never made.
func TestDisconnectBeforeStart(t *testing.T) {
	p := mem.New(mem.Config{})
	id, err := p.Resolve(context.Background(), netip.MustParseAddrPort("10.9.9.9:1"))
	if err != nil {
		t.Fatal(err)
	}
	s := newSide(t, pairConfig{send: 1, recv: 4, recvSize: 100}, id)
	err = id.Connect(context.Background(), rdma.ConnParams{})
	var rejected *rdma.RejectedError
	if !errors.As(err, &rejected) {
		t.Fatal(err)
	}
	s.ep.Disconnect(err)
	if got := s.end(); got != err {
		t.Errorf("Closed: %v", got)
	}
}

// TestNoMemory: a connection for which there is no memory leaves nothing behind, and
// the ID can still be answered.
func TestNoMemory(t *testing.T) {
	p := mem.New(mem.Config{})
	l, err := p.Listen(context.Background(), netip.AddrPort{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cid, err := p.Resolve(context.Background(), l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	c := newSide(t, pairConfig{send: 1, recv: 1, recvSize: 100}, cid)
	go func() {
		id, err := l.Accept(context.Background())
		if err != nil {
			t.Error(err)
			return
		}
		pool := slab.New(slab.Config{Limit: slab.ArenaSize})
		pd, _ := id.Device().AllocPD()
		m, err := rdma.NewMemory(pd, pool, rdma.AccessLocalWrite)
		if err != nil {
			t.Error(err)
			return
		}
		_, err = rdma.NewEndpoint(id, rdma.EndpointConfig{Memory: m, SendDepth: 1, RecvDepth: 17, RecvSize: 1 << 20, Handler: c})
		if !errors.Is(err, rdma.ErrNoMemory) || len(pool.Leaks()) != 0 {
			t.Errorf("NewEndpoint: %v; %d buffers leaked", err, len(pool.Leaks()))
		}
		if err := errors.Join(id.Reject([]byte("full")), m.Close(), pd.Dealloc(), pool.Close()); err != nil {
			t.Error(err)
		}
	}()
	err = cid.Connect(context.Background(), rdma.ConnParams{})
	var rejected *rdma.RejectedError
	if !errors.As(err, &rejected) || string(rejected.PrivateData) != "full" {
		t.Errorf("Connect: %v", err)
	}
	c.ep.Disconnect(nil)
	if err := c.end(); err != nil {
		t.Error(err)
	}
}

// TestReceiveFailsInNewEndpoint: half of the receives are posted when one fails.
func TestReceiveFailsInNewEndpoint(t *testing.T) {
	p := mem.New(mem.Config{})
	p.Device(0).Inject(mem.Fault{At: mem.AtPostRecv, Skip: 3, Err: rdma.ErrQueueFull})
	id, err := p.Resolve(context.Background(), netip.MustParseAddrPort("10.9.9.9:1"))
	if err != nil {
		t.Fatal(err)
	}
	pool := slab.New(slab.Config{})
	pd, _ := id.Device().AllocPD()
	m, err := rdma.NewMemory(pd, pool, rdma.AccessLocalWrite)
	if err != nil {
		t.Fatal(err)
	}
	_, err = rdma.NewEndpoint(id, rdma.EndpointConfig{Memory: m, SendDepth: 1, RecvDepth: 7, RecvSize: 100, Handler: &side{}})
	if !errors.Is(err, rdma.ErrQueueFull) {
		t.Error(err)
	}
	if err := errors.Join(id.Close(), m.Close(), pd.Dealloc(), pool.Close()); err != nil {
		t.Error(err)
	}
}

// deaf is an ID whose completion queue loses the flushes: a broken provider.
type deaf struct{ rdma.ID }

type deafDevice struct{ rdma.Device }

type deafCQ struct{ rdma.CQ }

func (d deaf) Device() rdma.Device { return deafDevice{d.ID.Device()} }

func (d deafDevice) CreateCQ(n int) (rdma.CQ, error) {
	cq, err := d.Device.CreateCQ(n)
	return deafCQ{cq}, err
}

func (d deaf) CreateQP(pd rdma.PD, c rdma.QPConfig) (rdma.QP, error) {
	c.SendCQ, c.RecvCQ = c.SendCQ.(deafCQ).CQ, c.RecvCQ.(deafCQ).CQ
	return d.ID.CreateQP(pd, c)
}

func (q deafCQ) Poll(wc []rdma.WC) (n int) {
	for _, c := range wc[:q.CQ.Poll(wc)] {
		if c.Status == rdma.StatusSuccess {
			wc[n] = c
			n++
		}
	}
	return n
}

// TestLostFlushes: the endpoint waits, then closes the ID, and gives everything back.
func TestLostFlushes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, p := pair(t, pairConfig{wrap: func(id rdma.ID) rdma.ID { return deaf{id} }, send: 3, ord: 2})
		p.Device(0).HoldReads()
		p.Device(0).Inject(mem.Fault{Op: []rdma.Opcode{rdma.OpSend}, Delay: time.Hour, Times: -1})
		var came atomic.Int64
		end := done(func(err error) {
			if err == nil {
				t.Error("a request that was lost succeeded")
			}
			came.Add(1)
		})
		src, dst := c.buf(100), s.buf(100)
		for range 5 {
			if err := s.ep.Read(dst, 0, []rdma.Segment{c.segment(src, 0, 100)}, end); err != nil {
				t.Error(err)
			}
			op := s.message(1)
			op.OnDone(end)
			if err := s.ep.Queue(op); err != nil {
				t.Error(err)
			}
		}
		s.ep.Disconnect(nil)
		src.Release()
		dst.Release()
		if err := errors.Join(c.end(), s.end()); err != nil {
			t.Error(err)
		}
		if came.Load() != 10 {
			t.Errorf("%d completions of 10", came.Load())
		}
	})
}
