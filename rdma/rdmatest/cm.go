package rdmatest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fileserver/rdma"
)

// flushed waits for a completion, which must be a flush.
func (e *end) flushed(id uint64) {
	e.t.Helper()
	if wc := e.wait(id); wc.Status != rdma.StatusWRFlushErr {
		e.t.Errorf("%s: request %d: %v, not flushed", e.name, id, wc.Status)
	}
}

func testFlushLocal(r *rig) { flush(r, func(client, _ *end) { client.check(client.id.Disconnect()) }) }

func testFlushRemote(r *rig) {
	flush(r, func(_, server *end) { server.check(server.id.Disconnect()) })
}

// flush ends a connection in order: every receive posted comes back once.
func flush(r *rig, disconnect func(client, server *end)) {
	const depth = 16
	client, server := r.connect(options{recvDepth: depth})
	talk(client, server)
	ends := []*end{client, server}
	for _, e := range ends {
		reg := e.region(depth*64, local)
		for i := range depth {
			e.recv(uint64(i), reg.sge(i*64, 64))
		}
	}
	disconnect(client, server)
	for _, e := range ends {
		if ev := e.over(); ev.Type != rdma.EventDisconnected {
			r.t.Errorf("%s: event %+v", e.name, ev)
		}
		for i := range depth {
			e.flushed(uint64(i))
		}
		e.ended()
		var wc [4]rdma.WC
		if n := e.cq.Poll(wc[:]); n != 0 || len(e.wcs) != 0 {
			r.t.Errorf("%s: completions too many: %+v %+v", e.name, wc[:n], e.wcs)
		}
	}
}

// testClose closes an ID with everything outstanding.
func testClose(r *rig) {
	client, server := r.connect(options{})
	talk(client, server)
	src, dst := server.region(1<<20, remote), client.region(1<<20, client.sink())
	for i := range 4 {
		client.recv(uint64(i), dst.sge(0, 64))
	}
	for i := range 6 {
		client.post(rdma.SendWR{ID: uint64(100 + i), Opcode: rdma.OpRead, Flags: rdma.SendSignaled, SGL: []rdma.SGE{dst.sge(0, 1<<20)},
			RemoteAddr: src.mr.Addr(), RKey: src.mr.RKey()})
	}
	client.check(client.id.Close())
	clear(dst.mem) // nobody else touches it any more
	for i := range 4 {
		client.flushed(uint64(i))
	}
	for i := range 6 {
		client.wait(uint64(100 + i)) // complete or flushed
	}
	same(r.t, "memory after Close", dst.mem, make([]byte, 1<<20))
	client.over()
	server.over()
}

func testPrivateData(r *rig) {
	request, reply := first(r, r.client).MaxRequestPrivateData, first(r, r.server).MaxReplyPrivateData
	for _, n := range [][2]int{{0, 0}, {1, 8}, {8, 1}, {request, reply}} {
		o := options{client: params(4), server: params(4)}
		o.client.PrivateData, o.server.PrivateData = patterned(n[0], 1), patterned(n[1], 2)
		client, server := r.connect(o)
		same(r.t, "request", padded(server.id.Remote().PrivateData, n[0]), o.client.PrivateData)
		same(r.t, "reply", padded(client.id.Remote().PrivateData, n[1]), o.server.PrivateData)
		if client.id.RemoteAddr() != server.id.LocalAddr() || client.id.LocalAddr() != server.id.RemoteAddr() {
			r.t.Errorf("addresses: client %v to %v, server %v to %v", client.id.LocalAddr(), client.id.RemoteAddr(), server.id.LocalAddr(), server.id.RemoteAddr())
		}
	}
	// Beyond the limits.
	l := r.listen()
	defer l.Close()
	ctx, cancel := deadline()
	defer cancel()
	client := r.resolve(l, options{})
	if err := client.id.Connect(ctx, rdma.ConnParams{PrivateData: make([]byte, request+1)}); err == nil {
		r.t.Errorf("a request with %d bytes was accepted", request+1)
	}
	client = r.resolve(l, options{})
	connected := make(chan error, 1)
	go func() { connected <- client.id.Connect(ctx, params(4)) }()
	id, err := l.Accept(ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	server := newEnd(r.t, "server", r.server, id, options{})
	p := params(4)
	p.PrivateData = make([]byte, reply+1)
	if err := id.Accept(p); err == nil {
		r.t.Errorf("a reply with %d bytes was accepted", reply+1)
	}
	server.check(id.Accept(params(4))) // nothing has happened yet
	if err := <-connected; err != nil {
		r.t.Error(err)
	}
}

// padded cuts zero padding off, which InfiniBand adds; anything else stays.
func padded(b []byte, n int) []byte {
	for len(b) > n && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	return b
}

func testReject(r *rig) {
	for _, n := range []int{0, 10, 100} {
		l := r.listen()
		defer l.Close()
		ctx, cancel := deadline()
		defer cancel()
		go func() {
			id, err := l.Accept(ctx)
			if err != nil {
				r.t.Error(err)
				return
			}
			if err := id.Reject(patterned(n, n)); err != nil {
				r.t.Error(err)
			}
		}()
		client := r.resolve(l, options{})
		reg := client.region(64, local)
		client.recv(1, reg.sge(0, 64))
		err := client.id.Connect(ctx, params(4))
		var rejected *rdma.RejectedError
		if !errors.As(err, &rejected) {
			r.t.Fatalf("refused: %v", err)
		}
		same(r.t, "private data", padded(rejected.PrivateData, n), patterned(n, n))
		if err := client.qp.PostSend([]rdma.SendWR{{Opcode: rdma.OpSend}}); !errors.Is(err, rdma.ErrNotConnected) {
			r.t.Errorf("PostSend after the refusal: %v", err)
		}
		client.check(client.id.Close())
		client.flushed(1)
	}
}

func testNobodyListens(r *rig) {
	l := r.listen()
	o := options{}
	client := r.resolve(l, o)
	r.check(l.Close())
	ctx, cancel := deadline()
	defer cancel()
	if err := client.id.Connect(ctx, params(4)); err == nil {
		r.t.Error("connected to nobody")
	}
}

func (r *rig) check(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Error(err)
	}
}

