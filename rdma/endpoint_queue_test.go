package rdma_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fileserver/internal/slab"
	"fileserver/rdma"
	"fileserver/rdma/rdmatest/mem"
)

// message makes a chain of one SEND of n bytes.
func (s *side) message(n int) *rdma.SendOp {
	op := s.ep.NewSendOp()
	op.Send(s.buf(n), n)
	return op
}

func done(f func(error)) rdma.Completion { return rdma.CompletionFunc(f) }

// endBoth disconnects, and wants both sides to end in order.
func endBoth(t *testing.T, c, s *side) {
	t.Helper()
	c.ep.Disconnect(nil)
	if err := errors.Join(c.end(), s.end()); err != nil {
		t.Error(err)
	}
}

func TestPostWaitsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, p := pair(t, pairConfig{send: 2, recv: 32})
		p.Device(0).Inject(mem.Fault{At: mem.AtWork, Times: -1, Delay: time.Second})
		for i := range 6 { // every request takes a second, two may be in the queue
			go func() {
				if err := c.ep.Post(t.Context(), c.message(100+i)); err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
		}
		if st := c.ep.Stats(); st.SlotsUsed != 2 || st.SendsWaiting != 4 {
			t.Errorf("figures %+v", st)
		}
		// One that gives up leaves no gap, and does not reach the peer.
		ctx, cancel := context.WithTimeoutCause(t.Context(), 1500*time.Millisecond, errors.New("too late"))
		defer cancel()
		gone := c.message(1)
		gone.OnDone(done(func(error) { t.Error("the completion of a refused chain was called") }))
		if err := c.ep.Post(ctx, gone); err == nil || err.Error() != "too late" {
			t.Errorf("Post: %v", err)
		}
		for i := range 6 {
			b := <-s.got
			if b.Len() != 100+i {
				t.Errorf("message %d has %d bytes", i, b.Len())
			}
			b.Release()
		}
		time.Sleep(time.Second)
		if st := c.ep.Stats(); st.SlotsUsed != 0 || st.SendsWaiting != 0 || st.Sends != 6 || st.SendBytes != 615 {
			t.Errorf("figures %+v", st)
		}
		p.Device(0).Heal()
		endBoth(t, c, s)
	})
}

// TestGivingUpLetsOthersPass: the longest waits for the whole queue; when it gives
// up the short one behind it is posted at once.
func TestGivingUpLetsOthersPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, p := pair(t, pairConfig{send: 2, recv: 8})
		p.Device(0).Inject(mem.Fault{At: mem.AtWork, Delay: time.Hour})
		if err := c.ep.Post(t.Context(), c.message(1)); err != nil {
			t.Fatal(err)
		}
		target := s.buf(4096)
		ctx, cancel := context.WithCancel(t.Context())
		errs := make(chan error, 1)
		go func() {
			op := c.ep.NewSendOp()
			b := c.buf(20)
			if err := op.Write(b, 0, 20, []rdma.Segment{s.segment(target, 0, 10), s.segment(target, 50, 10)}); err != nil {
				t.Error(err)
			}
			errs <- c.ep.Post(ctx, op)
		}()
		synctest.Wait()
		small := c.message(2)
		if err := c.ep.Queue(small); err != nil {
			t.Fatal(err)
		}
		if st := c.ep.Stats(); st.SendsWaiting != 2 {
			t.Errorf("figures %+v", st)
		}
		cancel()
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if st := c.ep.Stats(); st.SendsWaiting != 0 || st.SlotsUsed != 2 {
			t.Errorf("figures %+v", st)
		}
		target.Release()
		endBoth(t, c, s)
	})
}

