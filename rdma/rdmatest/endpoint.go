package rdmatest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fileserver/internal/slab"
	"fileserver/rdma"
)

// host is one side's device memory: what a client opens to its server, shared by
// its endpoints, or a server's domain.
type host struct {
	t      testing.TB
	pool   *slab.Pool
	mem    *rdma.Memory // nil: the domain's
	domain *rdma.Domain
	close  func() // when its endpoints have ended; at the end of the test at the latest
}

func newHost(t testing.TB, dev rdma.Device) *host {
	t.Helper()
	h := &host{t: t, pool: slab.New(slab.Config{Limit: 256 << 20})}
	pd, err := dev.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	if h.mem, err = rdma.NewMemory(pd, h.pool, remote); err != nil {
		t.Fatal(err)
	}
	h.cleanup(h.mem.Close, pd.Dealloc)
	return h
}

func newServerHost(t testing.TB, dev rdma.Device, own bool) *host {
	h := &host{t: t, pool: slab.New(slab.Config{Limit: 256 << 20})}
	h.domain = rdma.NewDomain(dev, h.pool, own)
	h.cleanup(h.domain.Close)
	return h
}

func (h *host) cleanup(steps ...func() error) {
	h.close = sync.OnceFunc(func() {
		for _, l := range h.pool.Leaks() {
			h.t.Error(l)
		}
		for _, f := range append(steps, h.pool.Close) {
			if err := f(); err != nil {
				h.t.Error(err)
			}
		}
	})
	h.t.Cleanup(h.close)
}

func (h *host) buf(n int) *slab.Buf {
	b, err := h.pool.Get(context.Background(), n)
	if err != nil {
		panic(err)
	}
	return b
}

// peer is one endpoint under test.
type peer struct {
	*host
	ep       *rdma.Endpoint
	received func(p *peer, buf *slab.Buf)
	closed   chan error
}

// Received implements rdma.EndpointHandler.
func (p *peer) Received(buf *slab.Buf, _ uint32, _ bool) { p.received(p, buf) }

// Closed implements rdma.EndpointHandler.
func (p *peer) Closed(err error) { p.closed <- err }

func (h *host) peer(id rdma.ID, c rdma.EndpointConfig, received func(*peer, *slab.Buf)) (*peer, error) {
	p := &peer{host: h, received: received, closed: make(chan error, 1)}
	var err error
	if c.Handler, c.Memory = p, h.mem; c.Memory == nil {
		if c.Memory, err = h.domain.Attach(); err != nil {
			return nil, err
		}
	}
	p.ep, err = rdma.NewEndpoint(id, c)
	return p, err
}

func (p *peer) end() {
	p.t.Helper()
	select {
	case <-p.ep.Done():
	case <-time.After(patience):
		p.t.Error("an endpoint does not end")
	}
}

// endpoints makes n connections, all open at once; with own each has a
// protection domain of its own on the server's side.
func (r *rig) endpoints(n int, own bool, c rdma.EndpointConfig, client, server func(*peer, *slab.Buf)) (clients, servers []*peer) {
	r.t.Helper()
	l := r.listen()
	defer l.Close()
	ctx, cancel := deadline()
	defer cancel()
	var ch, sh *host
	accepted := make(chan error, 1)
	clients, servers = make([]*peer, n), make([]*peer, n)
	first, err := r.client.Provider.Resolve(ctx, l.Addr())
	if err != nil {
		r.t.Fatal(err)
	}
	ch = newHost(r.t, first.Device())
	devices, err := r.server.Provider.Devices()
	if err != nil {
		r.t.Fatal(err)
	}
	sh = newServerHost(r.t, devices[0], own)
	go func() {
		accepted <- func() error {
			for i := range servers {
				id, err := l.Accept(ctx)
				if err != nil {
					return err
				}
				if servers[i], err = sh.peer(id, c, server); err != nil {
					return err
				}
				if err = id.Accept(params(8)); err != nil {
					return err
				}
				servers[i].ep.Start()
			}
			return nil
		}()
	}()
	var wg sync.WaitGroup
	for i := range clients {
		id := first
		if i > 0 {
			if id, err = r.client.Provider.Resolve(ctx, l.Addr()); err != nil {
				r.t.Fatal(err)
			}
		}
		if clients[i], err = ch.peer(id, c, client); err != nil {
			r.t.Fatal(err)
		}
		wg.Go(func() {
			if err := id.Connect(ctx, params(8)); err != nil {
				r.t.Errorf("connection %d: %v", i, err)
				clients[i].ep.Disconnect(err)
				return
			}
			clients[i].ep.Start()
		})
	}
	wg.Wait()
	if err := <-accepted; err != nil {
		r.t.Fatal(err)
	}
	return clients, servers
}

