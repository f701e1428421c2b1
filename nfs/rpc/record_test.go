package rpc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"fileserver/internal/slab"
	"fileserver/internal/stream"
)

// script is a connection from which reads return as much as it says.
type script struct {
	net.Conn
	b     []byte
	sizes []byte // of the reads, in turn
	i     int
}

func (s *script) Read(p []byte) (int, error) {
	if len(s.b) == 0 {
		return 0, io.EOF
	}
	n := len(p)
	if len(s.sizes) > 0 {
		n = min(n, 1+int(s.sizes[s.i%len(s.sizes)])*40)
		s.i++
	}
	n = copy(p[:n], s.b)
	s.b = s.b[n:]
	return n, nil
}

func (s *script) Close() error { return nil }

func (s *script) SetReadDeadline(time.Time) error { return nil }

// plainRecords is what a stream holds, and how it ends, in the plainest way.
func plainRecords(stream []byte, limit int) (out [][]byte, end error) {
	var msg []byte
	begun := false // a message, by a fragment that is not the last
	for {
		if len(stream) < 4 {
			if len(stream) > 0 || begun {
				return out, io.ErrUnexpectedEOF
			}
			return out, io.EOF
		}
		mark := binary.BigEndian.Uint32(stream)
		begun = mark&lastFragment == 0
		stream = stream[4:]
		n := int(mark &^ lastFragment)
		if n > limit-len(msg) {
			return out, errTooLong
		}
		if n > len(stream) {
			return out, io.ErrUnexpectedEOF
		}
		msg = append(msg, stream[:n]...)
		stream = stream[n:]
		if mark&lastFragment != 0 {
			out = append(out, msg)
			if msg = nil; len(stream) == 0 {
				return out, io.EOF
			}
		}
	}
}

// FuzzRecords: any stream, in pieces of any size, holds the same messages for both.
func FuzzRecords(f *testing.F) {
	rec := func(last uint32, n int) []byte {
		b := binary.BigEndian.AppendUint32(nil, last<<31|uint32(n))
		for i := range n {
			b = append(b, byte(i*n))
		}
		return b
	}
	f.Add(bytes.Join([][]byte{rec(1, 5), rec(0, 3), rec(1, 9), rec(1, 0), rec(0, 0), rec(1, 1)}, nil), []byte{0, 1, 7})
	f.Add(bytes.Join([][]byte{rec(1, 2048), rec(1, 2049), rec(0, 2048), rec(1, 1), rec(1, 30_000)}, nil), []byte{})
	f.Add(bytes.Join([][]byte{rec(0, 2000), rec(0, 2000), rec(0, 40_000), rec(1, 50_000), rec(1, 100_000)}, nil), []byte{200})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff}, []byte{})
	pool := slab.New(slab.Config{Limit: 64 << 20})
	const limit = 90_000
	f.Fuzz(func(t *testing.T, input, sizes []byte) {
		want, wantErr := plainRecords(input, limit)
		c := stream.NewConn(t.Context(), &script{b: input, sizes: sizes}, stream.ConnConfig{WriteTimeout: time.Second})
		defer c.Fail(nil)
		rd := stream.NewReader(c, stream.ReaderConfig{Framing: records{limit}, Buffers: pool, Timeout: time.Second})
		m := stream.Incoming{Small: make([]byte, smallMessage)}
		for i := 0; ; i++ {
			err := rd.Next(&m)
			if err != nil {
				if i != len(want) || !errors.Is(err, wantErr) {
					t.Fatalf("%d messages and %v, want %d and %v", i, err, len(want), wantErr)
				}
				break
			}
			if i >= len(want) || !bytes.Equal(m.Bytes(), want[i]) {
				t.Fatalf("message %d of %d bytes differs", i, m.Len())
			}
			m.Release()
		}
		if n := pool.Stats().Buffers; n > 0 {
			t.Fatalf("%d buffers leaked", n)
		}
	})
}
