package nfsrdma

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"fileserver/internal/connlimit"
	"fileserver/internal/workers"
	"fileserver/nfs/rpc"
	"fileserver/rdma"
)

// Implementation constants.
const (
	// DefaultCredits is how many calls a client may have outstanding (RFC 8166 3.3.1).
	DefaultCredits = 128
	// DefaultInline is the inline threshold both ways, bytes (RFC 8166 3.3.2): that of Linux.
	DefaultInline = 4096
	// DefaultMaxMessage bounds the Read chunks of a call, bytes.
	DefaultMaxMessage = 4 << 20
	// DefaultMaxHeld bounds the memory that the calls of one connection hold, bytes: 32 READs of 1 MiB.
	DefaultMaxHeld = 32 << 20
	// DefaultReadDepth is how many RDMA READs a connection has outstanding, if peer and device allow.
	DefaultReadDepth = 32

	// maxReply bounds replies in a Reply chunk, bytes. Programs learn it from rpc.Call.Limits.
	maxReply = 256 << 10
	// spareRecvs are receives beyond the credits, for messages that take no credit and
	// for calls that cross with a reply.
	spareRecvs = 8
	// keptReplies is how many unused reply buffers a connection keeps.
	keptReplies = 32
	// drainPatience is how long a connection may make no progress while the server stops.
	drainPatience = 3 * time.Second
)

// Config is what a Server needs.
type Config struct {
	Handler rpc.Handler
	// Memory returns the registered memory for a connection on a device: the same for all
	// connections, or that of [rdma.Domain.Attach].
	Memory func(rdma.Device) (*rdma.Memory, error)
	Logger *slog.Logger
	// Limits bounds the connections. One is established by its first valid call, and busy while it has calls.
	Limits connlimit.Config

	Credits    int // 0: DefaultCredits
	Inline     int // bytes, a multiple of 1024; 0: DefaultInline
	MaxMessage int // bytes; 0: DefaultMaxMessage
	MaxHeld    int // bytes; 0: DefaultMaxHeld. Calls beyond it wait for others of their connection
	ReadDepth  int // 0: DefaultReadDepth
}

// Server serves RPC-over-RDMA on listeners.
type Server struct {
	cfg     Config
	base    context.Context // of the calls; ended by Shutdown
	cancel  context.CancelFunc
	workers workers.Pool

	conns *rdma.Acceptor[*Conn]

	mu   sync.Mutex         // taken before the lock of conns, so that every connection is counted exactly once
	past map[string]*Totals // by transport: connections accepted, and the figures of those that have ended
}

// NewServer makes a server.
func NewServer(cfg Config) (*Server, error) {
	if cfg.Credits == 0 {
		cfg.Credits = DefaultCredits
	}
	if cfg.Inline == 0 {
		cfg.Inline = DefaultInline
	}
	if cfg.MaxMessage == 0 {
		cfg.MaxMessage = DefaultMaxMessage
	}
	if cfg.MaxHeld == 0 {
		cfg.MaxHeld = DefaultMaxHeld
	}
	if cfg.ReadDepth == 0 {
		cfg.ReadDepth = DefaultReadDepth
	}
	switch {
	case cfg.Handler == nil || cfg.Memory == nil || cfg.Logger == nil:
		return nil, errors.New("nfsrdma: server without handler, memory or logger")
	case cfg.Credits < 1 || cfg.Credits > 1<<14:
		return nil, fmt.Errorf("nfsrdma: %d credits; choose 1 to 16384", cfg.Credits)
	case cfg.Inline < 1024 || cfg.Inline > 256<<10 || cfg.Inline%1024 != 0:
		return nil, fmt.Errorf("nfsrdma: inline threshold of %d bytes; choose a multiple of 1024 up to 262144", cfg.Inline)
	case cfg.MaxHeld < 0:
		return nil, fmt.Errorf("nfsrdma: %d bytes for the calls of a connection; choose 0 (the default) or more", cfg.MaxHeld)
	case cfg.MaxMessage < 4096 || cfg.MaxMessage > 15<<20:
		return nil, fmt.Errorf("nfsrdma: messages of at most %d bytes; choose 4096 to 15728640", cfg.MaxMessage)
	}
	s := &Server{cfg: cfg, conns: rdma.NewAcceptor[*Conn](cfg.Limits), past: make(map[string]*Totals)}
	s.base, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// Serve accepts connections from ln until ctx ends, ln is closed, or the server
// shuts down. It does not close ln.
func (s *Server) Serve(ctx context.Context, ln rdma.Listener) error {
	return s.conns.Serve(ctx, ln, s.open, func(id rdma.ID, err error) {
		s.cfg.Logger.Warn("connection refused", "transport", id.Device().Caps().Transport.String(), "remote", id.RemoteAddr(), "reason", err)
	})
}

// open answers a connection request. If it fails the caller still owns the ID.
func (s *Server) open(id rdma.ID, e *connlimit.Entry) error {
	c, err := newConn(s, id, e)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.conns.Add(c, e)
	p := s.past[c.info.Transport]
	if p == nil {
		p = new(Totals)
		s.past[c.info.Transport] = p
	}
	p.Accepted++
	s.mu.Unlock()
	if err := c.accept(); err != nil {
		c.ep.Disconnect(err) // ends in Conn.Closed, which logs it
		return nil
	}
	c.ep.Start()
	return nil
}

func (s *Server) remove(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := c.Stats()
	s.past[c.info.Transport].add(&last)
	s.conns.Remove(c)
}

// Recheck ends the connections from addresses that Limits does not admit any more.
func (s *Server) Recheck() { s.conns.Recheck() }

// Conns returns the current connections.
func (s *Server) Conns() []*Conn { return s.conns.Conns() }

// Shutdown refuses new connections and calls, waits until running calls are answered,
// and disconnects. When ctx ends it disconnects at once and ends the context of the
// calls that still run. It returns when everything is released.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.conns.Drain(ctx, (*Conn).drain, func(c *Conn, err error) {
		s.cancel()
		c.ep.Disconnect(err)
	})
	s.cancel()
	s.workers.Close()
	return err
}
