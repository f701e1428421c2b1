package rdma_test

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"fileserver/internal/slab"
	"fileserver/rdma"
	"fileserver/rdma/rdmatest/mem"
)

var adapter = mem.Config{Devices: []mem.DeviceConfig{{Caps: mem.AdapterCaps()}}, StrictReads: true}

// read has s read segs, and waits.
func (s *side) read(into *slab.Buf, segs ...rdma.Segment) error {
	done := make(chan error, 1)
	if err := s.ep.Read(into, 0, segs, rdma.CompletionFunc(func(err error) { done <- err })); err != nil {
		return err
	}
	return <-done
}

// write has s write n bytes of b to where seg is, and waits.
func (s *side) write(b *slab.Buf, n int, seg rdma.Segment) error {
	done := make(chan error, 1)
	op := s.ep.NewSendOp()
	if err := op.Write(b.Retain(), 0, n, []rdma.Segment{seg}); err != nil {
		op.Discard()
		return err
	}
	op.OnDone(rdma.CompletionFunc(func(err error) { done <- err }))
	if err := s.ep.Post(context.Background(), op); err != nil {
		return err
	}
	return <-done
}

// hello lets the accepting side speak.
func hello(t *testing.T, c, s *side) {
	t.Helper()
	op := c.ep.NewSendOp()
	op.Send(c.buf(1), 1)
	if err := c.ep.Post(context.Background(), op); err != nil {
		t.Fatal(err)
	}
	if err := s.ep.Repost(<-s.got); err != nil {
		t.Fatal(err)
	}
}

