package tcp

import (
	"bytes"
	"context"
	"io"
	"net"
	"testing"

	"fileserver/internal/slab"
	"fileserver/smb/transport"
)

// collector is a handler that keeps the messages.
type collector struct{ list [][]byte }

func (c *collector) Message(buf *slab.Buf) {
	c.list = append(c.list, bytes.Clone(buf.Bytes()))
	buf.Release()
}
func (*collector) Closed(error) {}

// FuzzFraming sends bytes in pieces of any size. The connection must deliver the same messages that messagesOf finds in the
// whole input.
func FuzzFraming(f *testing.F) {
	f.Add([]byte{0, 0, 0, 5, 'h', 'e', 'l', 'l', 'o'}, uint8(1), false)
	f.Add([]byte{0x85, 0, 0, 0, 0, 0, 0, 1, 'x'}, uint8(3), true)
	f.Add([]byte{0x81, 0, 0, 1, 'x'}, uint8(7), false)
	f.Add([]byte{0, 1, 0, 1, 'x'}, uint8(2), false) // too long before a client is authenticated
	f.Add(frame(make([]byte, 5000)), uint8(200), true)
	f.Add(append(frame([]byte("one")), frame([]byte("two"))...), uint8(255), false)
	f.Add([]byte{0, 0, 0, 0, 0, 0}, uint8(4), true)
	pool := slab.New(slab.Config{Debug: true})
	f.Fuzz(func(t *testing.T, data []byte, piece uint8, authenticated bool) {
		const longest = 128 << 10
		got := new(collector)
		s, err := New(Config{Buffers: pool, MaxMessage: longest, Handler: func(c transport.Conn) transport.Handler {
			if authenticated {
				c.(transport.Authenticator).Authenticated()
			}
			return got
		}})
		if err != nil {
			t.Fatal(err)
		}
		ours, theirs := net.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = s.ServeConn(context.Background(), theirs)
		}()
		go io.Copy(io.Discard, ours)
		for rest := data; len(rest) > 0; {
			n := min(len(rest), 1+int(piece))
			if _, err := ours.Write(rest[:n]); err != nil {
				break
			}
			rest = rest[n:]
		}
		ours.Close()
		<-done
		limit := longest
		if !authenticated {
			limit = EarlyMessage
		}
		want := messagesOf(data, limit)
		if len(got.list) != len(want) {
			t.Fatalf("%d messages, not %d", len(got.list), len(want))
		}
		for i := range want {
			if !bytes.Equal(got.list[i], want[i]) {
				t.Fatalf("message %d is %x, not %x", i, got.list[i], want[i])
			}
		}
		if l := pool.Leaks(); len(l) > 0 {
			t.Fatal(l)
		}
	})
}

// messagesOf returns the whole messages at the beginning of b, up to the first bytes that are not one (RFC 1002 4.3.1).
func messagesOf(b []byte, limit int) (list [][]byte) {
	for len(b) >= 4 {
		n := int(b[1])<<16 | int(b[2])<<8 | int(b[3])
		switch {
		case b[0] == 0x85 && n == 0, b[0] == 0 && n == 0:
			b = b[4:]
			continue
		case b[0] != 0 || n > limit || len(b) < 4+n:
			return list
		}
		list = append(list, b[4:4+n])
		b = b[4+n:]
	}
	return list
}