// testConnectCancelled gives up while the other side makes up its mind.
func testConnectCancelled(r *rig) {
	l := r.listen()
	defer l.Close()
	client := r.resolve(l, options{})
	ctx, cancel := context.WithCancel(context.Background())
	connected := make(chan error, 1)
	go func() { connected <- client.id.Connect(ctx, params(4)) }()
	wait, stop := deadline()
	defer stop()
	id, err := l.Accept(wait)
	if err != nil {
		r.t.Fatal(err)
	}
	cancel()
	if err := <-connected; !errors.Is(err, context.Canceled) {
		r.t.Errorf("Connect: %v", err)
	}
	server := newEnd(r.t, "server", r.server, id, options{})
	if r.server.DeadlyCancel {
		return // what was never accepted can be given back, too
	}
	// The accepting side learns it at once, or soon.
	if err := id.Accept(params(4)); err == nil {
		server.over()
	}
}

func testListenerClose(r *rig) {
	l := r.listen()
	client, server := r.connectTo(l, options{})
	accepted := make(chan error, 1)
	go func() {
		_, err := l.Accept(context.Background())
		accepted <- err
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	other := r.listen()
	if _, err := other.Accept(ctx); !errors.Is(err, context.DeadlineExceeded) {
		r.t.Errorf("Accept: %v", err)
	}
	r.check(other.Close())
	r.check(l.Close())
	if err := <-accepted; !errors.Is(err, rdma.ErrClosed) {
		r.t.Errorf("Accept of a closed listener: %v", err)
	}
	talk(client, server) // what was accepted lives on
}

func testNegotiation(r *rig) {
	for _, c := range []struct{ client, server, wantClient, wantServer [2]int }{ // IRD, ORD
		{[2]int{4, 4}, [2]int{4, 4}, [2]int{4, 4}, [2]int{4, 4}},
		{[2]int{8, 2}, [2]int{3, 5}, [2]int{5, 2}, [2]int{2, 5}},
		{[2]int{1, 8}, [2]int{6, 7}, [2]int{1, 6}, [2]int{6, 1}},
		{[2]int{2, 3}, [2]int{8, 8}, [2]int{2, 3}, [2]int{3, 2}},
	} {
		o := options{client: rdma.ConnParams{IRD: c.client[0], ORD: c.client[1], RNRRetry: 7}, server: rdma.ConnParams{IRD: c.server[0], ORD: c.server[1], RNRRetry: 7}}
		client, server := r.connect(o)
		name := fmt.Sprintf("client %v, server %v", c.client, c.server)
		if p := server.id.Remote(); p.ORD != c.client[0] || p.IRD != c.client[1] {
			r.t.Errorf("%s: the request says IRD %d, ORD %d", name, p.IRD, p.ORD)
		}
		if r.server.GenerousIRD {
			c.wantClient[1] = c.client[1]
		}
		if ird, ord := client.id.Negotiated(); ird < c.wantClient[0] || ord != c.wantClient[1] {
			r.t.Errorf("%s: client has IRD %d, ORD %d; wants %v", name, ird, ord, c.wantClient)
		}
		if ird, ord := server.id.Negotiated(); ird < c.wantServer[0] || ord != c.wantServer[1] {
			r.t.Errorf("%s: server has IRD %d, ORD %d; wants %v", name, ird, ord, c.wantServer)
		}
	}
}

// testEarlyMessage: receives are posted before the connection is made, and a
// message may arrive before anybody has looked at the established event. What the
// accepting side posts before it has heard anything is kept back if need be.
func testEarlyMessage(r *rig) {
	var in *region
	client, server := r.connect(options{
		beforeAccept: func(s *end) {
			in = s.region(64, local)
			s.recv(1, in.sge(0, 64))
		},
		beforeConnect: func(c *end) {
			reg := c.region(64, local)
			c.recv(2, reg.sge(0, 64))
		},
	})
	src := client.region(64, local)
	pattern(src.mem, 1)
	server.post(rdma.SendWR{ID: 3, Opcode: rdma.OpSend, Flags: rdma.SendSignaled})
	client.post(rdma.SendWR{ID: 1, Opcode: rdma.OpSend, Flags: rdma.SendSignaled, SGL: []rdma.SGE{src.sge(0, 64)}})
	server.ok(1, rdma.OpRecv)
	same(r.t, "message", in.mem, src.mem)
	client.ok(1, rdma.OpSend)
	server.ok(3, rdma.OpSend)
	client.ok(2, rdma.OpRecv)
	for _, e := range []*end{client, server} {
		if ev := <-e.id.Events(); ev.Type != rdma.EventEstablished {
			r.t.Errorf("%s: first event %+v", e.name, ev)
		}
	}
}
