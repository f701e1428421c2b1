package stream

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fileserver/internal/slab"
)

const (
	markLen   = 4
	readAhead = 8 << 10 // bytes per connection
	// minRate is how fast a message must come after the first ReadTimeout, bytes per second.
	minRate = 32 << 10
)

// ErrNoMemory ends a connection whose message has found no memory in time.
var ErrNoMemory = errors.New("stream: no memory for a message has become free in time")

// Framing is how messages lie in the stream: in parts, each behind a mark of 4 bytes.
type Framing interface {
	// Part is told the mark of the next part of a message, of which have bytes have come. It returns the length
	// of the part, and whether the part is the last.
	Part(mark uint32, have int) (n int, last bool, err error)
	// Room returns for how many bytes a message gets memory when have bytes of it have come, and it claims to
	// have want or more. It is more than have.
	Room(have, want int) int
}

// ReaderConfig is what a [Reader] needs.
type ReaderConfig struct {
	Framing Framing
	Buffers *slab.Pool
	Tail    int               // room behind each message in its buffer, bytes
	Taken   func(b *slab.Buf) // is told of each buffer that is taken; nil: nobody
	Timeout time.Duration     // for a message that has begun, beside what its length earns
	// MemoryWait is how long a message waits for memory, until [ErrNoMemory]; 0: without an end.
	MemoryWait time.Duration
}

// Incoming is a message that is received.
type Incoming struct {
	Small []byte    // storage for short messages; nil: each message but an empty one is in a buffer
	Buf   *slab.Buf // the message, if it is not in Small; one reference, the owner's
	n     int
}

func (m *Incoming) storage() []byte {
	if m.Buf != nil {
		return m.Buf.Bytes()
	}
	return m.Small
}

// Bytes is the message.
func (m *Incoming) Bytes() []byte { return m.storage()[:m.n] }

// Len is the length of the message, bytes.
func (m *Incoming) Len() int { return m.n }

// Release gives the buffer back, if there is one.
func (m *Incoming) Release() {
	if m.Buf != nil {
		m.Buf.Release()
		m.Buf = nil
	}
	m.n = 0
}

// Reader is the receiving side of a [Conn]. One goroutine at a time uses it.
type Reader struct {
	c   *Conn
	cfg ReaderConfig

	in       []byte // what has been read ahead is in[from:till]
	from     int
	till     int
	received int
	begun    time.Time // when the message had to be waited for first; zero: not yet
	until    time.Time // the deadline that is set; zero: none

	raw     syscall.RawConn // nil: reads go through the net.Conn
	attempt func(fd uintptr) bool
	dst     []byte // of attempt
	have    int
	n       int // result of attempt
	err     error
}

// NewReader makes the Reader of c.
func NewReader(c *Conn, cfg ReaderConfig) *Reader {
	r := &Reader{c: c, cfg: cfg, in: make([]byte, readAhead)}
	if tcp, ok := c.nc.(*net.TCPConn); ok { // nothing that wraps one and has read ahead itself
		if raw, err := tcp.SyscallConn(); err == nil {
			r.raw, r.attempt = raw, r.try
		}
	}
	return r
}

// Received returns how many bytes have come since it was called last.
func (r *Reader) Received() int {
	n := r.received
	r.received = 0
	return n
}

// Next reads a whole message into m. When it fails m holds no buffer. The error is io.EOF if the stream ends
// between two messages, and [ErrEnded] if nothing more is to be read.
func (r *Reader) Next(m *Incoming) error {
	r.begun = time.Time{}
	m.n = 0
	if err := r.message(m); err != nil {
		m.Release()
		return err
	}
	if m.Buf != nil {
		m.Buf.SetLen(m.n)
	}
	return nil
}

func (r *Reader) message(m *Incoming) error {
	for first := true; ; first = false {
		for r.till-r.from < markLen {
			if err := r.fill(!first || r.till > r.from, m.n); err != nil {
				return err
			}
		}
		mark := binary.BigEndian.Uint32(r.in[r.from:])
		r.from += markLen
		n, last, err := r.cfg.Framing.Part(mark, m.n)
		if err == nil {
			err = r.part(m, n)
		}
		if err != nil || last {
			return err
		}
	}
}

// part appends n bytes of the stream to m.
func (r *Reader) part(m *Incoming, n int) error {
	for n > 0 {
		if size := len(m.storage()); m.n == size || m.Buf == nil && m.n+n > size {
			if err := r.grow(m, m.n+n); err != nil {
				return err
			}
		}
		dst := m.storage()[m.n:]
		dst = dst[:min(n, len(dst))]
		k := copy(dst, r.in[r.from:r.till])
		r.from += k
		m.n += k
		n -= k
		switch rest := dst[k:]; {
		case len(rest) >= len(r.in): // straight to where it belongs
			k, err := r.read(rest, true, m.n)
			m.n += k
			n -= k
			if err != nil {
				return err
			}
		case len(rest) > 0:
			if err := r.fill(true, m.n); err != nil {
				return err
			}
		}
	}
	return nil
}