// echo sends every message back; it is the Received of a server.
func echo(p *peer, buf *slab.Buf) {
	op := p.ep.NewSendOp()
	out := p.buf(buf.Len())
	copy(out.Bytes(), buf.Bytes())
	op.Send(out, buf.Len())
	_ = p.ep.Repost(buf)
	_ = p.ep.Queue(op)
}

// testMany has 256 connections at once, on all of which messages go back and forth.
func testMany(r *rig) {
	const conns, messages = 256, 8
	var left atomic.Int64
	left.Store(conns)
	all := make(chan struct{})
	counts := make(map[*peer]int)
	var mu sync.Mutex
	say := func(p *peer, i int) {
		b := p.buf(8 + i*50)
		pattern(b.Bytes(), i)
		binary.BigEndian.PutUint64(b.Bytes(), uint64(i))
		op := p.ep.NewSendOp()
		op.Send(b, b.Len())
		if err := p.ep.Queue(op); err != nil {
			r.t.Error(err)
		}
	}
	heard := func(p *peer, buf *slab.Buf) {
		mu.Lock()
		i := counts[p]
		counts[p]++
		mu.Unlock()
		want := patterned(8+i*50, i)
		binary.BigEndian.PutUint64(want, uint64(i))
		same(r.t, "echo", buf.Bytes(), want)
		_ = p.ep.Repost(buf)
		if i+1 < messages {
			say(p, i+1)
		} else if left.Add(-1) == 0 {
			close(all)
		}
	}
	c := rdma.EndpointConfig{SendDepth: 4, RecvDepth: 4, RecvSize: 2048, ReadDepth: 2}
	clients, servers := r.endpoints(conns, false, c, heard, echo)
	for _, p := range clients {
		say(p, 0)
	}
	select {
	case <-all:
	case <-time.After(patience):
		r.t.Errorf("%d of %d connections are not finished", left.Load(), conns)
	}
	for _, p := range clients[:conns/2] {
		p.ep.Disconnect(nil)
	}
	for _, p := range servers { // which of them is whose is not known
		p.ep.Disconnect(nil)
	}
	for i := range clients {
		clients[i].end()
		servers[i].end()
	}
}

// job is a request to the server of testEndpoint: read these segments, write the
// data to those. On the wire: count, then address, length and key of each segment.
func putSegments(b []byte, segs []rdma.Segment) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(segs)))
	for _, s := range segs {
		b = binary.BigEndian.AppendUint64(b, s.Addr)
		b = binary.BigEndian.AppendUint32(b, s.Length)
		b = binary.BigEndian.AppendUint32(b, s.RKey)
	}
	return b
}

func getSegments(b []byte) ([]rdma.Segment, []byte) {
	n := binary.BigEndian.Uint32(b)
	b = b[4:]
	segs := make([]rdma.Segment, n)
	for i := range segs {
		segs[i] = rdma.Segment{Addr: binary.BigEndian.Uint64(b), Length: binary.BigEndian.Uint32(b[8:]), RKey: binary.BigEndian.Uint32(b[12:])}
		b = b[16:]
	}
	return segs, b
}

// copier is the server: it reads, writes back, and says so.
func copier(p *peer, buf *slab.Buf) {
	id := binary.BigEndian.Uint64(buf.Bytes())
	from, rest := getSegments(buf.Bytes()[8:])
	to, _ := getSegments(rest)
	_ = p.ep.Repost(buf)
	n := 0
	for _, s := range from {
		n += int(s.Length)
	}
	data := p.buf(n)
	err := p.ep.Read(data, 0, from, rdma.CompletionFunc(func(err error) {
		if err != nil {
			data.Release()
			return
		}
		op := p.ep.NewSendOp()
		_ = op.Write(data.Retain(), 0, n/3, to)
		_ = op.WriteNext(data, n/3, n-n/3)
		reply := p.buf(8)
		binary.BigEndian.PutUint64(reply.Bytes(), id)
		op.Send(reply, 8)
		_ = p.ep.Queue(op)
	}))
	if err != nil {
		data.Release()
	}
}

// slices cuts a buffer into segments of uneven length.
func slicesOf(p *peer, b *slab.Buf, k int) (segs []rdma.Segment) {
	off := 0
	for i := range k {
		n := b.Len() / k * (1 + i%2) / 2
		if i == k-1 {
			n = b.Len() - off
		}
		s, err := p.mem.Segment(b, off, n)
		if err != nil {
			p.t.Error(err)
		}
		segs = append(segs, s)
		off += n
	}
	return segs
}

func testEndpoint(r *rig) { r.testEndpoint(false) }

// testEndpointOwnDomain has a protection domain for the connection alone.
func testEndpointOwnDomain(r *rig) { r.testEndpoint(true) }

