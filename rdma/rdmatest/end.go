package rdmatest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"fileserver/internal/slab"
	"fileserver/rdma"
)

// patience is how long the suite waits for what must happen, on the slowest machine.
var patience = time.Minute

// options describe a connection under test.
type options struct {
	sendDepth, recvDepth int // 0: 16
	sge                  int // 0: 1
	client, server       rdma.ConnParams
	beforeAccept         func(server *end) // after CreateQP
	beforeConnect        func(client *end)
}

// end is one side of a connection.
type end struct {
	t        testing.TB
	name     string
	h        Harness
	dev      rdma.Device
	caps     rdma.Caps
	id       rdma.ID
	pd       rdma.PD
	cq       rdma.CQ
	qp       rdma.QP
	pool     *slab.Pool
	regions  []*region
	wcs      []rdma.WC // polled, not yet asked for
	isOver   bool
	isClosed bool
	last     rdma.Event
}

// region is registered memory.
type region struct {
	buf  *slab.Buf
	mem  []byte
	mr   rdma.MR
	gone bool
}

func (r *region) sge(off, n int) rdma.SGE {
	return rdma.SGE{Addr: r.mr.Addr() + uint64(off), Length: uint32(n), LKey: r.mr.LKey()}
}

const (
	local  = rdma.AccessLocalWrite
	remote = rdma.AccessLocalWrite | rdma.AccessRemoteRead | rdma.AccessRemoteWrite
)

func params(depth int) rdma.ConnParams { return rdma.ConnParams{IRD: depth, ORD: depth, RNRRetry: 7} }

func deadline() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), patience)
}

// connect makes a connection.
func (r *rig) connect(o options) (client, server *end) {
	r.t.Helper()
	l := r.listen()
	defer l.Close()
	return r.connectTo(l, o)
}

func (r *rig) listen() rdma.Listener {
	r.t.Helper()
	ctx, cancel := deadline()
	defer cancel()
	l, err := r.server.Provider.Listen(ctx, r.server.Listen)
	if err != nil {
		r.t.Fatal(err)
	}
	return l
}

func (r *rig) connectTo(l rdma.Listener, o options) (client, server *end) {
	r.t.Helper()
	ctx, cancel := deadline()
	defer cancel()
	o.client, o.server = defaults(o.client), defaults(o.server)
	client = r.resolve(l, o)
	accepted := make(chan error, 1)
	go func() {
		id, err := l.Accept(ctx)
		if err == nil {
			server = newEnd(r.t, "server", r.server, id, o)
			if server != nil {
				if o.beforeAccept != nil {
					o.beforeAccept(server)
				}
				err = id.Accept(o.server)
			}
		}
		accepted <- err
	}()
	err := client.id.Connect(ctx, o.client)
	if aerr := <-accepted; err != nil || aerr != nil || server == nil {
		r.t.Fatalf("Connect: %v, Accept: %v", err, aerr)
	}
	return client, server
}

// resolve makes the connecting side.
func (r *rig) resolve(l rdma.Listener, o options) *end {
	r.t.Helper()
	ctx, cancel := deadline()
	defer cancel()
	id, err := r.client.Provider.Resolve(ctx, l.Addr())
	if err != nil {
		r.t.Fatal(err)
	}
	client := newEnd(r.t, "client", r.client, id, o)
	if client == nil {
		r.t.FailNow()
	}
	if o.beforeConnect != nil {
		o.beforeConnect(client)
	}
	return client
}

func defaults(p rdma.ConnParams) rdma.ConnParams {
	if p.IRD == 0 && p.ORD == 0 && p.RNRRetry == 0 {
		p.IRD, p.ORD, p.RNRRetry = 8, 8, 7
	}
	return p
}

// newEnd makes the queue pair of an ID. It may run on any goroutine; nil means failure.
func newEnd(t testing.TB, name string, h Harness, id rdma.ID, o options) *end {
	e := &end{t: t, name: name, h: h, id: id, dev: id.Device()}
	e.caps = e.dev.Caps()
	e.pool = slab.New(slab.Config{Limit: 256 << 20})
	t.Cleanup(e.close)
	if o.sendDepth == 0 {
		o.sendDepth = 16
	}
	if o.recvDepth == 0 {
		o.recvDepth = 16
	}
	var err error
	if e.pd, err = e.dev.AllocPD(); err != nil {
		t.Errorf("AllocPD: %v", err)
		return nil
	}
	if e.cq, err = e.dev.CreateCQ(o.sendDepth + o.recvDepth); err != nil {
		t.Errorf("CreateCQ: %v", err)
		return nil
	}
	e.qp, err = id.CreateQP(e.pd, rdma.QPConfig{
		SendCQ: e.cq, RecvCQ: e.cq, SendDepth: o.sendDepth, RecvDepth: o.recvDepth,
		MaxSendSGE: max(1, o.sge), MaxRecvSGE: max(1, o.sge), MaxInline: e.caps.MaxInline,
	})
	if err != nil {
		t.Errorf("CreateQP: %v", err)
		return nil
	}
	return e
}

// close gives everything back, in the order of the contract, and checks that it can be.
func (e *end) close() {
	if e.isClosed {
		return
	}
	e.isClosed = true
	e.check(e.id.Close())
	if e.cq != nil {
		var wc [16]rdma.WC
		for e.cq.Poll(wc[:]) > 0 {
		}
		e.check(e.cq.Close())
	}
	for _, r := range e.regions {
		if !r.gone {
			e.check(r.mr.Deregister())
		}
		r.buf.Release()
	}
	if e.pd != nil {
		e.check(e.pd.Dealloc())
	}
	for _, l := range e.pool.Leaks() {
		e.t.Error(l)
	}
	e.check(e.pool.Close())
}

