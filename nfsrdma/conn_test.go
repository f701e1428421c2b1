package nfsrdma

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"fileserver/nfs/xdr"
	"fileserver/rdma"
	"fileserver/rdma/rdmatest/mem"
)

// TestChunks sends and fetches data in every way, on devices of every kind, with
// segments large and small.
func TestChunks(t *testing.T) {
	for name, caps := range map[string]rdma.Caps{"mem": mem.DefaultCaps(), "iwarp": mem.IWARPCaps(), "adapter": mem.AdapterCaps(), "roce": mem.RoCECaps()} {
		for _, segment := range []int{0, 128 << 10, 4096, 1000} {
			t.Run(fmt.Sprintf("%s/%d", name, segment), func(t *testing.T) {
				e := newEnv(t, options{caps: caps, own: segment == 4096})
				c := e.dial(ClientConfig{SegmentSize: segment})
				for _, n := range []int{0, 1, 2, 3, 4, 5, 1000, 3001, 4096, 9000, 65537, 70000} {
					echo(t, e, c, n)
					fetch(t, e, c, n)
				}
				if segment == 0 || segment >= 128<<10 {
					echo(t, e, c, 1<<20)
					fetch(t, e, c, 1<<20-1)
				}
			})
		}
	}
}

// echo sends n bytes by a Read chunk and gets them back by a Write chunk.
func echo(t *testing.T, e *env, c *Client, n int) {
	t.Helper()
	src, dst := e.buf(n+1), e.buf(n+5)
	pattern(src.Bytes(), n)
	req := &Request{Head: xdr.AppendUint32(head(doEcho), uint32(n)), Writes: []Item{{Buf: dst, Len: n + 5}}}
	if n > 0 {
		req.Reads = []Item{{Pos: uint32(len(req.Head)), Buf: src, Off: 1, Len: n}}
	}
	resp := do(t, c, req)
	if resp.Placed[0] != n || !bytes.Equal(dst.Bytes()[:n], src.Bytes()[1:n+1]) {
		t.Fatalf("echo of %d bytes: %d placed, or other bytes", n, resp.Placed[0])
	}
	if len(resp.Head) != 12 {
		t.Fatalf("echo of %d bytes: %d bytes inline", n, len(resp.Head))
	}
}

// fetch gets n bytes that cannot be placed by themselves: inline, or in the Reply chunk.
func fetch(t *testing.T, e *env, c *Client, n int) {
	t.Helper()
	if n > maxReply-64 {
		// The program is told that no more than maxReply will be taken back.
		resp := do(t, c, &Request{Head: head(doMake, uint32(n), 1), Reply: &Item{Buf: e.buf(n), Len: n}})
		if len(resp.Head) != maxReply || !resp.Long {
			t.Fatalf("reply of %d bytes, long %v", len(resp.Head), resp.Long)
		}
		return
	}
	dst := e.buf(n + 64)
	want := pattern(make([]byte, n), 3)
	resp := do(t, c, &Request{Head: head(doHead, uint32(n)), Reply: &Item{Buf: dst, Len: n + 64}})
	if !bytes.Equal(resp.Head[8:], want) {
		t.Fatalf("%d bytes in a long reply differ", n)
	}
	if n < 3500 && resp.Long || n > 4096 && !resp.Long {
		t.Fatalf("reply of %d bytes, long %v", n, resp.Long)
	}
	// The same as a result by reference, for which there is no Write chunk.
	pattern(want, 0)
	resp = do(t, c, &Request{Head: head(doMake, uint32(n), 1), Reply: &Item{Buf: dst, Len: n + 64}})
	if len(resp.Head) != 12+n+xdr.Pad(n) || !bytes.Equal(resp.Head[12:12+n], want) {
		t.Fatalf("%d bytes by reference in a reply of %d differ", n, len(resp.Head))
	}
}