func (r *rig) testEndpoint(own bool) {
	const calls, window = 200, 24
	type call struct{ src, dst *slab.Buf }
	var mu sync.Mutex
	pending := make(map[uint64]call)
	slots := make(chan struct{}, window)
	client := func(p *peer, buf *slab.Buf) {
		id := binary.BigEndian.Uint64(buf.Bytes())
		_ = p.ep.Repost(buf)
		mu.Lock()
		c := pending[id]
		delete(pending, id)
		mu.Unlock()
		if !bytes.Equal(c.src.Bytes(), c.dst.Bytes()) {
			r.t.Errorf("call %d: %d bytes are not what they should be", id, c.src.Len())
		}
		c.src.Release()
		c.dst.Release()
		<-slots
	}
	c := rdma.EndpointConfig{SendDepth: 8, RecvDepth: window + 1, RecvSize: 4096}
	clients, servers := r.endpoints(1, own, c, client, copier)
	p := clients[0]
	ctx, cancel := deadline()
	defer cancel()
	for i := range uint64(calls) {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			r.t.Fatalf("stuck after %d calls: %+v %+v", i, p.ep.Stats(), servers[0].ep.Stats())
		}
		n := 1 + int(i*i*7919%200_000)
		src, dst := p.buf(n), p.buf(n)
		pattern(src.Bytes(), int(i))
		clear(dst.Bytes())
		mu.Lock()
		pending[i] = call{src, dst}
		mu.Unlock()
		b := p.buf(4096)
		msg := binary.BigEndian.AppendUint64(b.Bytes()[:0], i)
		msg = putSegments(msg, slicesOf(p, src, 1+int(i%30)))
		msg = putSegments(msg, slicesOf(p, dst, 1+int(i%17)))
		op := p.ep.NewSendOp()
		op.Send(b, len(msg))
		if err := p.ep.Post(ctx, op); err != nil {
			r.t.Fatal(err)
		}
	}
	for range window {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			r.t.Fatalf("calls are missing: %+v %+v", p.ep.Stats(), servers[0].ep.Stats())
		}
	}
	// The last reply's completion may be behind the reply.
	stats := servers[0].ep.Stats()
	for stats.Sends < calls && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
		stats = servers[0].ep.Stats()
	}
	if stats.ReadBytes == 0 || stats.ReadBytes != stats.WriteBytes || stats.Sends != calls || stats.Errors != 0 || stats.SlotsUsed != 0 {
		r.t.Errorf("figures %+v", stats)
	}
	p.ep.Disconnect(nil)
	p.end()
	servers[0].end()
}

// testEndpointDrain ends connections under load, by either side: everything comes back.
func testEndpointDrain(r *rig) {
	for round := range 6 {
		var posts, done atomic.Int64
		var replies atomic.Int64
		client := func(p *peer, buf *slab.Buf) {
			replies.Add(1)
			_ = p.ep.Repost(buf)
		}
		c := rdma.EndpointConfig{SendDepth: 4, RecvDepth: 64, RecvSize: 4096}
		clients, servers := r.endpoints(1, round >= 3, c, client, copier)
		p := clients[0]
		src, dst := p.buf(300_000), p.buf(300_000)
		why := fmt.Errorf("enough")
		for i := range uint64(60) {
			b := p.buf(4096)
			msg := binary.BigEndian.AppendUint64(b.Bytes()[:0], i)
			msg = putSegments(msg, slicesOf(p, src, 5))
			msg = putSegments(msg, slicesOf(p, dst, 3))
			op := p.ep.NewSendOp()
			op.Send(b, len(msg))
			op.OnDone(rdma.CompletionFunc(func(error) { done.Add(1) }))
			if p.ep.Post(context.Background(), op) == nil {
				posts.Add(1)
			}
			if i == uint64(5+round*9) {
				if round%2 == 0 {
					p.ep.Disconnect(why)
				} else {
					servers[0].ep.Disconnect(why)
				}
			}
		}
		p.end()
		servers[0].end()
		if posts.Load() != done.Load() {
			r.t.Errorf("%d posts, %d completions", posts.Load(), done.Load())
		}
		ended := [2]error{<-p.closed, <-servers[0].closed}
		if ended[round%2] != why {
			r.t.Errorf("the side that disconnects is told %v", ended[round%2])
		}
		if err := p.ep.Post(context.Background(), p.ep.NewSendOp()); err == nil {
			r.t.Error("Post of an empty chain on a dead endpoint succeeded")
		}
		src.Release()
		dst.Release()
		p.close() // under User Mode Linux what is registered is mapped page by page, of which there are not many; see integration/guest
		servers[0].close()
	}
}
