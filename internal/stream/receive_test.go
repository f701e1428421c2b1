package stream

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"fileserver/internal/slab"
)

// plain is a framing of messages in one part, behind their lengths.
type plain struct{}

func (plain) Part(mark uint32, _ int) (int, bool, error) { return int(mark), true, nil }
func (plain) Room(_, want int) int                       { return want }

func plainMessage(n int) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(n)), bytes.Repeat([]byte{byte(n)}, n)...)
}

func newReader(t *testing.T, timeout time.Duration) (*Reader, net.Conn) {
	t.Helper()
	nc, client := pair(t)
	pool := slab.New(slab.Config{Debug: true})
	c := NewConn(t.Context(), nc, ConnConfig{WriteTimeout: time.Minute, Sent: func(int) {}})
	t.Cleanup(func() {
		c.Fail(nil)
		for _, l := range pool.Leaks() {
			t.Error(l)
		}
	})
	return NewReader(c, ReaderConfig{Framing: plain{}, Buffers: pool, Timeout: timeout}), client
}

func expect(t *testing.T, r *Reader, n int) {
	t.Helper()
	m := Incoming{Small: make([]byte, 100)}
	if err := r.Next(&m); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(m.Bytes(), plainMessage(n)[4:]) {
		t.Fatalf("%d bytes differ, or are not %d", m.Len(), n)
	}
	m.Release()
}

// TestDeadlineOfEarlierMessage: a deadline that was set for one message does not end the next.
func TestDeadlineOfEarlierMessage(t *testing.T) {
	r, client := newReader(t, time.Minute)
	go client.Write(append(plainMessage(200), plainMessage(100_000)...))
	expect(t, r, 200)
	if r.till-r.from < markLen { // nothing of the next has been read ahead
		if err := r.fill(false, 0); err != nil {
			t.Fatal(err)
		}
	}
	r.until = time.Now().Add(-time.Hour)
	r.c.readBy(r.until)
	expect(t, r, 100_000)
	go client.Write(plainMessage(3))
	expect(t, r, 3)
	if !r.until.IsZero() {
		t.Error("a deadline is set between messages")
	}
	client.Close()
	if err := r.Next(new(Incoming)); err != io.EOF {
		t.Error(err)
	}
}

// TestNextEnds: each end of a reader that waits inside a message over TCP has its error.
func TestNextEnds(t *testing.T) {
	for name, c := range map[string]struct {
		timeout time.Duration
		end     func(r *Reader, client net.Conn)
		want    error
	}{
		"time":       {50 * time.Millisecond, func(*Reader, net.Conn) {}, os.ErrDeadlineExceeded},
		"peer":       {time.Minute, func(_ *Reader, client net.Conn) { client.Close() }, io.ErrUnexpectedEOF},
		"stop":       {time.Minute, func(r *Reader, _ net.Conn) { r.c.StopReading() }, nil},
		"drain":      {time.Minute, func(r *Reader, _ net.Conn) { r.c.Drain() }, nil},
		"failure":    {time.Minute, func(r *Reader, _ net.Conn) { r.c.Fail(nil) }, nil},
		"half close": {time.Minute, func(_ *Reader, client net.Conn) { client.(*net.TCPConn).CloseWrite() }, io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			r, client := newReader(t, c.timeout)
			if _, err := client.Write(plainMessage(100_000)[:50_000]); err != nil {
				t.Fatal(err)
			}
			end := make(chan error, 1)
			go func() { end <- r.Next(new(Incoming)) }()
			c.end(r, client)
			select {
			case err := <-end:
				if err == nil || !errors.Is(err, c.want) && c.want != nil {
					t.Errorf("%v, want %v", err, c.want)
				}
			case <-time.After(20 * time.Second):
				t.Fatal("the reader has not ended")
			}
		})
	}
}
