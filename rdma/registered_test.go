package rdma_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"fileserver/internal/slab"
	"fileserver/rdma"
	"fileserver/rdma/rdmatest/mem"
)

func TestMemory(t *testing.T) {
	p := mem.New(mem.Config{})
	pd, err := p.Device(0).AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	pool := slab.New(slab.Config{Limit: 4 * slab.ArenaSize})
	a, _ := pool.TryGet(slab.MaxSize) // there before the registration
	m, err := rdma.NewMemory(pd, pool, rdma.AccessLocalWrite|rdma.AccessRemoteRead)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := pool.TryGet(100_000) // after it
	if m.Pool() != pool || m.PD() != pd || m.Access() != rdma.AccessLocalWrite|rdma.AccessRemoteRead {
		t.Error("Memory does not know what it is made of")
	}
	sa, sb, sb2 := m.SGE(a, 0, 10), m.SGE(b, 0, 10), m.SGE(b, 7, 99)
	if sa.LKey == sb.LKey || sa.LKey == 0 || sb2.LKey != sb.LKey || sb2.Addr != sb.Addr+7 || sb2.Length != 99 {
		t.Errorf("elements %+v %+v %+v", sa, sb, sb2)
	}
	seg, err := m.Segment(b, 7, 99)
	if err != nil || seg.Addr != sb2.Addr || seg.Length != 99 || seg.RKey == 0 {
		t.Errorf("segment %+v, %v", seg, err)
	}
	for _, r := range [][2]int{{-1, 1}, {0, -1}, {0, b.Cap() + 1}, {b.Cap(), 1}, {b.Cap() + 1, 0}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("range %v was accepted", r)
				}
			}()
			m.SGE(b, r[0], r[1])
		}()
	}
	if n := testing.AllocsPerRun(100, func() { m.SGE(b, 1, 2) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	other := slab.New(slab.Config{Limit: slab.ArenaSize})
	f, _ := other.TryGet(1)
	if m.Err(f) == nil || m.SGE(f, 0, 1) != (rdma.SGE{}) {
		t.Error("another pool's buffer was accepted")
	}
	f.Release()
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	if err := errors.Join(m.Close(), m.Close()); err != nil {
		t.Error(err)
	}
	if err := m.Err(b); !errors.Is(err, rdma.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	c, _ := pool.TryGet(slab.MaxSize) // an arena that is not registered any more
	for _, x := range []*slab.Buf{a, b, c} {
		x.Release()
	}
	if err := errors.Join(pd.Dealloc(), pool.Close()); err != nil {
		t.Error(err)
	}
}

// TestRegistrationFails: at once, an error; later, an error of the requests that
// name the arena, and of no others.
func TestRegistrationFails(t *testing.T) {
	locked := errors.New("memory lock limit")
	c, s, p := pair(t, pairConfig{limit: 3 * slab.ArenaSize})
	p.Device(0).Inject(mem.Fault{At: mem.AtRegister, Err: locked})
	big := c.buf(slab.MaxSize) // makes a new arena
	if err := c.mem.Err(big); !errors.Is(err, locked) {
		t.Errorf("Err: %v", err)
	}
	if _, err := c.mem.Segment(big, 0, 1); !errors.Is(err, locked) {
		t.Errorf("Segment: %v", err)
	}
	op := c.ep.NewSendOp()
	op.Send(big.Retain(), 100)
	if err := c.ep.Post(context.Background(), op); !errors.Is(err, locked) {
		t.Errorf("Post: %v", err)
	}
	if err := c.ep.Read(big, 0, nil, nil); !errors.Is(err, locked) {
		t.Errorf("Read: %v", err)
	}
	if err := c.ep.Repost(big); !errors.Is(err, locked) {
		t.Errorf("Repost: %v", err)
	}
	next := c.buf(slab.MaxSize - 1)
	if err := c.ep.Post(context.Background(), c.message(5)); err != nil {
		t.Error(err)
	}
	(<-s.got).Release()
	next.Release()

	pool := slab.New(slab.Config{})
	x, _ := pool.TryGet(1)
	x.Release()
	p.Device(0).Inject(mem.Fault{At: mem.AtRegister, Err: locked})
	if _, err := rdma.NewMemory(c.mem.PD(), pool, 0); !errors.Is(err, locked) {
		t.Errorf("NewMemory: %v", err)
	}
	if err := pool.Close(); err != nil {
		t.Error(err)
	}
	endBoth(t, c, s)
}

func TestWindow(t *testing.T) {
	c, s, _ := pair(t, pairConfig{access: rdma.AccessLocalWrite, provider: mem.Config{StrictKeys: true}})
	ctx := context.Background()
	b := c.buf(1000)
	clear(b.Bytes())
	w, again := rdma.NewWindow(c.mem), rdma.NewWindow(c.mem)
	if _, ok := w.Key(); ok {
		t.Error("a fresh window has a key")
	}
	seg, err := w.Open(b, 100, 500, rdma.AccessRemoteWrite)
	if err != nil || seg.Length != 500 {
		t.Fatal(seg, err)
	}
	if _, err := w.Open(b, 0, 1, rdma.AccessRemoteRead); !errors.Is(err, rdma.ErrBusy) {
		t.Errorf("opened twice: %v", err)
	}
	if _, err := again.Open(b, 300, 1, rdma.AccessRemoteRead); !errors.Is(err, rdma.ErrBusy) {
		t.Errorf("the strict device registered what is still open: %v", err)
	}
	op := s.ep.NewSendOp()
	data := s.buf(500)
	fill(data.Bytes(), 3)
	if err := op.Write(data.Retain(), 0, 500, []rdma.Segment{seg}); err != nil {
		t.Fatal(err)
	}
	op.Send(s.buf(1), 1)
	op.Invalidate(seg.RKey)
	if err := s.ep.Post(ctx, op); err != nil {
		t.Fatal(err)
	}
	reply := <-c.got
	if string(b.Bytes()[100:600]) != string(data.Bytes()) || b.Bytes()[99] != 0 || b.Bytes()[600] != 0 {
		t.Error("the WRITE is not where it should be")
	}
	if err := c.ep.Repost(reply); err != nil {
		t.Error(err)
	}
	key := <-c.inv
	if ok, err := w.Invalidated(key ^ 1); ok || err != nil {
		t.Errorf("another key closed the window: %v", err)
	}
	if ok, err := w.Invalidated(key); !ok || err != nil || key != seg.RKey {
		t.Errorf("key 0x%x, window's 0x%x: %v", key, seg.RKey, err)
	}
	seg2, err := w.Open(b, 100, 500, rdma.AccessRemoteRead)
	if err != nil || seg2.RKey == seg.RKey {
		t.Errorf("opened again: %v, %v", seg2, err)
	}
	if err := errors.Join(w.Close(), w.Close()); err != nil {
		t.Error(err)
	}
	// The closed window protects: the connection ends rather than the memory is read.
	failed := make(chan error, 1)
	sink := s.buf(500)
	if err := s.ep.Read(sink, 0, []rdma.Segment{seg2}, done(func(err error) { failed <- err })); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err == nil || !strings.Contains(err.Error(), "remote access error") {
		t.Errorf("a READ through a closed window: %v", err)
	}
	for _, x := range []*slab.Buf{data, sink, b} {
		x.Release()
	}
	if c.end() == nil || s.end() == nil {
		t.Error("the connection ended in order")
	}
}