// TestSink: on an iWARP adapter a peer that writes to where its data has gone changes nothing that is in use.
func TestSink(t *testing.T) {
	c, s, _ := pair(t, pairConfig{provider: adapter, own: true, ord: 16})
	hello(t, c, s)
	src, dst := c.buf(5<<20), s.buf(5<<20)
	fill(src.Bytes(), 1)
	// Segments that end inside the pieces that are read at once, and more than there is room for at a time.
	segs := []rdma.Segment{c.segment(src, 0, 1), c.segment(src, 1, 100_000), c.segment(src, 100_001, 5<<20-100_001)}
	errs := make(chan error, 3)
	others := []*slab.Buf{s.buf(5 << 20), s.buf(5 << 20)}
	for _, b := range others {
		go func() { errs <- s.read(b, segs...) }()
	}
	if err := s.read(dst, segs...); err != nil {
		t.Fatal(err)
	}
	for _, b := range append(others, dst) {
		if b != dst {
			if err := <-errs; err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, b := range append(others, dst) {
		if !bytes.Equal(b.Bytes(), src.Bytes()) {
			t.Error("the data is not what was read")
		}
	}
	sink, ok := s.ep.SinkSegment()
	if !ok || sink.RKey == 0 || sink.Length > 1<<20 {
		t.Fatalf("the endpoint reads to %+v, %v", sink, ok)
	}
	evil := c.buf(int(sink.Length))
	for i := range evil.Bytes() {
		evil.Bytes()[i] = 0xee
	}
	if err := c.write(evil, int(sink.Length), sink); err != nil {
		t.Fatal(err)
	}
	for _, b := range append(others, dst) {
		if !bytes.Equal(b.Bytes(), src.Bytes()) {
			t.Error("the peer has changed data that was read before")
		}
		b.Release()
	}
	if st := s.ep.Stats(); st.ReadBytes != 15<<20 || st.ReadsOutstanding != 0 || st.Errors != 0 {
		t.Errorf("figures %+v", st)
	}
	// What else there is of the server's memory is closed: this ends the connection.
	sink.Addr += uint64(sink.Length)
	sink.Length = 10
	_ = c.write(evil, 10, sink)
	evil.Release()
	src.Release()
	c.ep.Disconnect(nil)
	_ = c.end()
	if err := s.end(); err == nil {
		t.Error("a WRITE outside the sink was accepted")
	}
}

// TestSinkIsOfOneConnection: the key of one connection's sink is of no use to another.
func TestSinkIsOfOneConnection(t *testing.T) {
	c, s, p := pair(t, pairConfig{provider: adapter, own: true, ord: 4})
	hello(t, c, s)
	domain := rdma.NewDomain(p.Device(0), s.pool, false) // the device has it its own way
	victim := attach(t, domain)
	sink := s.buf(4096)
	clear(sink.Bytes())
	mr, err := victim.PD().RegMR(sink.Bytes(), rdma.AccessLocalWrite|rdma.AccessRemoteWrite)
	if err != nil {
		t.Fatal(err)
	}
	evil := c.buf(10)
	fill(evil.Bytes(), 1)
	_ = c.write(evil, 10, rdma.Segment{Addr: mr.Addr(), Length: 10, RKey: mr.RKey()})
	evil.Release()
	c.ep.Disconnect(nil)
	_ = c.end()
	if !bytes.Equal(sink.Bytes(), make([]byte, 4096)) {
		t.Error("a peer has written to another connection's sink")
	}
	sink.Release()
	if err := errors.Join(mr.Deregister(), victim.Release(), domain.Close()); err != nil {
		t.Error(err)
	}
	if s.end() == nil {
		t.Error("the attempt did not end the connection")
	}
}

// TestSinkEndsInTheMiddle ends a connection with READs under way: all come back.
func TestSinkEndsInTheMiddle(t *testing.T) {
	c, s, p := pair(t, pairConfig{provider: adapter, own: true, ord: 4})
	hello(t, c, s)
	p.Device(0).Inject(mem.Fault{At: mem.AtWork, Op: []rdma.Opcode{rdma.OpRead}, Skip: 20, Drop: true})
	src, dst := c.buf(4<<20), s.buf(4<<20)
	errs := make(chan error, 4)
	for range cap(errs) {
		go func() { errs <- s.read(dst, c.segment(src, 0, 4<<20)) }()
	}
	failed := 0
	for range cap(errs) {
		if <-errs != nil {
			failed++
		}
	}
	if failed == 0 {
		t.Error("all READs succeeded")
	}
	src.Release()
	dst.Release()
	_, _ = c.end(), s.end()
}

// TestSinkRefused: an endpoint is not made where a peer could reach others' memory, nor where there is none.
func TestSinkRefused(t *testing.T) {
	p := mem.New(adapter)
	l, err := p.Listen(context.Background(), netip.AddrPort{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	id, err := p.Resolve(context.Background(), l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	pool := slab.New(slab.Config{Limit: slab.ArenaSize})
	pd, err := p.Device(0).AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	shared, err := rdma.NewMemory(pd, pool, rdma.AccessLocalWrite)
	if err != nil {
		t.Fatal(err)
	}
	cfg := rdma.EndpointConfig{Memory: shared, SendDepth: 4, RecvDepth: 4, RecvSize: 4096, Handler: &side{}}
	if _, err := rdma.NewEndpoint(id, cfg); err == nil || !strings.Contains(err.Error(), "protection domain for each connection") {
		t.Errorf("error %v", err)
	}
	d := rdma.NewDomain(p.Device(0), pool, false)
	cfg.Memory = attach(t, d)
	all, _ := pool.TryGet(slab.MaxSize)
	if _, err := rdma.NewEndpoint(id, cfg); !errors.Is(err, rdma.ErrNoMemory) {
		t.Errorf("error %v", err)
	}
	all.Release()
	limit := errors.New("memlock")
	p.Device(0).Inject(mem.Fault{At: mem.AtRegister, Err: limit})
	if _, err := rdma.NewEndpoint(id, cfg); !errors.Is(err, limit) {
		t.Errorf("error %v", err)
	}
	if l := pool.Leaks(); len(l) > 0 {
		t.Error(l)
	}
	if err := errors.Join(id.Close(), cfg.Memory.Release(), d.Close(), shared.Close(), pd.Dealloc(), pool.Close()); err != nil {
		t.Error(err)
	}
}
