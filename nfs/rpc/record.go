package rpc

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"fileserver/internal/admission"
	"fileserver/internal/slab"
)

// Implementation constants of the reading side.
const (
	lastFragment = 1 << 31 // in a record mark (RFC 5531 11)

	readBuffer   = 8 << 10 // bytes read ahead per connection
	smallMessage = 2 << 10 // up to this many bytes a message is copied out of the read buffer
	// A message gets memory for freeMessage bytes at once, and further for aheadFactor times what of it
	// has come: a peer that claims much and sends little holds little.
	freeMessage = 64 << 10
	aheadFactor = 128

	// minRate is how fast a message must come after the first ReadTimeout, bytes per second.
	minRate = 32 << 10
)

var errClosing = errors.New("rpc: connection is being closed")
var errTooLong = errors.New("rpc: message longer than allowed")

// recordReader takes records out of a TCP stream (RFC 5531 11), whatever their fragments are.
type recordReader struct {
	nc      net.Conn
	pool    *slab.Pool
	held    *admission.Budget // of what the messages hold
	limit   int               // bytes of a message
	timeout time.Duration     // of a message that has begun

	in       []byte
	r, w     int
	until    time.Time // the deadline that is set; zero: none
	begun    time.Time
	received int // bytes, since it was asked last
	closing  atomic.Bool
}

// record is one message: in small, or else in buf.
type record struct {
	small []byte // storage, smallMessage bytes
	buf   *slab.Buf
	n     int
}

func (m *record) storage() []byte {
	if m.buf != nil {
		return m.buf.Bytes()
	}
	return m.small
}

func (m *record) bytes() []byte { return m.storage()[:m.n] }

func (m *record) capacity() int { return len(m.storage()) }

func (m *record) release() {
	if m.buf != nil {
		m.buf.Release()
		m.buf = nil
	}
	m.n = 0
}

// next reads a whole message into m. When it fails m holds no buffer.
func (rd *recordReader) next(ctx context.Context, m *record) error {
	rd.begun = time.Time{}
	m.n = 0
	err := rd.record(ctx, m)
	if err != nil {
		m.release()
	}
	return err
}

func (rd *recordReader) record(ctx context.Context, m *record) error {
	for first := true; ; first = false {
		for rd.w-rd.r < 4 {
			if err := rd.fill(!first || rd.w > rd.r, m.n); err != nil {
				return err
			}
		}
		mark := binary.BigEndian.Uint32(rd.in[rd.r:])
		rd.r += 4
		n := int(mark &^ lastFragment)
		if n > rd.limit-m.n {
			return fmt.Errorf("%w: %d bytes of at most %d", errTooLong, int64(m.n)+int64(n), rd.limit)
		}
		if err := rd.fragment(ctx, m, n); err != nil {
			return err
		}
		if mark&lastFragment != 0 {
			return nil
		}
	}
}

// fragment appends n bytes of the stream to m.
func (rd *recordReader) fragment(ctx context.Context, m *record, n int) error {
	for n > 0 {
		if m.n == m.capacity() || (m.buf == nil && m.n+n > m.capacity()) {
			if err := rd.grow(ctx, m, m.n+n); err != nil {
				return err
			}
		}
		dst := m.storage()[m.n:]
		dst = dst[:min(n, len(dst))]
		k := copy(dst, rd.in[rd.r:rd.w])
		rd.r += k
		m.n += k
		n -= k
		switch rest := dst[k:]; {
		case len(rest) >= len(rd.in): // straight to where it belongs
			k, err := rd.read(rest, true, m.n)
			m.n += k
			n -= k
			if err != nil {
				return err
			}
		case len(rest) > 0:
			if err := rd.fill(true, m.n); err != nil {
				return err
			}
		}
	}
	return nil
}

// grow gives m room for want bytes, or for as many as those that have come earn it.
func (rd *recordReader) grow(ctx context.Context, m *record, want int) error {
	// What is read ahead counts as come.
	have := m.n + rd.w - rd.r
	size := min(want, max(freeMessage, have*aheadFactor))
	size = max(size, min(2*m.n, rd.limit))
	buf, ok := rd.pool.TryGet(size)
	if !ok {
		// To wait for memory while holding some could be a deadlock: hold nothing that others may wait for.
		kept := append([]byte(nil), m.bytes()...)
		if m.buf != nil {
			m.buf.Release()
			m.buf = nil
		}
		var err error
		if buf, err = rd.pool.Get(ctx, size); err != nil {
			return err
		}
		rd.count(buf)
		copy(buf.Bytes(), kept)
		m.buf = buf
		return nil
	}
	rd.count(buf)
	copy(buf.Bytes(), m.bytes())
	if m.buf != nil {
		m.buf.Release()
	}
	m.buf = buf
	return nil
}

// count has the connection's budget count a buffer, whether or not there is room: the next message waits for it.
func (rd *recordReader) count(buf *slab.Buf) {
	buf.SetLen(buf.Cap())
	if rd.held != nil {
		rd.held.Add(int64(buf.Cap()))
		buf.SetOwner(rd.held)
	}
}

// fill reads ahead. begun tells that a message has begun, of which there are have bytes.
func (rd *recordReader) fill(begun bool, have int) error {
	if rd.r > 0 {
		rd.w = copy(rd.in, rd.in[rd.r:rd.w])
		rd.r = 0
	}
	n, err := rd.read(rd.in[rd.w:], begun, have)
	rd.w += n
	if n > 0 {
		return nil
	}
	return err
}

func (rd *recordReader) read(p []byte, begun bool, have int) (int, error) {
	// Where no deadline can be set the connection is gone, and Read says how.
	switch {
	case begun:
		if rd.begun.IsZero() {
			rd.begun = time.Now()
		}
		// With each part there is a little more time, which is not worth a call each.
		until := rd.begun.Add(rd.timeout + time.Duration(have)*time.Second/minRate)
		if more := until.Sub(rd.until); more < 0 || more > rd.timeout/16 { // less: the one between messages
			rd.until = until
			_ = rd.nc.SetReadDeadline(until)
		}
	case !rd.until.IsZero():
		rd.until = time.Time{}
		_ = rd.nc.SetReadDeadline(rd.until)
	}
	// Who ends the reading sets closing first and a deadline in the past then: one of the two is seen.
	if rd.closing.Load() {
		return 0, errClosing
	}
	n, err := rd.nc.Read(p)
	rd.received += n
	if err == io.EOF && begun {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
