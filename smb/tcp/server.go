package tcp

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"fileserver/internal/connlimit"
	"fileserver/internal/slab"
	"fileserver/internal/stream"
	"fileserver/smb/transport"
)

// Defaults of Config.
const (
	DefaultMaxMessage   = 8<<20 + 128<<10
	DefaultReadTimeout  = 30 * time.Second
	DefaultWriteTimeout = 30 * time.Second

	// EarlyMessage is the longest message before a client is authenticated, bytes.
	EarlyMessage = 64 << 10
)

// ErrServerClosed is the error of a Server that has been shut down.
var ErrServerClosed = errors.New("smb/tcp: server is closed")

// Config is what a Server needs.
type Config struct {
	// Handler returns the protocol's side of a connection. It must neither block nor send.
	Handler func(transport.Conn) transport.Handler
	Buffers *slab.Pool
	Logger  *slog.Logger // nil: nothing is logged

	// Limits say which connections are accepted. A connection is established when its client has authenticated, and busy
	// while the handler says so.
	Limits connlimit.Config

	MaxMessage   int           // bytes; 0: DefaultMaxMessage
	ReadTimeout  time.Duration // for a message that has begun; longer messages have more time; 0: DefaultReadTimeout
	WriteTimeout time.Duration // ends a connection whose peer takes less than 256 KiB of the responses in it; 0: DefaultWriteTimeout
	// NextID numbers connections, across transports; nil: from 1.
	NextID func() uint64
}

// Server accepts connections.
type Server struct {
	cfg     Config
	lastID  atomic.Uint64
	in, out atomic.Uint64
	unused  sync.Pool // of *message
	conns   *stream.Group[*conn]
}

// Stats are figures of a server.
type Stats struct {
	Conns    int
	Received uint64 // bytes
	Sent     uint64 // bytes
}

// New returns a server without connections.
func New(cfg Config) (*Server, error) {
	if cfg.Handler == nil || cfg.Buffers == nil {
		return nil, errors.New("smb/tcp: server without handler or buffers")
	}
	if cfg.MaxMessage <= 0 {
		cfg.MaxMessage = DefaultMaxMessage
	}
	cfg.MaxMessage = min(cfg.MaxMessage, slab.MaxSize-tailroom)
	if cfg.ReadTimeout <= 0 {
		cfg.ReadTimeout = DefaultReadTimeout
	}
	if cfg.WriteTimeout <= 0 {
		cfg.WriteTimeout = DefaultWriteTimeout
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{cfg: cfg, conns: stream.New[*conn](cfg.Logger, cfg.Limits, ErrServerClosed)}
	if s.cfg.NextID == nil {
		s.cfg.NextID = func() uint64 { return s.lastID.Add(1) }
	}
	return s, nil
}

// Serve accepts connections until l is closed, the server is shut down
// ([ErrServerClosed]) or ctx ends, and closes l. Connections outlive it, unless ctx ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	return s.conns.Serve(ctx, l, func(nc net.Conn, e *connlimit.Entry) { _ = s.serve(ctx, nc, e) })
}

// ServeConn serves one connection, closes it, and returns when it has ended. It is for connections that the caller has
// accepted itself. If the caller has read from the connection, nc's Read must return those bytes again. The error says why
// the connection ended; it is nil if the client or a shutdown ended it.
func (s *Server) ServeConn(ctx context.Context, nc net.Conn) error {
	e, err := s.conns.Admit(nc)
	if err != nil {
		return err
	}
	return s.serve(ctx, nc, e)
}

func (s *Server) serve(ctx context.Context, nc net.Conn, e *connlimit.Entry) error {
	c := newConn(s, ctx, nc, e)
	c.handler = s.cfg.Handler(c)
	if err := s.conns.Add(c, e); err != nil {
		c.Disconnect(err, false)
		c.handler.Closed(err)
		return err
	}
	defer s.conns.Remove(c)
	return c.serve()
}

// Recheck ends the connections from addresses that Limits no longer admits.
func (s *Server) Recheck() { s.conns.Recheck() }

// Stats returns the current figures.
func (s *Server) Stats() Stats {
	return Stats{Conns: s.conns.Len(), Received: s.in.Load(), Sent: s.out.Load()}
}

// StopAccepting closes the listeners. Existing connections go on.
func (s *Server) StopAccepting() { s.conns.Close() }

// Shutdown closes the listeners and waits until the protocol has ended all connections. When ctx ends first, it closes
// them.
func (s *Server) Shutdown(ctx context.Context) error {
	s.conns.Close()
	return s.conns.Drain(ctx, func(c *conn) { c.Disconnect(ErrServerClosed, false) })
}