func TestSeveralChunks(t *testing.T) {
	e := newEnv(t, options{caps: mem.IWARPCaps()})
	c := e.dial(ClientConfig{SegmentSize: 700})
	// Three items: a chunk, inline, a chunk; results into two Write chunks, the third inline.
	a, b := e.buf(2001), e.buf(1003)
	pattern(a.Bytes(), 1)
	pattern(b.Bytes(), 2)
	inline := pattern(make([]byte, 30), 3)
	h := xdr.AppendUint32(head(doEcho), 2001)
	pos1 := uint32(len(h))
	h = xdr.AppendOpaque(h, inline)
	h = xdr.AppendUint32(h, 1003)
	pos2 := uint32(len(h)) + 2004
	x, y := e.buf(4000), e.buf(30)
	resp := do(t, c, &Request{
		Head:   h,
		Reads:  []Item{{Pos: pos1, Buf: a, Len: 2001}, {Pos: pos2, Buf: b, Len: 1003}},
		Writes: []Item{{Buf: x, Len: 4000}, {Buf: y, Len: 30}},
	})
	if resp.Placed[0] != 2001 || !bytes.Equal(x.Bytes()[:2001], a.Bytes()) {
		t.Errorf("first result: %d bytes placed", resp.Placed[0])
	}
	if resp.Placed[1] != 30 || !bytes.Equal(y.Bytes(), inline) {
		t.Errorf("second result: %d bytes placed", resp.Placed[1])
	}
	d := xdr.NewDecoder(resp.Head[8:])
	d.Uint32()
	d.Uint32()
	if got := d.Opaque(4096); !bytes.Equal(got, b.Bytes()) || d.Finish() != nil {
		t.Errorf("third result: %d bytes inline, %v", len(got), d.Err())
	}
	// A Write chunk for which there is no result comes back as zero.
	resp = do(t, c, &Request{Head: head(doHead, 8), Writes: []Item{{Buf: x, Len: 4000}}})
	if resp.Placed[0] != 0 {
		t.Errorf("unused Write chunk: %d bytes", resp.Placed[0])
	}
	// A result that is not eligible does not take the place of one that is.
	resp = do(t, c, &Request{Head: head(doMixed, 101), Writes: []Item{{Buf: x, Len: 4000}}})
	if resp.Placed[0] != 101 || !bytes.Equal(x.Bytes()[:101], pattern(make([]byte, 101), 1)) || len(resp.Head) != 8+4+104+4 {
		t.Errorf("mixed results: %d placed, %d inline", resp.Placed[0], len(resp.Head))
	}
}

func TestLongCall(t *testing.T) {
	e := newEnv(t, options{caps: mem.RoCECaps()})
	c := e.dial(ClientConfig{SegmentSize: 4096})
	// A call of 20 kB without anything placeable, and one with a further chunk in the middle.
	data := pattern(make([]byte, 20_001), 1)
	room, dst, more := e.buf(1<<16), e.buf(1<<16), e.buf(777)
	h := xdr.AppendOpaque(head(doEcho), data)
	resp := do(t, c, &Request{Head: h, LongCall: &Item{Buf: room, Len: 1 << 16}, Writes: []Item{{Buf: dst, Len: 1 << 16}}})
	if resp.Placed[0] != len(data) || !bytes.Equal(dst.Bytes()[:len(data)], data) {
		t.Fatalf("long call: %d bytes came back", resp.Placed[0])
	}
	pattern(more.Bytes(), 9)
	h = xdr.AppendUint32(h, 777)
	resp = do(t, c, &Request{
		Head: h, LongCall: &Item{Buf: room, Len: 1 << 16},
		Reads:  []Item{{Pos: uint32(len(h)), Buf: more, Len: 777}},
		Writes: []Item{{Buf: dst, Len: 20_001}, {Buf: dst, Off: 1 << 15, Len: 777}},
	})
	if resp.Placed[1] != 777 || !bytes.Equal(dst.Bytes()[1<<15:1<<15+777], more.Bytes()) {
		t.Fatalf("long call with a chunk: %v", resp.Placed)
	}
}

