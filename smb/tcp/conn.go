package tcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fileserver/internal/connlimit"
	"fileserver/internal/slab"
	"fileserver/internal/stream"
	"fileserver/smb/transport"
)

const (
	// tailroom is the room behind a message in its buffer, for a cipher's tag.
	tailroom   = 16
	markLen    = 4
	readBuffer = 4 << 10
	// slowest is the rate, bytes per second, at which a message must come in.
	slowest = 64 << 10
)

var (
	errMark    = errors.New("smb/tcp: not a session message")
	errTooLong = errors.New("smb/tcp: message too long")
)

// conn is a connection. It implements [transport.Conn].
type conn struct {
	srv     *Server
	nc      net.Conn
	raw     syscall.RawConn // nil: reads always wait
	info    transport.Info
	stream  *stream.Conn
	handler transport.Handler
	entry   *connlimit.Entry

	in         []byte // read ahead
	from, till int
	peek       peek
}

func newConn(s *Server, ctx context.Context, nc net.Conn, e *connlimit.Entry) *conn {
	c := &conn{srv: s, nc: nc, entry: e, in: make([]byte, readBuffer)}
	c.stream = stream.NewConn(ctx, nc, stream.ConnConfig{
		WriteTimeout: s.cfg.WriteTimeout, Sent: func(n int) { s.out.Add(uint64(n)) },
	})
	c.info = transport.Info{
		ID: s.cfg.NextID(), Transport: "tcp", RemoteAddr: stream.AddrPort(nc.RemoteAddr()), LocalAddr: stream.AddrPort(nc.LocalAddr()),
		MaxMessage: s.cfg.MaxMessage,
	}
	if sc, ok := nc.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			c.raw = raw
			c.peek.run = c.peek.read
		}
	}
	return c
}

// Info implements [transport.Conn].
func (c *conn) Info() *transport.Info { return &c.info }

// Placer implements [transport.Conn]: there is no RDMA.
func (c *conn) Placer() transport.Placer { return nil }

// Authenticated lets messages be as long as configured. The server calls it when a session is there.
func (c *conn) Authenticated() { c.entry.Established() }

func (c *conn) isEarly() bool { return !c.entry.IsEstablished() }

// Busy implements [connlimit.Conn].
func (c *conn) Busy() bool {
	b, ok := c.handler.(transport.Busy)
	return ok && b.Busy()
}

// End implements [connlimit.Conn].
func (c *conn) End(err error) { c.Disconnect(err, false) }

// serve reads until there is nothing more to be read.
func (c *conn) serve() error {
	err := c.read()
	if err == io.EOF {
		err = nil
	}
	c.stream.Fail(err)
	err = c.stream.Wait()
	c.handler.Closed(err)
	return err
}

// read hands messages to the handler until the stream ends.
func (c *conn) read() error {
	for {
		n, err := c.mark()
		if err != nil {
			return err
		}
		if n == 0 {
			continue // a keep-alive
		}
		buf, err := c.message(n)
		if err != nil {
			return err
		}
		c.entry.Use()
		c.srv.in.Add(uint64(n + markLen))
		if c.stream.Ending() {
			buf.Release()
			continue
		}
		c.handler.Message(buf)
	}
}

// Types of session packets (RFC 1002 4.3.1).
const (
	sessionMessage   = 0x00
	sessionKeepAlive = 0x85
)

// mark reads the length of the next message; 0 of what is none.
func (c *conn) mark() (int, error) {
	for c.till-c.from < markLen {
		if err := c.fill(); err != nil {
			if err == io.EOF && c.till > c.from {
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
	}
	b := c.in[c.from:]
	n := int(b[1])<<16 | int(b[2])<<8 | int(b[3])
	limit := c.srv.cfg.MaxMessage
	if c.isEarly() {
		limit = min(limit, EarlyMessage)
	}
	switch {
	case b[0] == sessionKeepAlive && n == 0:
	case b[0] != sessionMessage:
		return 0, fmt.Errorf("%w: type %#02x", errMark, b[0])
	case n > limit:
		return 0, fmt.Errorf("%w: %d bytes of at most %d", errTooLong, n, limit)
	}
	c.from += markLen
	return n, nil
}

// fill reads ahead.
func (c *conn) fill() error {
	if c.from == c.till {
		c.from, c.till = 0, 0
	} else if c.from > 0 {
		c.till = copy(c.in, c.in[c.from:c.till])
		c.from = 0
	}
	n, err := c.nc.Read(c.in[c.till:])
	c.till += n
	if n > 0 {
		return nil
	}
	return err
}

// message reads a message of n bytes. Before somebody is authenticated memory is taken as the bytes come.
func (c *conn) message(n int) (*slab.Buf, error) {
	size := n
	if c.isEarly() {
		size = min(n, 2<<10-tailroom)
	}
	buf, err := c.srv.cfg.Buffers.Get(c.stream.Context(), size+tailroom)
	if err != nil {
		return nil, err
	}
	buf.SetLen(size)
	got := c.ahead(buf.Bytes(), n)
	if size == n {
		got += c.readNow(buf.Bytes()[got:])
	}
	if got == n {
		return buf, nil
	}
	c.stream.ReadBy(time.Now().Add(c.srv.cfg.ReadTimeout + time.Duration(n)*time.Second/slowest))
	for got < n {
		if got == size {
			if buf, size, err = c.grow(buf, got, n); err != nil {
				return nil, err
			}
		}
		if k := c.ahead(buf.Bytes()[got:], n-got); k > 0 {
			got += k
			continue
		}
		k, err := c.nc.Read(buf.Bytes()[got:])
		if got += k; k == 0 && err != nil {
			buf.Release()
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	c.stream.ReadBy(time.Time{})
	return buf, nil
}

// readNow reads what is there already, which mostly is all: that needs no deadline, which costs more than to read. What is
// wrong, or the end, is left to the next read.
func (c *conn) readNow(b []byte) (got int) {
	a := &c.peek
	for c.raw != nil && got < len(b) {
		a.b, a.n = b[got:], 0
		if err := c.raw.Read(a.run); err != nil || a.n <= 0 {
			break
		}
		got += a.n
	}
	a.b = nil
	return got
}

// peek is an attempt to read.
type peek struct {
	b   []byte
	n   int
	run func(fd uintptr) bool
}

func (a *peek) read(fd uintptr) bool {
	for {
		n, err := unix.Read(int(fd), a.b)
		if err != unix.EINTR {
			a.n = n
			return true
		}
	}
}

// ahead takes up to n bytes of what has been read ahead.
func (c *conn) ahead(b []byte, n int) int {
	k := copy(b, c.in[c.from:min(c.till, c.from+n)])
	c.from += k
	return k
}

// grow moves the got bytes of a message of n to a larger buffer.
func (c *conn) grow(old *slab.Buf, got, n int) (*slab.Buf, int, error) {
	defer old.Release()
	size := min(n, 4*got)
	buf, err := c.srv.cfg.Buffers.Get(c.stream.Context(), size+tailroom)
	if err != nil {
		return nil, 0, err
	}
	buf.SetLen(size)
	copy(buf.Bytes(), old.Bytes()[:got])
	return buf, size, nil
}