func (e *end) check(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Errorf("%s: %v", e.name, err)
	}
}

// region registers n bytes of fresh memory in the end's domain.
func (e *end) region(n int, access rdma.Access) *region { return e.regionIn(e.pd, n, access) }

func (e *end) regionIn(pd rdma.PD, n int, access rdma.Access) *region {
	e.t.Helper()
	b, ok := e.pool.TryGet(n)
	if !ok {
		e.t.Fatal("no memory")
	}
	clear(b.Bytes())
	mr, err := pd.RegMR(b.Bytes(), access)
	if err != nil {
		b.Release()
		e.t.Fatal(err)
	}
	r := &region{buf: b, mem: b.Bytes(), mr: mr}
	e.regions = append(e.regions, r)
	if !bytes.Equal(mr.Bytes(), r.mem) {
		e.t.Error("MR.Bytes is not the memory registered")
	}
	return r
}

// post posts a chain that must be accepted.
func (e *end) post(wrs ...rdma.SendWR) {
	e.t.Helper()
	if err := e.qp.PostSend(wrs); err != nil {
		e.t.Fatalf("%s: PostSend: %v", e.name, err)
	}
}

// recv posts a receive.
func (e *end) recv(id uint64, sgl ...rdma.SGE) {
	e.t.Helper()
	if err := e.qp.PostRecv([]rdma.RecvWR{{ID: id, SGL: sgl}}); err != nil {
		e.t.Fatalf("%s: PostRecv: %v", e.name, err)
	}
}

// poll waits for a completion of any kind.
func (e *end) poll() (wc rdma.WC, ok bool) {
	if len(e.wcs) == 0 {
		ctx, cancel := deadline()
		defer cancel()
		var more [8]rdma.WC
		n := e.cq.Poll(more[:])
		for n == 0 {
			if err := e.cq.Wait(ctx); err != nil {
				return rdma.WC{}, false
			}
			n = e.cq.Poll(more[:])
		}
		e.wcs = append(e.wcs, more[:n]...)
	}
	wc = e.wcs[0]
	e.wcs = e.wcs[1:]
	return wc, true
}

// wait waits for the completion with this ID; others are kept for later.
func (e *end) wait(id uint64) rdma.WC {
	e.t.Helper()
	var others []rdma.WC
	for {
		wc, ok := e.poll()
		if !ok {
			e.t.Fatalf("%s: no completion of request %d; there were %+v", e.name, id, others)
		}
		if wc.ID == id {
			e.wcs = append(others, e.wcs...)
			if wc.QPN != e.qp.Num() {
				e.t.Errorf("%s: completion of queue pair %d, not %d", e.name, wc.QPN, e.qp.Num())
			}
			return wc
		}
		others = append(others, wc)
	}
}

// ok waits for a completion, which must be a success.
func (e *end) ok(id uint64, op rdma.Opcode) rdma.WC {
	e.t.Helper()
	wc := e.wait(id)
	if wc.Status != rdma.StatusSuccess || wc.Opcode != op {
		e.t.Fatalf("%s: request %d: %v %v, not %v", e.name, id, wc.Opcode, wc.Status, op)
	}
	return wc
}

// over waits for the event that ends the connection, and checks that it is the last.
func (e *end) over() rdma.Event {
	e.t.Helper()
	established := 0
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for !e.isOver {
		select {
		case ev, ok := <-e.id.Events():
			switch {
			case !ok:
				e.t.Fatalf("%s: the events ended without an end", e.name)
			case ev.Type == rdma.EventEstablished:
				if established++; established > 1 {
					e.t.Errorf("%s: established twice", e.name)
				}
			default:
				e.isOver, e.last = true, ev
				if ev, ok := <-e.id.Events(); ok {
					e.t.Errorf("%s: event %+v after the last", e.name, ev)
				}
			}
		case <-timer.C:
			e.t.Fatalf("%s: the connection does not end", e.name)
		}
	}
	return e.last
}

// ended checks all that must be true after the end of a connection.
func (e *end) ended() {
	e.t.Helper()
	e.over()
	if err := e.qp.PostSend([]rdma.SendWR{{Opcode: rdma.OpSend, Flags: rdma.SendSignaled}}); !errors.Is(err, rdma.ErrNotConnected) {
		e.t.Errorf("%s: PostSend after the end: %v", e.name, err)
	}
	e.check(e.id.Disconnect())
}

// pattern fills memory so that every shift and swap shows.
func pattern(b []byte, seed int) {
	x := uint32(seed)*2654435761 + 12345
	for ; len(b) >= 4; b = b[4:] {
		x = x*1664525 + 1013904223
		binary.LittleEndian.PutUint32(b, x)
	}
	for i := range b {
		b[i] = byte(x>>(8*i)) + 1
	}
}

func patterned(n, seed int) []byte {
	b := make([]byte, n)
	pattern(b, seed)
	return b
}

// same reports the first difference.
func same(t testing.TB, what string, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d bytes, not %d", what, len(got), len(want))
		return
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%s: byte %d of %d is %#x, not %#x", what, i, len(got), got[i], want[i])
			return
		}
	}
}
