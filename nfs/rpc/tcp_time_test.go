package rpc_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"fileserver/internal/connlimit"
	"fileserver/internal/stream"
	"fileserver/nfs/rpc"
)

// piped runs f with one end of a connection, in virtual time; the error is ServeConn's.
func piped(t *testing.T, mod func(*rpc.TCPConfig), f func(t *testing.T, s *server, nc net.Conn, end <-chan error)) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, mod)
		here, there := net.Pipe()
		defer here.Close()
		end := make(chan error, 1)
		go func() { end <- s.tcp.ServeConn(context.Background(), there) }()
		f(t, s, here, end)
	})
}

func TestIdleTimeout(t *testing.T) {
	limits := func(c *rpc.TCPConfig) { c.Limits = connlimit.Config{HalfOpen: 16 * time.Second, Idle: time.Minute} }
	piped(t, limits, func(t *testing.T, _ *server, nc net.Conn, end <-chan error) {
		start := time.Now()
		time.Sleep(10 * time.Second)
		for range 3 {
			go nc.Write(fragmented(echoMessage(1, 8)))
			echoReply(t, readReply(t, nc), 1, 8)
			time.Sleep(50 * time.Second)
		}
		if err := <-end; err != connlimit.Idle {
			t.Fatal(err)
		}
		if d := time.Since(start); d < 170*time.Second || d > 175*time.Second {
			t.Fatalf("ended after %v", d)
		}
	})
}

// TestIdleWhileCalled: a connection whose call takes long is not idle.
func TestIdleWhileCalled(t *testing.T) {
	limits := func(c *rpc.TCPConfig) { c.Limits.Idle = time.Minute }
	piped(t, limits, func(t *testing.T, s *server, nc net.Conn, end <-chan error) {
		go nc.Write(fragmented(rpc.AppendCall(nil, 1, prog, vers, procBlock, rpc.AuthNone, nil)))
		<-s.entered
		time.Sleep(time.Hour)
		select {
		case err := <-end:
			t.Fatalf("ended while it is called: %v", err)
		default:
		}
		s.release <- struct{}{}
		readReply(t, nc)
		if err := <-end; err != connlimit.Idle {
			t.Fatal(err)
		}
	})
}

func TestHalfOpenTimeout(t *testing.T) {
	limits := func(c *rpc.TCPConfig) { c.Limits.HalfOpen = 16 * time.Second }
	piped(t, limits, func(t *testing.T, _ *server, nc net.Conn, end <-chan error) {
		start := time.Now()
		if err := <-end; err != connlimit.HalfOpen || time.Since(start) > 18*time.Second {
			t.Fatalf("%v after %v", err, time.Since(start))
		}
	})
}

func TestNoIdleTimeout(t *testing.T) {
	piped(t, nil, func(t *testing.T, _ *server, nc net.Conn, end <-chan error) {
		for i := range uint32(3) {
			time.Sleep(time.Hour)
			go func() { // a message in two parts leaves a deadline behind
				m := fragmented(echoMessage(i, 5000))
				nc.Write(m[:100])
				nc.Write(m[100:])
			}()
			echoReply(t, readReply(t, nc), i, 5000)
		}
		nc.Close()
		if err := <-end; err != nil {
			t.Fatal(err)
		}
	})
}

// TestMessageTooSlow: a peer that dribbles does not hold a buffer for ever, whatever it does to look alive.
func TestMessageTooSlow(t *testing.T) {
	for name, chunk := range map[string][]byte{
		"bytes":           {0},
		"empty fragments": {0, 0, 0, 0},
		"nothing":         nil,
	} {
		t.Run(name, func(t *testing.T) {
			piped(t, func(c *rpc.TCPConfig) { c.ReadTimeout = time.Minute }, func(t *testing.T, _ *server, nc net.Conn, end <-chan error) {
				start := time.Now()
				wrote := make(chan struct{})
				defer func() { <-wrote }()
				defer nc.Close()
				go func() {
					defer close(wrote)
					m := []byte{0x80, 0x10, 0, 0}
					if len(chunk) == 4 {
						m = []byte{0, 0, 0, 0}
					}
					_, err := nc.Write(m)
					for err == nil {
						time.Sleep(time.Second)
						if _, err = nc.Write(chunk); len(chunk) == 0 {
							return
						}
					}
				}()
				if err := <-end; !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Fatal(err)
				}
				if d := time.Since(start); d < time.Minute || d > 62*time.Second {
					t.Fatalf("ended after %v", d)
				}
			})
		})
	}
}

// TestLittleForClaims: what a message claims to be does not take memory before it comes.
func TestLittleForClaims(t *testing.T) {
	piped(t, nil, func(t *testing.T, s *server, nc net.Conn, _ <-chan error) {
		nc.Write([]byte{0x80, 0x40, 0, 0}) // 4 MiB
		nc.Write(make([]byte, 100))
		synctest.Wait()
		if b := s.pool.Stats().Bytes; b > 64<<10 {
			t.Fatalf("%d bytes for 100", b)
		}
		nc.Write(make([]byte, 1<<16))
		synctest.Wait()
		if b := s.pool.Stats().Bytes; b > 128*2<<16 || b < 1<<16 {
			t.Fatalf("%d bytes for 64 KiB", b)
		}
		nc.Close()
	})
}

