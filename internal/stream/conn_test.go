package stream

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// note is a message that counts how often it is given back.
type note struct {
	head [8]byte
	body []byte
	done *atomic.Int64
}

func newNote(i, n int, done *atomic.Int64) *note {
	m := &note{body: bytes.Repeat([]byte{byte(i)}, n), done: done}
	binary.BigEndian.PutUint32(m.head[:], uint32(i))
	binary.BigEndian.PutUint32(m.head[4:], uint32(n))
	return m
}

func (m *note) Len() int                         { return len(m.head) + len(m.body) }
func (m *note) AppendTo(parts [][]byte) [][]byte { return append(parts, m.head[:], m.body) }
func (m *note) Done()                            { m.done.Add(1) }

// take reads a message and checks it.
func take(r io.Reader) (i int, err error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, err
	}
	body := make([]byte, binary.BigEndian.Uint32(head[4:]))
	if _, err := io.ReadFull(r, body); err != nil {
		return 0, err
	}
	i = int(binary.BigEndian.Uint32(head[:]))
	if bytes.Count(body, []byte{byte(i)}) != len(body) {
		return i, errors.New("the body differs")
	}
	return i, nil
}

// pair returns the two ends of a connection over loopback.
func pair(t *testing.T) (server, client net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close(); client.Close() })
	return server, client
}

var modes = map[string]bool{"the sender waits": true, "the sender does not wait": false}

// TestSendInOrder: messages of each sender arrive in order and whole, also when the peer reads late, and all are given
// back. Draining ends the stream behind them.
func TestSendInOrder(t *testing.T) {
	for name, wait := range modes {
		t.Run(name, func(t *testing.T) {
			nc, client := pair(t)
			var sent, done atomic.Int64
			c := NewConn(t.Context(), nc, ConnConfig{WriteTimeout: time.Minute, Wait: wait, Sent: func(n int) { sent.Add(int64(n)) }})
			const senders, each = 4, 300
			var wg sync.WaitGroup
			for s := range senders {
				wg.Go(func() {
					for i := range each {
						n := []int{0, 10, 4096, 200_000}[i%4]
						if err := c.Send(newNote(s*each+i, n, &done)); err != nil {
							t.Error(err)
						}
					}
				})
			}
			next := [senders]int{}
			for range senders * each {
				i, err := take(client)
				if err != nil {
					t.Fatal(err)
				}
				if s := i / each; i%each != next[s] {
					t.Fatalf("sender %d: message %d, want %d", s, i%each, next[s])
				}
				next[i/each]++
			}
			wg.Wait()
			c.Drain()
			if _, err := client.Read(make([]byte, 1)); err != io.EOF {
				t.Fatal(err)
			}
			if c.Send(newNote(0, 0, &done)) == nil {
				t.Error("sent on a connection that is drained")
			}
			client.Close()
			c.Linger()
			if err := c.Wait(); err != nil {
				t.Error(err)
			}
			if n := done.Load(); n != senders*each+1 {
				t.Errorf("%d messages have been given back", n)
			}
			if want := int64(senders * each / 4 * (4*8 + 10 + 4096 + 200_000)); sent.Load() != want {
				t.Errorf("%d bytes sent, want %d", sent.Load(), want)
			}
		})
	}
}

// TestFailGivesBack: what is queued when the connection fails is given back, and the reason is kept.
func TestFailGivesBack(t *testing.T) {
	for name, wait := range modes {
		t.Run(name, func(t *testing.T) {
			nc, _ := pair(t)
			var done atomic.Int64
			c := NewConn(t.Context(), nc, ConnConfig{WriteTimeout: time.Minute, Wait: wait, Sent: func(int) {}})
			var wg sync.WaitGroup
			for i := range 40 { // the peer reads nothing
				wg.Go(func() { _ = c.Send(newNote(i, 1<<20, &done)) })
			}
			for { // until somebody waits for the peer
				c.mu.Lock()
				n := c.queue.Len()
				c.mu.Unlock()
				if n > 0 {
					break
				}
				time.Sleep(time.Millisecond)
			}
			why := errors.New("why")
			c.Fail(why)
			c.Fail(errors.New("later"))
			if err := c.Wait(); err != why {
				t.Error(err)
			}
			wg.Wait()
			if n := done.Load(); n != 40 {
				t.Errorf("%d messages have been given back", n)
			}
			if c.Context().Err() == nil {
				t.Error("the reader may go on")
			}
		})
	}
}

// TestWriteTimeout: a peer that takes nothing ends the connection, also where Send does not wait.
func TestWriteTimeout(t *testing.T) {
	for name, wait := range modes {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				nc, client := net.Pipe()
				defer client.Close()
				var done atomic.Int64
				c := NewConn(t.Context(), nc, ConnConfig{WriteTimeout: time.Minute, Wait: wait, Sent: func(int) {}})
				begin := time.Now()
				_ = c.Send(newNote(1, 100, &done)) // who does not wait is not told
				if err := c.Wait(); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begin) != time.Minute {
					t.Errorf("%v after %v", err, time.Since(begin))
				}
				if done.Load() != 1 {
					t.Error("the message has not been given back")
				}
			})
		})
	}
}

// TestContextFails: the end of the context ends the connection.
func TestContextFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nc, client := net.Pipe()
		defer client.Close()
		ctx, cancel := context.WithCancelCause(t.Context())
		c := NewConn(ctx, nc, ConnConfig{WriteTimeout: time.Minute, Sent: func(int) {}})
		why := errors.New("why")
		cancel(why)
		synctest.Wait()
		if err := c.Wait(); err != why {
			t.Error(err)
		}
	})
}
