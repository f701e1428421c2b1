package tcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"fileserver/internal/connlimit"
	"fileserver/internal/stream"
	"fileserver/smb/transport"
)

const (
	// tailroom is the room behind a message in its buffer, for a cipher's tag.
	tailroom = 16
	markLen  = 4
	// Before a client is authenticated, a message gets memory for earlyRoom bytes at first, and later for earlyFactor
	// times the bytes that have arrived.
	earlyRoom   = 2<<10 - tailroom
	earlyFactor = 4
)

var (
	errMark    = errors.New("smb/tcp: not a session message")
	errTooLong = errors.New("smb/tcp: message too long")
)

// conn is a connection. It implements [transport.Conn].
type conn struct {
	srv     *Server
	info    transport.Info
	stream  *stream.Conn
	handler transport.Handler
	entry   *connlimit.Entry
	rd      *stream.Reader
	msg     stream.Incoming
}

func newConn(s *Server, ctx context.Context, nc net.Conn, e *connlimit.Entry) *conn {
	c := &conn{srv: s, entry: e}
	c.stream = stream.NewConn(ctx, nc, stream.ConnConfig{
		WriteTimeout: s.cfg.WriteTimeout, Sent: func(n int) { s.out.Add(uint64(n)) },
	})
	c.info = transport.Info{
		ID: s.cfg.NextID(), Transport: "tcp", RemoteAddr: stream.AddrPort(nc.RemoteAddr()), LocalAddr: stream.AddrPort(nc.LocalAddr()),
		MaxMessage: s.cfg.MaxMessage,
	}
	c.rd = stream.NewReader(c.stream, stream.ReaderConfig{
		Framing: framing{c}, Buffers: s.cfg.Buffers, Tail: tailroom, Timeout: s.cfg.ReadTimeout,
	})
	return c
}

// Info implements [transport.Conn].
func (c *conn) Info() *transport.Info { return &c.info }

// Placer implements [transport.Conn]: there is no RDMA.
func (c *conn) Placer() transport.Placer { return nil }

// Authenticated allows messages of the configured length. The server calls it when a session is established.
func (c *conn) Authenticated() { c.entry.Established() }

func (c *conn) isEarly() bool { return !c.entry.IsEstablished() }

// Busy implements [connlimit.Conn].
func (c *conn) Busy() bool {
	b, ok := c.handler.(transport.Busy)
	return ok && b.Busy()
}

// End implements [connlimit.Conn].
func (c *conn) End(err error) { c.Disconnect(err, false) }

// serve reads until the stream ends or the connection stops reading.
func (c *conn) serve() error {
	err := c.read()
	if err == io.EOF {
		err = nil
	}
	if c.stream.Ending() {
		c.stream.Linger()
	}
	c.stream.Fail(err)
	err = c.stream.Wait()
	c.handler.Closed(err)
	return err
}

// read hands messages to the handler until the stream ends.
func (c *conn) read() error {
	for {
		err := c.rd.Next(&c.msg)
		c.srv.in.Add(uint64(c.rd.Received()))
		if err != nil {
			return err
		}
		buf := c.msg.Buf
		if buf == nil {
			continue // a keep-alive
		}
		c.msg.Buf = nil
		c.entry.Use()
		if c.stream.Ending() {
			buf.Release()
			return nil
		}
		c.handler.Message(buf)
	}
}

// Types of session packets (RFC 1002 4.3.1).
const (
	sessionMessage   = 0x00
	sessionKeepAlive = 0x85
)

// framing is the framing of session packets (RFC 1002 4.3.1). It implements [stream.Framing].
type framing struct{ c *conn }

// Part implements [stream.Framing].
func (f framing) Part(mark uint32, _ int) (n int, last bool, err error) {
	kind := mark >> 24
	n = int(mark & 0xffffff)
	limit := f.c.srv.cfg.MaxMessage
	if f.c.isEarly() {
		limit = min(limit, EarlyMessage)
	}
	switch {
	case kind == sessionKeepAlive && n == 0:
	case kind != sessionMessage:
		return 0, false, fmt.Errorf("%w: type %#02x", errMark, kind)
	case n > limit:
		return 0, false, fmt.Errorf("%w: %d bytes of at most %d", errTooLong, n, limit)
	}
	return n, true, nil
}

// Room implements [stream.Framing]. Before a client is authenticated, memory is allocated only as bytes arrive.
func (f framing) Room(have, want int) int {
	if f.c.isEarly() {
		return min(want, max(earlyRoom, earlyFactor*have))
	}
	return want
}
