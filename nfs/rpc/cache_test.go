package rpc

import (
	"context"
	"fmt"
	"net/netip"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fileserver/internal/slab"
	"fileserver/nfs/xdr"
)

// counter is a server with one cached procedure that returns how often it ran.
type counter struct {
	*Server
	mu    sync.Mutex
	runs  uint32
	block chan struct{} // when not nil, a run receives from it first
}

func newCounter(t testing.TB, cfg CacheConfig) *counter {
	c := &counter{}
	s, err := NewServer(Config{Cache: cfg}, &Program{Prog: testProg, Vers: 3, Procs: []Procedure{
		1: {Name: "COUNT", Cache: true, Serve: func(_ context.Context, call *Call, r *Reply) AcceptStat {
			call.Args.Rest()
			if c.block != nil {
				<-c.block
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			c.runs++
			r.Head = xdr.AppendUint32(r.Head, c.runs)
			return Success
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	c.Server = s
	return c
}

func countCall(xid uint32, uid uint32, args ...uint32) []byte {
	return append(AppendCall(nil, xid, testProg, 3, 1, AuthSys, AppendAuthSys(nil, 0, "", uid, 0, nil)), words(args...)...)
}

// count makes the call and returns the counter; 0 means there was no reply.
func (s *counter) count(t testing.TB, conn *Conn, msg []byte) uint32 {
	t.Helper()
	reply, ok := serve(t, s.Server, conn, msg)
	if !ok {
		return 0
	}
	d := xdr.NewDecoder(reply[24:])
	return d.Uint32()
}

func TestCacheKey(t *testing.T) {
	s := newCounter(t, CacheConfig{})
	first := s.count(t, testConn(1, "192.0.2.1:900"), countCall(7, 0, 1, 2))
	same := map[string]uint32{
		"same connection": s.count(t, testConn(1, "192.0.2.1:900"), countCall(7, 0, 1, 2)),
		"other port":      s.count(t, testConn(2, "192.0.2.1:31000"), countCall(7, 0, 1, 2)),
		"mapped address":  s.count(t, testConn(3, "[::ffff:192.0.2.1]:31000"), countCall(7, 0, 1, 2)),
	}
	for name, n := range same {
		if n != first {
			t.Errorf("%s: executed again", name)
		}
	}
	other := map[string]uint32{
		"other address":   s.count(t, testConn(4, "192.0.2.2:900"), countCall(7, 0, 1, 2)),
		"other xid":       s.count(t, testConn(1, "192.0.2.1:900"), countCall(8, 0, 1, 2)),
		"other arguments": s.count(t, testConn(1, "192.0.2.1:900"), countCall(7, 0, 1, 3)),
		"shorter":         s.count(t, testConn(1, "192.0.2.1:900"), countCall(7, 0, 1)),
		"other user":      s.count(t, testConn(1, "192.0.2.1:900"), countCall(7, 1, 1, 2)),
	}
	seen := map[uint32]bool{first: true}
	for name, n := range other {
		if seen[n] {
			t.Errorf("%s: not executed", name)
		}
		seen[n] = true
	}
}

// TestCacheChunks: arguments that came in a chunk distinguish calls as well.
func TestCacheChunks(t *testing.T) {
	s := newCounter(t, CacheConfig{})
	msg := countCall(7, 0, 4)
	run := func(chunk string) uint32 {
		c := &Call{Conn: testConn(1, "192.0.2.1:900"), Message: xdr.NewChunkedDecoder(msg, nil, []xdr.Chunk{{Pos: uint32(len(msg)), Data: []byte(chunk)}})}
		var r Reply
		s.Serve(context.Background(), c, &r)
		d := xdr.NewDecoder(r.Head[24:])
		return d.Uint32()
	}
	if a, b, c := run("abcd"), run("abce"), run("abcd"); a == b || a != c {
		t.Fatal(a, b, c)
	}
}

func TestCacheAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCounter(t, CacheConfig{Age: time.Minute})
		conn := testConn(1, "192.0.2.1:900")
		s.count(t, conn, countCall(7, 0))
		time.Sleep(time.Minute)
		if n := s.count(t, conn, countCall(7, 0)); n != 1 {
			t.Fatal("forgotten too early")
		}
		time.Sleep(time.Second)
		if n := s.count(t, conn, countCall(7, 0)); n != 2 {
			t.Fatal("not forgotten")
		}
		if len(s.cache.clients) != 1 || s.cache.count != 1 {
			t.Fatalf("%d clients, %d entries", len(s.cache.clients), s.cache.count)
		}
	})
}

func TestCacheInProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCounter(t, CacheConfig{})
		s.block = make(chan struct{})
		got := make(chan uint32, 4)
		a, b, c := testConn(1, "192.0.2.1:900"), testConn(2, "192.0.2.1:901"), testConn(3, "192.0.2.1:902")
		done := make(chan struct{})
		c.Done = done
		ask := func(conn *Conn) { go func() { got <- s.count(t, conn, countCall(7, 0)) }() }
		ask(a)
		synctest.Wait()
		ask(a) // the same connection: dropped, the first will answer
		synctest.Wait()
		if n := <-got; n != 0 {
			t.Fatal("duplicate answered", n)
		}
		ask(b) // reconnected: waits
		ask(c) // reconnected again, and lost
		synctest.Wait()
		close(done)
		synctest.Wait()
		if n := <-got; n != 0 {
			t.Fatal("lost connection answered", n)
		}
		s.block <- struct{}{}
		synctest.Wait()
		if x, y := <-got, <-got; x != 1 || y != 1 {
			t.Fatal("first and the waiting duplicate got", x, y)
		}
		ask(b)
		if n := <-got; n != 1 {
			t.Fatal("executed again", n)
		}
	})
}

