package rdma_test

import (
	"context"
	"testing"

	"fileserver/internal/slab"
	"fileserver/rdma"
	"fileserver/rdma/rdmatest/mem"
)

// exchange is what a transport does for one READ or WRITE of a client's, with
// everything reused: a call arrives, data is read from the client, written back,
// and the reply sent.
type exchange struct {
	c, s     *side
	segs     []rdma.Segment
	src      *slab.Buf
	data     *slab.Buf
	finished chan struct{}
	err      error
	size     int
}

func newExchange(t testing.TB, size int) *exchange {
	x := &exchange{size: size, finished: make(chan struct{}, 1)}
	x.c, x.s, _ = pair(t, pairConfig{provider: mem.Config{}})
	x.src = x.c.buf(size)
	fill(x.src.Bytes(), 1)
	x.segs = []rdma.Segment{x.c.segment(x.src, 0, size/2), x.c.segment(x.src, size/2, size-size/2)}
	x.s.received = func(b *slab.Buf) {
		x.note(x.s.ep.Repost(b))
		var err error
		x.data, err = x.s.pool.Get(context.Background(), size)
		x.note(err)
		x.note(x.s.ep.Read(x.data, 0, x.segs, (*readDone)(x)))
	}
	x.c.received = func(b *slab.Buf) {
		x.note(x.c.ep.Repost(b))
		x.finished <- struct{}{}
	}
	return x
}

func (x *exchange) note(err error) {
	if err != nil && x.err == nil {
		x.err = err
	}
}

type readDone exchange

// Completed implements rdma.Completion.
func (r *readDone) Completed(err error) {
	x := (*exchange)(r)
	x.note(err)
	op := x.s.ep.NewSendOp()
	_ = op.Write(x.data, 0, x.size, x.segs)
	head, err := x.s.pool.Get(context.Background(), 100)
	x.note(err)
	op.Send(head, 100)
	op.OnDone((*sendDone)(x))
	x.note(x.s.ep.Queue(op))
}

type sendDone exchange

// Completed implements rdma.Completion.
func (d *sendDone) Completed(err error) { (*exchange)(d).note(err) }

func (x *exchange) do() {
	op := x.c.ep.NewSendOp()
	b, err := x.c.pool.Get(context.Background(), 200)
	x.note(err)
	op.Send(b, 200)
	x.note(x.c.ep.Post(context.Background(), op))
	<-x.finished
}

func (x *exchange) end(t testing.TB) {
	if x.err != nil {
		t.Error(x.err)
	}
	x.src.Release()
	x.c.ep.Disconnect(nil)
	x.note(x.c.end())
	x.note(x.s.end())
}

func TestNoAllocations(t *testing.T) {
	x := newExchange(t, 64<<10)
	for range 50 {
		x.do()
	}
	if n := testing.AllocsPerRun(500, x.do); n != 0 {
		t.Errorf("%v allocations in an exchange", n)
	}
	x.end(t)
}

// BenchmarkExchange is one call, READ of the data, WRITE of the data, and reply.
func BenchmarkExchange(b *testing.B) {
	for _, size := range []int{4 << 10, 1 << 20} {
		b.Run(map[int]string{4 << 10: "4K", 1 << 20: "1M"}[size], func(b *testing.B) {
			x := newExchange(b, size)
			b.SetBytes(int64(2 * size))
			b.ReportAllocs()
			for b.Loop() {
				x.do()
			}
			x.end(b)
		})
	}
}

// BenchmarkSend is one message, until it is received.
func BenchmarkSend(b *testing.B) {
	c, s, _ := pair(b, pairConfig{send: 64, recv: 128})
	got := make(chan struct{}, 1)
	s.received = func(buf *slab.Buf) {
		_ = s.ep.Repost(buf)
		got <- struct{}{}
	}
	b.ReportAllocs()
	for b.Loop() {
		_ = c.ep.Post(context.Background(), c.message(64))
		<-got
	}
	c.ep.Disconnect(nil)
	_, _ = c.end(), s.end()
}
