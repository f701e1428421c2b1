package nfsrdma

import (
	"context"
	"testing"

	"fileserver/internal/slab"
	"fileserver/nfs/xdr"
	"fileserver/rdma"
	"fileserver/rdma/rdmatest/mem"
)

// plain is the least a client can be: it sends one message again and again, and
// allocates nothing itself.
type plain struct {
	ep   *rdma.Endpoint
	got  chan int
	done chan struct{}
}

func (p *plain) Received(buf *slab.Buf, _ uint32, _ bool) {
	n := buf.Len()
	_ = p.ep.Repost(buf)
	p.got <- n
}

func (p *plain) Closed(error) { close(p.done) }

// newPlain connects, and registers a buffer of n bytes that the server may read and write.
func newPlain(tb testing.TB, e *env, n int) (*plain, rdma.MR) {
	id, err := clientSide{e.p}.Resolve(context.Background(), e.addr)
	if err != nil {
		tb.Fatal(err)
	}
	m, err := e.memory("client", e.client)(id.Device())
	if err != nil {
		tb.Fatal(err)
	}
	p := &plain{got: make(chan int, 1), done: make(chan struct{})}
	p.ep, err = rdma.NewEndpoint(id, rdma.EndpointConfig{Memory: m, SendDepth: 8, RecvDepth: 8, RecvSize: 4096, Handler: p})
	if err != nil {
		tb.Fatal(err)
	}
	buf, err := e.client.Get(context.Background(), n)
	if err != nil {
		tb.Fatal(err)
	}
	mr, err := m.PD().RegMR(buf.Bytes(), rdma.AccessLocalWrite|rdma.AccessRemoteRead|rdma.AccessRemoteWrite)
	if err != nil {
		tb.Fatal(err)
	}
	// Without private data, so that no key is ever invalidated and the message can be sent again.
	if err := id.Connect(context.Background(), rdma.ConnParams{IRD: 16, RNRRetry: 7}); err != nil {
		tb.Fatal(err)
	}
	p.ep.Start()
	tb.Cleanup(func() {
		p.ep.Disconnect(nil)
		<-p.done
		if err := mr.Deregister(); err != nil {
			tb.Error(err)
		}
		buf.Release()
	})
	return p, mr
}

func (p *plain) call(tb testing.TB, msg []byte) int {
	buf, ok := p.ep.Memory().Pool().TryGet(len(msg))
	if !ok {
		tb.Fatal("no memory")
	}
	copy(buf.Bytes(), msg)
	op := p.ep.NewSendOp()
	op.Send(buf, len(msg))
	if err := p.ep.Queue(op); err != nil {
		tb.Fatal(err)
	}
	return <-p.got
}

// readMsg and writeMsg are calls like READ and WRITE.
func readMsg(mr rdma.MR, n uint32) []byte {
	return append(hdr(procMsg).end().array(rdma.Segment{Addr: mr.Addr(), Length: n, RKey: mr.RKey()}).end().end().b, head(doMake, n, 1)...)
}

func writeMsg(mr rdma.MR, n uint32) []byte {
	h := xdr.AppendUint32(head(doHoldPayload), n)
	return append(hdr(procMsg).read(uint32(len(h)), rdma.Segment{Addr: mr.Addr(), Length: n, RKey: mr.RKey()}).end().end().end().b, h...)
}

func TestNoAllocationsPerCall(t *testing.T) {
	e := newEnv(t, options{caps: mem.IWARPCaps(), quick: true})
	p, mr := newPlain(t, e, 64<<10)
	for name, msg := range map[string][]byte{"read": readMsg(mr, 64<<10), "write": writeMsg(mr, 64<<10)} {
		for range 100 {
			p.call(t, msg)
		}
		if n := testing.AllocsPerRun(2000, func() { p.call(t, msg) }); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