func TestInvalidation(t *testing.T) {
	for name, tt := range map[string]struct {
		cfg  ClientConfig
		n    int
		want int64
	}{
		"one key":           {ClientConfig{}, 3000, 1},
		"several keys":      {ClientConfig{SegmentSize: 1000}, 3000, 0},
		"client forbids it": {ClientConfig{NoInvalidate: true}, 3000, 0},
		"no private data":   {ClientConfig{NoPrivateData: true}, 3000, 0},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, options{caps: mem.IWARPCaps()})
			c := e.dial(tt.cfg)
			dst := e.buf(tt.n)
			do(t, c, &Request{Head: head(doMake, uint32(tt.n), 1), Writes: []Item{{Buf: dst, Len: tt.n}}})
			if got := c.Stats().Invalidated; got != tt.want {
				t.Errorf("%d keys invalidated, want %d", got, tt.want)
			}
			// Never with an error.
			var remote *RemoteError
			err := c.Do(t.Context(), &Request{Head: head(doHead, 9000), Writes: []Item{{Buf: dst, Len: 5}}}, &Response{})
			if !errors.As(err, &remote) || remote.Code != errChunk {
				t.Errorf("a reply without room: %v", err)
			}
			if got := c.Stats().Invalidated; got != tt.want {
				t.Errorf("%d keys invalidated after an error, want %d", got, tt.want)
			}
		})
	}
}

func TestInlineThresholds(t *testing.T) {
	e := newEnv(t, options{caps: mem.DefaultCaps()})
	for _, tt := range []struct {
		cfg ClientConfig
		out int // longest message the server may send
	}{
		{ClientConfig{NoPrivateData: true}, 1024},
		{ClientConfig{Inline: 2048}, 2048},
		{ClientConfig{}, 4096},
		{ClientConfig{Inline: 65536}, 4096}, // the server's own
	} {
		c := e.dial(tt.cfg)
		fit := tt.out - minHeader - 8
		if resp := do(t, c, &Request{Head: head(doHead, uint32(fit))}); len(resp.Head) != fit+8 {
			t.Errorf("%+v: reply of %d bytes", tt.cfg, len(resp.Head))
		}
		var remote *RemoteError
		if err := c.Do(t.Context(), &Request{Head: head(doHead, uint32(fit+4))}, &Response{}); !errors.As(err, &remote) {
			t.Errorf("%+v: a reply one word too long: %v", tt.cfg, err)
		}
		// A program that asks how much there is room for returns that much.
		if resp := do(t, c, &Request{Head: head(doMake, 1<<20, 1)}); len(resp.Head) != tt.out-minHeader {
			t.Errorf("%+v: %d bytes of at most %d", tt.cfg, len(resp.Head), tt.out-minHeader)
		}
	}
	c := e.dial(ClientConfig{Inline: 65536})
	if c.Inline() != 4096 {
		t.Errorf("client sends up to %d bytes", c.Inline())
	}
}

