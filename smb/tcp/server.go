package tcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"fileserver/internal/slab"
	"fileserver/internal/tcpserver"
	"fileserver/smb/transport"
)

// Defaults of Config.
const (
	DefaultMaxMessage   = 8<<20 + 128<<10
	DefaultMaxConns     = 4096
	DefaultMaxEarly     = 256
	DefaultReadTimeout  = 30 * time.Second
	DefaultWriteTimeout = 30 * time.Second

	// EarlyMessage is the longest message, bytes, before somebody is authenticated.
	EarlyMessage = 64 << 10
)

// Errors of a Server.
var (
	ErrServerClosed = errors.New("smb/tcp: server is closed")
	ErrTooManyConns = errors.New("smb/tcp: too many connections")
)

// Config is what a Server needs.
type Config struct {
	// Handler makes the protocol's side of a connection. It must not block, nor send.
	Handler func(transport.Conn) transport.Handler
	Buffers *slab.Pool
	Logger  *slog.Logger // nil: nothing is logged

	MaxMessage   int           // bytes; 0: DefaultMaxMessage
	MaxConns     int           // 0: DefaultMaxConns
	MaxEarly     int           // connections of one client's address, or IPv6 network, that are not authenticated; 0: DefaultMaxEarly
	ReadTimeout  time.Duration // for a message that has begun, beside what its length earns; 0: DefaultReadTimeout
	WriteTimeout time.Duration // for about a megabyte of responses; 0: DefaultWriteTimeout
	// NextID numbers connections, across transports; nil: from 1.
	NextID func() uint64
}

// Server accepts connections. Lock order: mu, then that of conns.
type Server struct {
	cfg     Config
	lastID  atomic.Uint64
	in, out atomic.Uint64
	conns   *tcpserver.Group[*conn]

	mu    sync.Mutex
	early map[netip.Addr]int // connections that are not authenticated
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
	if cfg.MaxConns <= 0 {
		cfg.MaxConns = DefaultMaxConns
	}
	if cfg.MaxEarly <= 0 {
		cfg.MaxEarly = DefaultMaxEarly
	}
	if cfg.ReadTimeout <= 0 {
		cfg.ReadTimeout = DefaultReadTimeout
	}
	if cfg.WriteTimeout <= 0 {
		cfg.WriteTimeout = DefaultWriteTimeout
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		cfg: cfg, early: make(map[netip.Addr]int), conns: tcpserver.New[*conn](cfg.Logger, cfg.MaxConns, ErrServerClosed, ErrTooManyConns),
	}
	if s.cfg.NextID == nil {
		s.cfg.NextID = func() uint64 { return s.lastID.Add(1) }
	}
	return s, nil
}

// Serve accepts connections until l is closed, the server is shut down
// ([ErrServerClosed]) or ctx ends, and closes l. Connections outlive it, unless ctx ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	return s.conns.Serve(ctx, l, func(nc net.Conn) { s.ServeConn(ctx, nc) })
}

// ServeConn serves one connection, which it closes, and returns when it has ended.
// It is for connections that somebody else has accepted, and looked at: nc's Read then
// returns what they have read. The error is why it ended; nil if the client ended it, or a shutdown.
func (s *Server) ServeConn(ctx context.Context, nc net.Conn) error {
	c := newConn(s, ctx, nc)
	if err := s.add(c); err != nil {
		nc.Close()
		if err != ErrServerClosed {
			s.cfg.Logger.Warn("smb/tcp: connection refused", "remote", nc.RemoteAddr().String(), "err", err)
		}
		return err
	}
	defer s.remove(c)
	c.handler = s.cfg.Handler(c)
	return c.serve()
}

// clientOf is what one client can take addresses from: of IPv6 a /64.
func clientOf(a netip.Addr) netip.Addr {
	if a.Is6() {
		p, _ := a.WithZone("").Prefix(64)
		return p.Addr()
	}
	return a
}

func (s *Server) add(c *conn) error {
	a := clientOf(c.info.RemoteAddr.Addr())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.early[a] >= s.cfg.MaxEarly {
		return fmt.Errorf("%w: %d of this client have not authenticated", ErrTooManyConns, s.early[a])
	}
	if err := s.conns.Add(c); err != nil {
		return err
	}
	s.early[a]++
	return nil
}

// grown counts a connection as authenticated.
func (s *Server) grown(c *conn) {
	a := clientOf(c.info.RemoteAddr.Addr())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.early[a]--; s.early[a] == 0 {
		delete(s.early, a)
	}
}

func (s *Server) remove(c *conn) {
	if c.isEarly() {
		s.grown(c)
	}
	s.conns.Remove(c)
}

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
