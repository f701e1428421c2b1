package rpc_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"fileserver/nfs/rpc"
	"fileserver/nfs/xdr"
)

// fragmented marks msg as a record of the given fragments; what is left is the last.
func fragmented(msg []byte, sizes ...int) []byte {
	var b []byte
	for _, n := range sizes {
		n = min(n, len(msg))
		b = binary.BigEndian.AppendUint32(b, uint32(n))
		b = append(b, msg[:n]...)
		msg = msg[n:]
	}
	b = binary.BigEndian.AppendUint32(b, 1<<31|uint32(len(msg)))
	return append(b, msg...)
}

func readReply(t *testing.T, r io.Reader) []byte {
	t.Helper()
	var mark [4]byte
	if _, err := io.ReadFull(r, mark[:]); err != nil {
		t.Fatal(err)
	}
	m := binary.BigEndian.Uint32(mark[:])
	if m>>31 == 0 {
		t.Fatal("reply in fragments")
	}
	b := make([]byte, m&^(1<<31))
	if _, err := io.ReadFull(r, b); err != nil {
		t.Fatal(err)
	}
	return b
}

func echoMessage(xid uint32, n int) []byte {
	return xdr.AppendOpaque(rpc.AppendCall(nil, xid, prog, vers, procEcho, rpc.AuthNone, nil), pattern(n))
}

// echoReply checks that a reply echoes echoMessage(xid, n).
func echoReply(t *testing.T, reply []byte, xid uint32, n int) {
	t.Helper()
	d := xdr.NewDecoder(reply)
	if got := d.Uint32(); got != xid {
		t.Fatalf("xid %d, want %d", got, xid)
	}
	for range 4 {
		d.Uint32()
	}
	if stat := rpc.AcceptStat(d.Uint32()); stat != rpc.Success {
		t.Fatalf("status %v", stat)
	}
	if got := d.Opaque(8 << 20); !bytes.Equal(got, pattern(n)) {
		t.Fatalf("echo of %d bytes differs (%d)", n, len(got))
	}
	if err := d.Finish(); err != nil {
		t.Fatal(err)
	}
}

func TestFragmentation(t *testing.T) {
	s := newServer(t, nil).listen()
	sizes := []int{0, 1, 3, 4, 100, 1990, 2047, 2048, 2049, 8191, 8192, 8193, 65536, 70001, 1 << 20, 4 << 20}
	frags := map[string]func(n int) []int{
		"one":                   func(int) []int { return nil },
		"2 KiB":                 func(n int) []int { return split(n, 2048) },
		"first byte":            func(int) []int { return []int{1} },
		"empty ones":            func(int) []int { return []int{0, 0, 3, 0, 7, 0} },
		"all and an empty last": func(n int) []int { return []int{n} },
		"random": func(n int) []int {
			var f []int
			for n > 0 {
				k := 1 + rand.IntN(max(1, n/3))
				f, n = append(f, k), n-k
			}
			return f
		},
	}
	for name, f := range frags {
		t.Run(name, func(t *testing.T) {
			nc, err := net.Dial("tcp", s.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			var stream []byte
			for i, n := range sizes {
				msg := echoMessage(uint32(i+1), n)
				stream = append(stream, fragmented(msg, f(len(msg))...)...)
			}
			go func() { // many messages per write, boundaries anywhere
				for rest := stream; len(rest) > 0; {
					n := min(len(rest), 1+rand.IntN(100_000))
					if _, err := nc.Write(rest[:n]); err != nil {
						return
					}
					rest = rest[n:]
				}
			}()
			seen := make(map[uint32]bool)
			for range sizes {
				reply := readReply(t, nc)
				xid := binary.BigEndian.Uint32(reply)
				if seen[xid] {
					t.Fatalf("xid %d answered twice", xid)
				}
				seen[xid] = true
				echoReply(t, reply, xid, sizes[xid-1])
			}
		})
	}
}

func split(n, by int) []int {
	var f []int
	for ; n > by; n -= by {
		f = append(f, by)
	}
	return f
}

func TestByteByByte(t *testing.T) {
	s := newServer(t, nil).listen()
	nc, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	stream := append(fragmented(echoMessage(1, 40), 5, 1), fragmented(echoMessage(2, 3))...)
	for i := range stream {
		if _, err := nc.Write(stream[i : i+1]); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		reply := readReply(t, nc)
		xid := binary.BigEndian.Uint32(reply)
		echoReply(t, reply, xid, []int{40, 3}[xid-1])
	}
}

func TestTooLong(t *testing.T) {
	s := newServer(t, func(c *rpc.TCPConfig) { c.MaxMessage = 10_000 }).listen()
	for name, stream := range map[string][]byte{
		"one fragment":  word(1<<31 | 10_001),
		"largest":       word(1<<32 - 1),
		"two fragments": append(append(word(9_000), make([]byte, 9_000)...), word(1<<31|1_001)...),
	} {
		t.Run(name, func(t *testing.T) {
			nc, err := net.Dial("tcp", s.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			before := fragmented(echoMessage(7, 10))
			if _, err := nc.Write(append(before, stream...)); err != nil {
				t.Fatal(err)
			}
			echoReply(t, readReply(t, nc), 7, 10) // what came before is answered
			if _, err := nc.Read(make([]byte, 1)); err != io.EOF {
				t.Fatalf("connection goes on: %v", err)
			}
		})
	}
}

func TestReadPayload(t *testing.T) {
	s := newServer(t, nil).listen()
	c := s.dial()
	for _, n := range []int{0, 1, 2, 3, 4, 5, 4096, 65537, 1 << 20} {
		stat, got, err := c.Do(must(t), call(procRead, word(uint32(n))))
		if err != nil || stat != rpc.Success {
			t.Fatal(stat, err)
		}
		want := xdr.AppendUint32(xdr.AppendOpaque(nil, pattern(n)), 0xfeedface)
		if !bytes.Equal(got, want) {
			t.Fatalf("READ of %d bytes differs", n)
		}
	}
}

func TestConcurrentAndOutOfOrder(t *testing.T) {
	s := newServer(t, nil).listen()
	c := s.dial()
	blocked := make(chan error, 1)
	go func() {
		_, _, err := c.Do(must(t), call(procBlock))
		blocked <- err
	}()
	<-s.entered
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			for j := range 20 {
				n := (i*7919 + j*104729) % 50_000
				_, got, err := c.Do(must(t), call(procEcho, xdr.AppendOpaque(nil, pattern(n))))
				if err != nil || !bytes.Equal(got, xdr.AppendOpaque(nil, pattern(n))) {
					t.Errorf("echo of %d: %v", n, err)
					return
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-blocked:
		t.Fatal("blocked call ended", err)
	default:
	}
	s.release <- struct{}{}
	if err := <-blocked; err != nil {
		t.Fatal(err)
	}
}

func TestCallsAreBounded(t *testing.T) {
	s := newServer(t, func(c *rpc.TCPConfig) { c.MaxCalls = 4 }).listen()
	c := s.dial()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, _, err := c.Do(must(t), call(procBlock)); err != nil {
				t.Error(err)
			}
		})
	}
	for range 4 {
		<-s.entered
	}
	// A second connection is not held up.
	if _, _, err := s.dial().Do(must(t), call(procEcho, word(0))); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		s.release <- struct{}{}
	}
	wg.Wait()
	if p := s.peak.Load(); p != 4 {
		t.Fatalf("%d calls at once, want 4", p)
	}
}