func TestCreditsAndConcurrency(t *testing.T) {
	e := newEnv(t, options{caps: mem.IWARPCaps(), server: Config{Credits: 16}})
	c := e.dial(ClientConfig{Credits: 64})
	do(t, c, &Request{Head: head(doHead, 0)})
	if g := c.Stats().Granted; g != 16 {
		t.Fatalf("%d credits granted, want 16", g)
	}
	var wg sync.WaitGroup
	errs := make(chan error, 64)
	for i := range 64 {
		wg.Go(func() {
			src, err := e.client.Get(t.Context(), 20_000)
			if err != nil {
				errs <- err
				return
			}
			dst, _ := e.client.Get(t.Context(), 20_000)
			defer src.Release()
			defer dst.Release()
			pattern(src.Bytes(), i)
			for range 20 {
				h := xdr.AppendUint32(head(doEcho), 20_000)
				req := &Request{Head: h, Reads: []Item{{Pos: uint32(len(h)), Buf: src, Len: 20_000}}, Writes: []Item{{Buf: dst, Len: 20_000}}}
				var resp Response
				if err := c.Do(t.Context(), req, &resp); err != nil {
					errs <- err
					return
				}
				if err := checkHead(req, &resp); err != nil || !bytes.Equal(src.Bytes(), dst.Bytes()) {
					errs <- fmt.Errorf("call %d: %w, or other bytes", i, err)
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
	if s := e.srv.Conns()[0].Stats(); s.Calls != 64*20+1 || s.ErrChunk != 0 {
		t.Errorf("%+v", s)
	}
}

// TestExhaustion runs more data at once than the server's memory holds: calls wait, none fails.
func TestExhaustion(t *testing.T) {
	e := newEnv(t, options{caps: mem.DefaultCaps(), limit: 32 << 20, server: Config{Credits: 32}})
	c := e.dial(ClientConfig{})
	do(t, c, &Request{Head: head(doHead, 0)})
	const n = 1 << 20
	src := e.buf(n)
	pattern(src.Bytes(), 5)
	var wg sync.WaitGroup
	for range 48 {
		wg.Go(func() {
			dst, err := e.client.Get(t.Context(), n)
			if err != nil {
				t.Error(err)
				return
			}
			defer dst.Release()
			for i := range 4 {
				h := xdr.AppendUint32(head(doEcho), 0)
				req := &Request{Head: h, Writes: []Item{{Buf: dst, Len: n}}}
				if i%2 == 0 { // a big result
					req.Head = head(doMake, n, 1)
				} else { // a big argument
					req.Head = xdr.AppendUint32(head(doHoldPayload), n)
					req.Reads = []Item{{Pos: uint32(len(req.Head)), Buf: src, Len: n}}
				}
				var resp Response
				if err := c.Do(t.Context(), req, &resp); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestShutdownLetsCallsFinish(t *testing.T) {
	e := newEnv(t, options{caps: mem.IWARPCaps()})
	c := e.dial(ClientConfig{})
	do(t, c, &Request{Head: head(doHead, 0)})
	done := make(chan error, 1)
	go func() { done <- c.Do(context.Background(), &Request{Head: head(doWait)}, &Response{}) }()
	for e.entered.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	down := make(chan error, 1)
	go func() { down <- e.srv.Shutdown(context.Background()) }()
	select {
	case <-down:
		t.Fatal("shutdown did not wait for the call")
	case <-time.After(20 * time.Millisecond):
	}
	close(e.gate)
	if err := <-done; err != nil {
		t.Errorf("the running call: %v", err)
	}
	if err := <-down; err != nil {
		t.Error(err)
	}
	if _, err := Dial(t.Context(), clientSide{e.p}, e.addr, ClientConfig{Memory: e.memory("client", e.client)}); err == nil {
		t.Error("a new connection was accepted")
	}
}

func TestShutdownLosesPatience(t *testing.T) {
	e := newEnv(t, options{caps: mem.IWARPCaps()})
	c := e.dial(ClientConfig{})
	done := make(chan error, 1)
	go func() { done <- c.Do(context.Background(), &Request{Head: head(doWait)}, &Response{}) }()
	for e.entered.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := e.srv.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("shutdown: %v", err)
	}
	if err := <-done; err == nil {
		t.Error("the call was answered")
	}
}

func TestClientGoesAway(t *testing.T) {
	e := newEnv(t, options{caps: mem.IWARPCaps()})
	c := e.dial(ClientConfig{})
	for range 3 { // some running, some answered
		go func() { _ = c.Do(context.Background(), &Request{Head: head(doWait)}, &Response{}) }()
	}
	for e.entered.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	close(e.gate)
	again := e.dial(ClientConfig{})
	do(t, again, &Request{Head: head(doHead, 100)})
}

func TestDroppedCallLeavesConnectionWorking(t *testing.T) {
	e := newEnv(t, options{caps: mem.IWARPCaps(), server: Config{Credits: 4}})
	c := e.dial(ClientConfig{})
	do(t, c, &Request{Head: head(doHead, 0)})
	for range 10 {
		if err := c.raw(t.Context(), append(hdr(procMsg).end().end().end().b, head(doDrop)...)); err != nil {
			t.Fatal(err)
		}
	}
	do(t, c, &Request{Head: head(doHead, 9)})
}

// TestEmptyReadChunk: a call with a Read chunk of no bytes is one like another. It once ended the server's process.
func TestEmptyReadChunk(t *testing.T) {
	e := newEnv(t, options{caps: mem.IWARPCaps()})
	c := e.dial(ClientConfig{NoInvalidate: true}) // its keys are made up
	do(t, c, &Request{Head: head(doHead, 5)})
	for _, h := range []*build{hdr(procMsg).read(16, seg(1, 0, 0)).end().end().end(), hdr(procNoMsg).read(0, seg(1, 0, 0)).end().end().end()} {
		msg := h.b
		if binary.BigEndian.Uint32(msg[12:]) == procMsg {
			msg = append(msg, xdr.AppendUint32(head(doHoldPayload), 0)...)
		}
		if err := c.raw(t.Context(), msg); err != nil {
			t.Fatal(err)
		}
	}
	do(t, c, &Request{Head: head(doHead, 5)})
	e.until("the calls have ended", func(c *Conn) bool { return c.Stats().Running == 0 })
}
