package rpc_test

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"fileserver/internal/admission"
	"fileserver/internal/slab"
	"fileserver/nfs/rpc"
)

// TestUnreadReplies: clients that do not read their replies keep their share of the pool, and no more; others go on.
func TestUnreadReplies(t *testing.T) {
	const clients, each, held = 10, 100, 4 << 20
	s := newServer(t, func(c *rpc.TCPConfig) { c.MaxHeld = held }).listen() // the pool has 64 MiB
	for range clients {
		nc, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		for i := range uint32(each) {
			if _, err := nc.Write(fragmented(append(rpc.AppendCall(nil, i, prog, vers, procRead, rpc.AuthNone, nil), word(1<<20)...))); err != nil {
				t.Fatal(err)
			}
		}
	}
	victim := s.dial()
	for range 20 {
		begin := time.Now()
		if stat, _, err := victim.Do(must(t), call(procRead, word(1<<20))); err != nil || stat != rpc.Success {
			t.Fatalf("the victim's READ: %v, %v after %v", stat, err, time.Since(begin))
		}
		// What is counted when it has been given back already may be beyond it for a moment.
		if got := s.pool.Stats().Bytes; got > clients*(held+1<<20)+8<<20 {
			t.Fatalf("%d MiB of the pool are taken", got>>20)
		}
	}
}

// TestBufferWait: a call does not wait for memory for ever, and what it did not get is not counted.
func TestBufferWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := slab.New(slab.Config{Limit: 16 << 20, Debug: true})
		held := admission.New(1 << 20)
		c := rpc.Call{Buffers: pool, Held: held}
		get := func(want bool, after time.Duration) *slab.Buf {
			t.Helper()
			begin := time.Now()
			b, err := c.Buffer(t.Context(), 600<<10)
			if (err == nil) != want || time.Since(begin) != after {
				t.Fatalf("%v after %v", err, time.Since(begin))
			}
			return b
		}
		first := get(true, 0)
		get(false, 5*time.Second) // the connection holds what it may
		time.AfterFunc(time.Second, first.Release)
		second := get(true, time.Second)
		second.Release()
		if held.Held() != 0 {
			t.Errorf("%d bytes are counted", held.Held())
		}
		var all []*slab.Buf // the pool is exhausted
		for {
			b, ok := pool.TryGet(1 << 20)
			if !ok {
				break
			}
			all = append(all, b)
		}
		get(false, 5*time.Second)
		if held.Held() != 0 {
			t.Errorf("%d bytes are counted of what was not had", held.Held())
		}
		time.AfterFunc(time.Second, all[0].Release)
		get(true, time.Second).Release()
		for _, b := range all[1:] {
			b.Release()
		}
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
}