func TestShutdownFinishesCalls(t *testing.T) {
	s := newServer(t, nil).listen()
	c := s.dial()
	got := make(chan error, 1)
	go func() {
		_, _, err := c.Do(must(t), call(procBlock))
		got <- err
	}()
	<-s.entered
	down := make(chan error, 1)
	go func() { down <- s.tcp.Shutdown(must(t)) }()
	// New connections are refused once the listener is closed.
	for {
		nc, err := net.Dial("tcp", s.addr)
		if err != nil {
			break
		}
		nc.Close()
		time.Sleep(time.Millisecond)
	}
	select {
	case err := <-down:
		t.Fatal("shut down with a call running", err)
	default:
	}
	s.release <- struct{}{}
	if err := <-got; err != nil {
		t.Fatalf("call was not answered: %v", err)
	}
	if err := <-down; err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Do(must(t), call(procEcho, word(0))); err == nil {
		t.Fatal("connection is still served")
	}
	if err := s.tcp.ServeConn(context.Background(), c.Conn()); !errors.Is(err, rpc.ErrServerClosed) {
		t.Fatal(err)
	}
}

func TestShutdownGivesUp(t *testing.T) {
	s := newServer(t, nil).listen()
	c := s.dial()
	go c.Do(must(t), call(procBlock))
	<-s.entered
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(fmt.Errorf("enough"))
	if err := s.tcp.Shutdown(ctx); err == nil || !strings.Contains(err.Error(), "enough") { // the call's context ends
		t.Fatal(err)
	}
}

func TestTooManyConnections(t *testing.T) {
	s := newServer(t, func(c *rpc.TCPConfig) { c.Limits.Total = 1 }).listen()
	c := s.dial()
	if _, _, err := c.Do(must(t), call(procEcho, word(0))); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.dial().Do(must(t), call(procEcho, word(0))); err == nil {
		t.Fatal("second connection is served")
	}
	if _, _, err := c.Do(must(t), call(procEcho, word(0))); err != nil {
		t.Fatal(err)
	}
}

func TestHalfClosedClientGetsItsReplies(t *testing.T) {
	s := newServer(t, nil).listen()
	nc, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	for i := range 10 {
		if _, err := nc.Write(fragmented(echoMessage(uint32(i), 5000))); err != nil {
			t.Fatal(err)
		}
	}
	nc.(*net.TCPConn).CloseWrite()
	for range 10 {
		reply := readReply(t, nc)
		echoReply(t, reply, binary.BigEndian.Uint32(reply), 5000)
	}
	if _, err := nc.Read(make([]byte, 1)); err != io.EOF {
		t.Fatal(err)
	}
}
