package rpc_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"fileserver/internal/slab"
	"fileserver/nfs/rpc"
	"fileserver/nfs/rpc/rpcclient"
	"fileserver/nfs/xdr"
)

const (
	prog = 400100
	vers = 1

	procEcho  = 1 // opaque in, the same opaque out, as a payload
	procBlock = 2 // waits until released
	procCount = 3 // counts executions; cached
	procRead  = 4 // n in, n bytes of payload out
)

// server is a TCPServer of a test program.
type server struct {
	t       testing.TB
	pool    *slab.Pool
	tcp     *rpc.TCPServer
	handler *rpc.Server
	addr    string

	executed atomic.Int32 // of procCount
	entered  chan struct{}
	release  chan struct{}
	running  atomic.Int32
	peak     atomic.Int32
}

func newServer(t testing.TB, mod func(*rpc.TCPConfig)) *server {
	t.Helper()
	s := &server{t: t, entered: make(chan struct{}, 1000), release: make(chan struct{})}
	_, debug := t.(*testing.T)
	s.pool = slab.New(slab.Config{Limit: 64 << 20, Debug: debug})
	p := &rpc.Program{Prog: prog, Vers: vers, Name: "test", Procs: []rpc.Procedure{
		procEcho: {Name: "ECHO", Serve: s.echo}, procBlock: {Name: "BLOCK", Serve: s.block},
		procCount: {Name: "COUNT", Serve: s.count, Cache: true}, procRead: {Name: "READ", Serve: s.read},
	}}
	h, err := rpc.NewServer(rpc.Config{}, p)
	if err != nil {
		t.Fatal(err)
	}
	s.handler = h
	cfg := rpc.TCPConfig{Handler: h, Buffers: s.pool}
	if mod != nil {
		mod(&cfg)
	}
	s.tcp = rpc.NewTCPServer(cfg)
	t.Cleanup(func() {
		s.tcp.Close()
		if l := s.pool.Leaks(); len(l) > 0 {
			t.Errorf("leaked: %v", l)
		}
		if err := s.pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// listen serves on loopback.
func (s *server) listen() *server {
	s.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	s.addr = l.Addr().String()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.tcp.Serve(context.Background(), l)
	}()
	s.t.Cleanup(func() {
		l.Close()
		<-done
	})
	return s
}

func (s *server) dial() *rpcclient.Client {
	s.t.Helper()
	c, err := rpcclient.Dial(context.Background(), s.addr, 1, 1)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	return c
}

func (s *server) echo(_ context.Context, c *rpc.Call, r *rpc.Reply) rpc.AcceptStat {
	at := int(c.Args.Pos()) + 4 // the message lies at the beginning of its buffer
	p := c.Args.Payload(8 << 20)
	if c.Args.Finish() != nil {
		return rpc.GarbageArgs
	}
	if p.Buf == nil {
		r.Head = xdr.AppendOpaque(r.Head, p.Data)
		return rpc.Success
	}
	// The payload goes back from where it was received.
	r.AppendPayload(p.Buf.Retain(), at, len(p.Data), true)
	return rpc.Success
}

func (s *server) block(ctx context.Context, _ *rpc.Call, _ *rpc.Reply) rpc.AcceptStat {
	n := s.running.Add(1)
	for p := s.peak.Load(); n > p && !s.peak.CompareAndSwap(p, n); p = s.peak.Load() {
	}
	s.entered <- struct{}{}
	select {
	case <-s.release:
	case <-ctx.Done():
	}
	s.running.Add(-1)
	return rpc.Success
}

func (s *server) count(_ context.Context, c *rpc.Call, r *rpc.Reply) rpc.AcceptStat {
	if c.Args.Uint32() == 1 {
		s.entered <- struct{}{}
		<-s.release
	}
	r.Head = xdr.AppendUint32(r.Head, uint32(s.executed.Add(1)))
	return rpc.Success
}

func (s *server) read(ctx context.Context, c *rpc.Call, r *rpc.Reply) rpc.AcceptStat {
	n := int(c.Args.Uint32())
	b, err := c.Buffer(ctx, n)
	if err != nil {
		return rpc.SystemErr
	}
	fill(b.Bytes())
	r.AppendPayload(b, 0, n, true)
	r.Head = xdr.AppendUint32(r.Head, 0xfeedface)
	return rpc.Success
}

func fill(b []byte) {
	for i := range b {
		b[i] = byte(i) ^ byte(i>>8)
	}
}

func pattern(n int) []byte {
	b := make([]byte, n)
	fill(b)
	return b
}

func word(v uint32) []byte { return xdr.AppendUint32(nil, v) }

func call(proc uint32, args ...[]byte) rpcclient.Call {
	return rpcclient.Call{Prog: prog, Vers: vers, Proc: proc, Args: args}
}

// must is a context that ends a test which hangs.
func must(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}