// TestCacheOutlivesConnection: the context of the call does not end with what asked for it.
func TestCacheOutlivesContext(t *testing.T) {
	s, err := NewServer(Config{}, &Program{Prog: testProg, Vers: 3, Procs: []Procedure{
		1: {Name: "CTX", Cache: true, Serve: func(ctx context.Context, _ *Call, r *Reply) AcceptStat {
			if ctx.Err() != nil {
				return SystemErr
			}
			return Success
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c := &Call{Conn: testConn(1, "192.0.2.1:900"), Message: xdr.NewDecoder(countCall(1, 0))}
	var r Reply
	if !s.Serve(ctx, c, &r) || r.Head[23] != byte(Success) {
		t.Fatalf("%x", r.Head)
	}
}

func TestCacheBounds(t *testing.T) {
	for name, cfg := range map[string]CacheConfig{
		"entries": {Entries: 100},
		"bytes":   {Bytes: 50_000},
	} {
		t.Run(name, func(t *testing.T) {
			s := newCounter(t, cfg)
			quiet, loud := testConn(1, "192.0.2.1:900"), testConn(2, "192.0.2.2:900")
			for i := range uint32(20) {
				s.count(t, quiet, countCall(i, 0))
			}
			for i := range uint32(5000) {
				s.count(t, loud, countCall(i, 0))
			}
			if s.cache.count > s.cache.cfg.Entries || s.cache.bytes > s.cache.cfg.Bytes || len(s.cache.entries) != s.cache.count {
				t.Fatalf("%d entries (%d), %d bytes", s.cache.count, len(s.cache.entries), s.cache.bytes)
			}
			runs := s.runs
			for i := range uint32(20) {
				s.count(t, quiet, countCall(i, 0))
			}
			if s.runs != runs {
				t.Fatal("a loud client drove out the replies of a quiet one")
			}
			if s.count(t, loud, countCall(4999, 0)); s.runs != runs {
				t.Fatal("the last reply of the loud client is gone")
			}
			if s.count(t, loud, countCall(0, 0)); s.runs != runs+1 {
				t.Fatal("the first reply of the loud client is still there")
			}
		})
	}
}

// TestCacheManyClients: addresses come and go, and leave nothing behind.
func TestCacheManyClients(t *testing.T) {
	s := newCounter(t, CacheConfig{Entries: 50})
	for i := range 2000 {
		addr := netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})
		s.count(t, &Conn{RemoteAddr: netip.AddrPortFrom(addr, 1)}, countCall(1, 0))
	}
	if n := len(s.cache.clients); n > 50 || n != len(s.cache.byCost) {
		t.Fatalf("%d clients, %d in the heap", n, len(s.cache.byCost))
	}
	for i, c := range s.cache.byCost {
		if c.index != i {
			t.Fatalf("client %d thinks it is %d", i, c.index)
		}
	}
}

func TestCachePayloadIsAnError(t *testing.T) {
	pool := slab.New(slab.Config{Limit: 1 << 24, Debug: true})
	runs := 0
	s, err := NewServer(Config{}, &Program{Prog: testProg, Vers: 3, Procs: []Procedure{
		1: {Name: "PAYLOAD", Cache: true, Serve: func(ctx context.Context, _ *Call, r *Reply) AcceptStat {
			runs++
			b, err := pool.Get(ctx, 8)
			if err != nil {
				return SystemErr
			}
			r.AppendPayload(b, 0, 8, true)
			return Success
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, ok := serve(t, s, testConn(1, "192.0.2.1:900"), countCall(1, 0)); !ok {
			t.Fatal("no reply")
		}
	}
	if runs != 2 || len(s.cache.entries) != 0 {
		t.Fatal(runs, len(s.cache.entries))
	}
	if l := pool.Leaks(); len(l) > 0 {
		t.Fatal(l)
	}
}

// TestCacheConcurrent: whatever races, every call is executed once.
func TestCacheConcurrent(t *testing.T) {
	s := newCounter(t, CacheConfig{})
	const calls = 200
	var wg sync.WaitGroup
	for i := range 4 {
		conn := testConn(uint64(i), fmt.Sprintf("192.0.2.1:%d", 900+i))
		wg.Go(func() {
			for x := range uint32(calls) {
				if s.count(t, conn, countCall(x, 0)) == 0 {
					t.Error("no reply")
				}
				runtime.Gosched()
			}
		})
	}
	wg.Wait()
	if s.runs != calls {
		t.Fatalf("%d executions of %d calls", s.runs, calls)
	}
}