func TestChainLongerThanQueue(t *testing.T) {
	for _, depth := range []int{1, 2, 3, 8} {
		c, s, _ := pair(t, pairConfig{send: depth})
		const n = 50
		src, dst := c.buf(n*10), s.buf(n*10)
		fill(src.Bytes(), 1)
		clear(dst.Bytes())
		var segs []rdma.Segment
		for i := range n {
			segs = append(segs, s.segment(dst, i*10, 10))
		}
		ended := make(chan error, 2)
		for _, async := range []bool{false, true} {
			op := c.ep.NewSendOp()
			if err := op.Write(src.Retain(), 0, n*10, segs); err != nil {
				t.Fatal(err)
			}
			op.Send(c.buf(5), 5)
			op.OnDone(done(func(err error) { ended <- err }))
			post := func() error { return c.ep.Post(context.Background(), op) }
			if async {
				post = func() error { return c.ep.Queue(op) }
			}
			if err := post(); err != nil {
				t.Fatal(err)
			}
			b := <-s.got
			if string(dst.Bytes()) != string(src.Bytes()) {
				t.Error("the SEND has overtaken WRITEs")
			}
			clear(dst.Bytes())
			b.Release()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		src.Release()
		dst.Release()
		endBoth(t, c, s)
	}
}

// TestManyPosters has more goroutines than slots post, and counts.
func TestManyPosters(t *testing.T) {
	c, s, _ := pair(t, pairConfig{send: 3, recv: 16})
	const posters, each = 16, 40
	var arrived, completed atomic.Int64
	all := make(chan struct{})
	s.received = func(b *slab.Buf) {
		if err := s.ep.Repost(b); err != nil {
			t.Error(err)
		}
		if arrived.Add(1) == posters*each {
			close(all)
		}
	}
	var wg sync.WaitGroup
	for g := range posters {
		wg.Go(func() {
			for i := range each {
				op := c.message(1 + g*each + i)
				op.OnDone(done(func(err error) {
					if err != nil {
						t.Error(err)
					}
					completed.Add(1)
				}))
				if err := c.ep.Post(context.Background(), op); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	<-all
	endBoth(t, c, s)
	if n := completed.Load(); n != posters*each {
		t.Errorf("%d completions", n)
	}
}

// TestReadCredits: never more READs than negotiated, first come first served, and
// SENDs pass them by.
func TestReadCredits(t *testing.T) {
	const ord = 3
	synctest.Test(t, func(t *testing.T) {
		caps := mem.DefaultCaps()
		caps.MaxMsgSize = 1000 // a call of Read is several READs
		c, s, p := pair(t, pairConfig{ord: ord, send: 4, provider: mem.Config{StrictReads: true, Devices: []mem.DeviceConfig{{Caps: caps}}}})
		p.Device(0).HoldReads()
		src := c.buf(1 << 16)
		fill(src.Bytes(), 1)
		var order []int
		var sinks []*slab.Buf
		for i := range 5 {
			b := s.buf(3500)
			sinks = append(sinks, b)
			err := s.ep.Read(b, 100, []rdma.Segment{c.segment(src, i*3400, 2400), c.segment(src, i*3400+2400, 1000)}, done(func(err error) {
				if err != nil {
					t.Error(err)
				}
				order = append(order, i)
			}))
			if err != nil {
				t.Fatal(err)
			}
		}
		if st := s.ep.Stats(); st.ReadsOutstanding != ord || st.ReadCredits != ord || st.ReadsWaiting != 5 || p.Device(0).Outstanding() != ord {
			t.Errorf("figures %+v", st)
		}
		for range 10 { // a SEND needs no credit
			if err := s.ep.Post(t.Context(), s.message(7)); err != nil {
				t.Fatal(err)
			}
			b := <-c.got
			if err := c.ep.Repost(b); err != nil {
				t.Error(err)
			}
		}
		p.Device(0).ReleaseReads()
		synctest.Wait()
		if fmt.Sprint(order) != "[0 1 2 3 4]" {
			t.Errorf("done in the order %v", order)
		}
		for i, b := range sinks {
			if string(b.Bytes()[100:]) != string(src.Bytes()[i*3400:i*3400+3400]) {
				t.Errorf("read %d: wrong data", i)
			}
			b.Release()
		}
		if st := s.ep.Stats(); st.Reads != 5 || st.ReadBytes != 5*3400 || st.ReadsOutstanding != 0 || st.ReadsWaiting != 0 {
			t.Errorf("figures %+v", st)
		}
		src.Release()
		endBoth(t, c, s)
	})
}

func TestReadRefused(t *testing.T) {
	c, s, _ := pair(t, pairConfig{ord: 1})
	src, dst := c.buf(4096), s.buf(100)
	no := done(func(error) { t.Error("the completion of a refused Read was called") })
	for name, segs := range map[string][]rdma.Segment{
		"longer than the buffer": {c.segment(src, 0, 2000), c.segment(src, 0, 49)},
		"wraps":                  {{Addr: 1<<64 - 5, Length: 6}},
	} {
		if err := s.ep.Read(dst, 0, segs, no); !errors.Is(err, rdma.ErrSegments) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, off := range []int{-1, 2049} {
		if err := s.ep.Read(dst, off, nil, no); !errors.Is(err, rdma.ErrSegments) {
			t.Errorf("offset %d: %v", off, err)
		}
	}
	ended := false
	if err := s.ep.Read(dst, 0, []rdma.Segment{c.segment(src, 0, 0)}, done(func(err error) { ended = err == nil })); err != nil || !ended {
		t.Errorf("a Read of nothing: %v", err)
	}
	src.Release()
	dst.Release()
	endBoth(t, c, s)
	if err := s.ep.Read(dst, 0, nil, no); !errors.Is(err, rdma.ErrNotConnected) {
		t.Errorf("a Read after the end: %v", err)
	}
}

func TestReadNotNegotiated(t *testing.T) {
	c, s, _ := pair(t, pairConfig{ord: -1})
	src, dst := c.buf(10), s.buf(10)
	err := s.ep.Read(dst, 0, []rdma.Segment{c.segment(src, 0, 10)}, done(func(error) { t.Error("called") }))
	if !errors.Is(err, rdma.ErrUnsupported) {
		t.Errorf("Read: %v", err)
	}
	src.Release()
	dst.Release()
	endBoth(t, c, s)
}

// TestBadChains: what cannot be posted is refused, releases its buffers, and leaves
// the connection alone.
func TestBadChains(t *testing.T) {
	caps := mem.DefaultCaps()
	caps.MaxSGE, caps.SendInvalidate, caps.MaxMsgSize = 2, false, 5000
	c, s, _ := pair(t, pairConfig{provider: mem.Config{Devices: []mem.DeviceConfig{{Caps: caps}}}})
	foreign := slab.New(slab.Config{})
	target := s.buf(100)
	room := []rdma.Segment{s.segment(target, 0, 100)}
	for name, c2 := range map[string]struct {
		fill func(op *rdma.SendOp)
		want error
	}{
		"empty":           {func(*rdma.SendOp) {}, nil},
		"too little room": {func(op *rdma.SendOp) { _ = op.Write(c.buf(101), 0, 101, room) }, rdma.ErrSegments},
		"no room left": {func(op *rdma.SendOp) {
			_ = op.Write(c.buf(60), 0, 60, room)
			_ = op.WriteNext(c.buf(41), 0, 41)
		}, rdma.ErrSegments},
		"next without first": {func(op *rdma.SendOp) { _ = op.WriteNext(c.buf(1), 0, 1) }, rdma.ErrSegments},
		"wraps":              {func(op *rdma.SendOp) { _ = op.Write(c.buf(1), 0, 1, []rdma.Segment{{Addr: 1<<64 - 1, Length: 1}}) }, rdma.ErrSegments},
		"error is kept": {func(op *rdma.SendOp) {
			_ = op.Write(c.buf(101), 0, 101, room)
			op.Send(c.buf(1), 1)
		}, rdma.ErrSegments},
		"too many pieces": {func(op *rdma.SendOp) {
			for range 3 {
				op.Send(c.buf(1), 1)
			}
		}, nil},
		"too long":                 {func(op *rdma.SendOp) { op.Send(c.buf(5001), 5001) }, nil},
		"invalidation unsupported": {func(op *rdma.SendOp) { op.Send(c.buf(1), 1); op.Invalidate(5) }, rdma.ErrUnsupported},
		"invalidation alone":       {func(op *rdma.SendOp) { _ = op.Write(c.buf(1), 0, 1, room); op.Invalidate(5) }, nil},
		"another pool's buffer": {func(op *rdma.SendOp) {
			b, _ := foreign.TryGet(10)
			op.Send(b, 10)
		}, nil},
	} {
		for _, post := range []func(*rdma.SendOp) error{
			func(op *rdma.SendOp) error { return c.ep.Post(context.Background(), op) }, c.ep.Queue,
		} {
			op := c.ep.NewSendOp()
			op.OnDone(done(func(error) { t.Errorf("%s: the completion was called", name) }))
			c2.fill(op)
			if err := post(op); err == nil || c2.want != nil && !errors.Is(err, c2.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	op := c.ep.NewSendOp()
	op.Send(c.buf(1), 1)
	if op.Err() != nil {
		t.Error(op.Err())
	}
	op.Discard()
	if err := foreign.Close(); err != nil {
		t.Error(err)
	}
	// An empty message and an empty write are fine.
	op = c.ep.NewSendOp()
	if err := op.Write(c.buf(1), 0, 0, room); err != nil {
		t.Error(err)
	}
	op.Send(c.buf(1), 0)
	if err := c.ep.Post(context.Background(), op); err != nil {
		t.Error(err)
	}
	if b := <-s.got; b.Len() != 0 {
		t.Errorf("an empty message of %d bytes", b.Len())
	} else {
		b.Release()
	}
	target.Release()
	endBoth(t, c, s)
}

func TestRepost(t *testing.T) {
	c, s, _ := pair(t, pairConfig{recv: 2, recvSize: 3000})
	if err := s.ep.Repost(s.buf(3000)); !errors.Is(err, rdma.ErrQueueFull) {
		t.Errorf("one receive too many: %v", err)
	}
	if err := s.ep.Repost(s.buf(2000)); err == nil {
		t.Error("a receive that is too short was posted")
	}
	for i := range 20 {
		if err := c.ep.Post(context.Background(), c.message(1+i)); err != nil {
			t.Fatal(err)
		}
		b := <-s.got
		if i%2 == 0 {
			b.Release()
			b = s.buf(3000) // another in its place
		}
		if err := s.ep.Repost(b); err != nil {
			t.Error(err)
		}
		if n := s.ep.Stats().RecvsPosted; n != 2 {
			t.Errorf("%d receives posted", n)
		}
	}
	endBoth(t, c, s)
	b, ok := slab.New(slab.Config{}).TryGet(3000)
	if !ok || !errors.Is(s.ep.Repost(b), rdma.ErrNotConnected) {
		t.Error("Repost after the end")
	}
}