// grow gives m room for want bytes, or for as many as those that have come earn it.
func (r *Reader) grow(m *Incoming, want int) error {
	have := m.n + r.till - r.from // what is read ahead has come
	size := r.cfg.Framing.Room(have, want) + r.cfg.Tail
	buf, ok := r.cfg.Buffers.TryGet(size)
	var kept []byte
	if ok {
		kept = m.Bytes()
	} else {
		// To wait for memory while holding some could be a deadlock: the message holds nothing meanwhile.
		kept = append(kept, m.Bytes()...)
		n := m.n
		m.Release()
		var err error
		if buf, err = r.waitForMemory(size); err != nil {
			return err
		}
		m.n = n
	}
	buf.SetLen(buf.Cap() - r.cfg.Tail)
	if r.cfg.Taken != nil {
		r.cfg.Taken(buf)
	}
	copy(buf.Bytes(), kept)
	if m.Buf != nil {
		m.Buf.Release()
	}
	m.Buf = buf
	return nil
}

func (r *Reader) waitForMemory(size int) (*slab.Buf, error) {
	ctx := r.c.ctx
	if r.cfg.MemoryWait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, r.cfg.MemoryWait, ErrNoMemory)
		defer cancel()
	}
	return r.cfg.Buffers.Get(ctx, size)
}

// fill reads ahead. begun says that a message has begun, of which there are have bytes.
func (r *Reader) fill(begun bool, have int) error {
	if r.from > 0 {
		r.till = copy(r.in, r.in[r.from:r.till])
		r.from = 0
	}
	n, err := r.read(r.in[r.till:], begun, have)
	r.till += n
	if n > 0 {
		return nil
	}
	return err
}

func (r *Reader) read(b []byte, begun bool, have int) (n int, err error) {
	switch {
	case begun && r.raw != nil:
		n, err = r.readRaw(b, have)
	case begun && !r.setDeadline(have), !begun && !r.clearDeadline():
		return 0, ErrEnded
	default:
		n, err = r.c.nc.Read(b)
	}
	r.received += n
	if err == io.EOF && begun {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// setDeadline sets the time by which the next bytes of a message are due, of which there are have. It reports false
// if the connection is ending.
func (r *Reader) setDeadline(have int) bool {
	if r.begun.IsZero() {
		r.begun = time.Now()
	}
	// With each part there is a little more time, which is not worth a call each.
	until := r.begun.Add(r.cfg.Timeout + time.Duration(have)*time.Second/minRate)
	if more := until.Sub(r.until); more >= 0 && more <= r.cfg.Timeout/16 { // less: the one of another message
		return true
	}
	r.until = until
	return r.c.readBy(until)
}

// clearDeadline removes the deadline, if there is one. It reports false if the connection is ending.
func (r *Reader) clearDeadline() bool {
	if r.until.IsZero() {
		return true
	}
	r.until = time.Time{}
	return r.c.readBy(r.until)
}

// readRaw reads what is there. It sets a deadline only when it has to wait: mostly all is there, and a
// deadline costs more than to read.
func (r *Reader) readRaw(b []byte, have int) (int, error) {
	r.dst, r.have = b, have
	for {
		r.n, r.err = 0, nil
		err := r.raw.Read(r.attempt)
		if err == nil {
			break
		}
		// The deadline of an earlier message may be over.
		if !errors.Is(err, os.ErrDeadlineExceeded) || !r.isEarly() {
			r.dst = nil
			return 0, err
		}
	}
	r.dst = nil
	switch {
	case r.err != nil:
		return 0, r.err
	case r.n == 0:
		return 0, io.EOF
	}
	return r.n, nil
}

// isEarly reports whether the message has time left, and sets its deadline.
func (r *Reader) isEarly() bool {
	if r.until = (time.Time{}); !r.setDeadline(r.have) {
		return false
	}
	return time.Now().Before(r.until)
}

// try is one attempt to read.
func (r *Reader) try(fd uintptr) bool {
	for {
		n, err := unix.Read(int(fd), r.dst)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN && r.setDeadline(r.have):
			return false
		case err == unix.EAGAIN:
			r.err = ErrEnded
		case err != nil:
			r.err = os.NewSyscallError("read", err)
		default:
			r.n = n
		}
		return true
	}
}
