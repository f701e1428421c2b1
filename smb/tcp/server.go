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

	// EarlyMessage is the longest message, bytes, before somebody is authenticated.
	EarlyMessage = 64 << 10
)

// ErrServerClosed is the error of a Server that has been shut down.
var ErrServerClosed = errors.New("smb/tcp: server is closed")

// Config is what a Server needs.
type Config struct {
	// Handler makes the protocol's side of a connection. It must not block, nor send.
	Handler func(transport.Conn) transport.Handler
	Buffers *slab.Pool
	Logger  *slog.Logger // nil: nothing is logged

	// Limits say which connections are taken. One is established when somebody has authenticated, and busy while the
	// handler says so.
	Limits connlimit.Config

	MaxMessage   int           // bytes; 0: DefaultMaxMessage
	ReadTimeout  time.Duration // for a message that has begun, beside what its length earns; 0: DefaultReadTimeout
	WriteTimeout time.Duration // ends a connection that takes no responses, or less than 256 KiB in it; 0: DefaultWriteTimeout
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

// New makes a server without connections.
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

// ServeConn serves one connection, which it closes, and returns when it has ended.
// It is for connections that somebody else has accepted, and looked at: nc's Read then
// returns what they have read. The error is why it ended; nil if the client ended it, or a shutdown.
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

// Recheck ends the connections from addresses that Limits does not admit any more.
func (s *Server) Recheck() { s.conns.Recheck() }

// Stats returns the figures of the moment.
func (s *Server) Stats() Stats {
	return Stats{Conns: s.conns.Len(), Received: s.in.Load(), Sent: s.out.Load()}
}

// StopAccepting closes the listeners: connections go on.
func (s *Server) StopAccepting() { s.conns.Close() }

// Shutdown closes the listeners and waits until all connections have ended: the protocol
// ends those it has. When ctx ends they are closed.
func (s *Server) Shutdown(ctx context.Context) error {
	s.conns.Close()
	return s.conns.Drain(ctx, func(c *conn) { c.Disconnect(ErrServerClosed, false) })
}