func TestPeerStopsReading(t *testing.T) {
	piped(t, func(c *rpc.TCPConfig) { c.WriteTimeout = time.Minute }, func(t *testing.T, s *server, nc net.Conn, end <-chan error) {
		start := time.Now()
		go nc.Write(append(fragmented(echoMessage(1, 8)), fragmented(echoMessage(2, 8))...))
		if err := <-end; !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err)
		}
		if d := time.Since(start); d != time.Minute {
			t.Fatalf("ended after %v", d)
		}
		if s.tcp.Conns() != 0 {
			t.Fatal("connection is still there")
		}
	})
}

// TestPeerReadsSlowly: as long as enough is taken, a reply may take any time.
func TestPeerReadsSlowly(t *testing.T) {
	piped(t, func(c *rpc.TCPConfig) { c.WriteTimeout = time.Minute }, func(t *testing.T, _ *server, nc net.Conn, end <-chan error) {
		start := time.Now()
		go nc.Write(fragmented(append(rpc.AppendCall(nil, 1, prog, vers, procRead, rpc.AuthNone, nil), word(1<<20)...)))
		got := make([]byte, 4+24+4+1<<20+4)
		for i := 0; i < len(got); {
			time.Sleep(9 * time.Second)
			n, err := io.ReadFull(nc, got[i:min(len(got), i+50_000)])
			if err != nil {
				t.Fatalf("after %v and %d bytes: %v", time.Since(start), i, err)
			}
			i += n
		}
		if !bytes.Equal(got[32:32+1<<20], pattern(1<<20)) {
			t.Fatal("differs")
		}
		// Less than enough is too little.
		go nc.Write(fragmented(append(rpc.AppendCall(nil, 2, prog, vers, procRead, rpc.AuthNone, nil), word(1<<20)...)))
		for {
			time.Sleep(time.Second)
			if _, err := nc.Read(got[:1000]); err != nil {
				break
			}
		}
		if err := <-end; !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err)
		}
	})
}

func TestEndInsideMessage(t *testing.T) {
	piped(t, nil, func(t *testing.T, _ *server, nc net.Conn, end <-chan error) {
		m := fragmented(echoMessage(1, 100_000))
		nc.Write(m[:50_000])
		nc.Close()
		if err := <-end; !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatal(err)
		}
	})
}

func TestContextEndsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, nil)
		here, there := net.Pipe()
		defer here.Close()
		ctx, cancel := context.WithCancelCause(context.Background())
		end := make(chan error, 1)
		go func() { end <- s.tcp.ServeConn(ctx, there) }()
		go here.Write(fragmented(rpc.AppendCall(nil, 1, prog, vers, procBlock, rpc.AuthNone, nil)))
		<-s.entered
		why := errors.New("the end")
		cancel(why)
		if err := <-end; !errors.Is(err, why) {
			t.Fatal(err)
		}
	})
}

// TestPoolExhausted: without memory a message waits for it, holding none.
func TestPoolExhausted(t *testing.T) {
	piped(t, nil, func(t *testing.T, s *server, nc net.Conn, _ <-chan error) {
		var held []interface{ Release() }
		for {
			b, ok := s.pool.TryGet(16 << 20)
			if !ok {
				break
			}
			held = append(held, b)
		}
		go nc.Write(fragmented(echoMessage(1, 100_000), split(100_000, 2048)...))
		synctest.Wait()
		if st := s.pool.Stats(); st.WaitingFor != 1 || st.Buffers != int64(len(held)) {
			t.Fatalf("%+v", st)
		}
		for _, b := range held {
			b.Release()
		}
		echoReply(t, readReply(t, nc), 1, 100_000)
	})
}

// TestNoMemory: a message does not wait for memory for ever. Its connection ends; what was asked before is answered.
func TestNoMemory(t *testing.T) {
	piped(t, nil, func(t *testing.T, s *server, nc net.Conn, end <-chan error) {
		go nc.Write(fragmented(rpc.AppendCall(nil, 1, prog, vers, procBlock, rpc.AuthNone, nil)))
		<-s.entered
		var held []interface{ Release() }
		for {
			b, ok := s.pool.TryGet(16 << 20)
			if !ok {
				break
			}
			held = append(held, b)
		}
		begin := time.Now()
		go nc.Write(fragmented(echoMessage(2, 100_000)))
		time.Sleep(4 * time.Second)
		if n := s.pool.Stats().WaitingFor; n != 1 {
			t.Fatalf("%d messages wait", n)
		}
		time.Sleep(2 * time.Second)
		if n := s.pool.Stats().WaitingFor; n != 0 {
			t.Fatalf("%d messages wait after %v", n, time.Since(begin))
		}
		s.release <- struct{}{}
		readReply(t, nc)
		if err := <-end; !errors.Is(err, stream.ErrNoMemory) {
			t.Fatal(err)
		}
		for _, b := range held {
			b.Release()
		}
	})
}
