package nfsrdma

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"fileserver/internal/workers"
	"fileserver/nfs/rpc"
	"fileserver/rdma"
)

// Implementation constants.
const (
	// DefaultCredits is how many calls a client may have outstanding (RFC 8166 3.3.1).
	DefaultCredits = 128
	// DefaultInline is the inline threshold both ways, bytes (RFC 8166 3.3.2): what Linux uses.
	DefaultInline = 4096
	// DefaultMaxMessage is the most a call may leave in Read chunks, bytes.
	DefaultMaxMessage = 4 << 20
	// DefaultMaxHeld is the data that the calls of one connection hold at most, bytes: 32 READs of 1 MiB.
	DefaultMaxHeld = 32 << 20
	// DefaultReadDepth is the number of RDMA READs outstanding per connection, where peer and device allow.
	DefaultReadDepth = 32

	// maxReply bounds replies in a Reply chunk, bytes: the programs are told.
	maxReply = 256 << 10
	// spareRecvs are receives beyond the credits: for messages that take no
	// credit, and for a client's calls that cross with a reply.
	spareRecvs = 8
	// keptReplies is how many reply buffers a connection keeps once it has needed them.
	keptReplies = 32
	// drainPatience is how long a client may take none of its replies, and send none of its data, while the server stops.
	drainPatience = 3 * time.Second
)

// Config is what a Server needs.
type Config struct {
	Handler rpc.Handler
	// Memory is the registered memory for a connection on a device: one for all
	// of them, or what [rdma.Domain.Attach] returns.
	Memory func(rdma.Device) (*rdma.Memory, error)
	Logger *slog.Logger
	// MaxConns bounds the connections; 0: no bound.
	MaxConns int

	Credits    int // 0: DefaultCredits
	Inline     int // bytes, a multiple of 1024; 0: DefaultInline
	MaxMessage int // bytes; 0: DefaultMaxMessage
	MaxHeld    int // bytes; 0: DefaultMaxHeld. Calls beyond it wait for others of their connection
	ReadDepth  int // 0: DefaultReadDepth
}

// Server serves RPC-over-RDMA on listeners.
type Server struct {
	cfg     Config
	base    context.Context // of the calls; ends with Shutdown's patience
	cancel  context.CancelFunc
	workers workers.Pool

	mu      sync.Mutex
	conns   map[*Conn]struct{}
	past    map[string]*Totals // by transport: connections accepted, and the figures of those that have ended
	closing bool
	settled bool          // closing, and no connection is being opened any more
	empty   chan struct{} // closed when settled and no connection is left
	opening sync.WaitGroup
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
		return nil, fmt.Errorf("nfsrdma: %d bytes for the calls of a connection", cfg.MaxHeld)
	case cfg.MaxMessage < 4096 || cfg.MaxMessage > 15<<20:
		return nil, fmt.Errorf("nfsrdma: messages of at most %d bytes; choose 4096 to 15728640", cfg.MaxMessage)
	}
	s := &Server{cfg: cfg, conns: make(map[*Conn]struct{}), past: make(map[string]*Totals), empty: make(chan struct{})}
	s.base, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// Serve accepts connections from ln until ctx ends, ln is closed, or the server
// shuts down. It does not close ln.
func (s *Server) Serve(ctx context.Context, ln rdma.Listener) error {
	for {
		id, err := ln.Accept(ctx)
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, rdma.ErrClosed) {
				return nil
			}
			return err
		}
		s.mu.Lock()
		switch {
		case s.closing:
			err = errors.New("the server is shutting down")
		case s.cfg.MaxConns > 0 && len(s.conns) >= s.cfg.MaxConns:
			err = fmt.Errorf("there are %d connections, the configured most", s.cfg.MaxConns)
		default:
			s.opening.Add(1)
		}
		s.mu.Unlock()
		if err != nil {
			s.cfg.Logger.Warn("connection refused", "transport", id.Device().Caps().Transport.String(), "remote", id.RemoteAddr(), "reason", err)
			_ = id.Reject(nil) // the peer learns it, or has gone
			continue
		}
		go func() {
			defer s.opening.Done()
			s.open(id)
		}()
	}
}

// open answers a connection request.
func (s *Server) open(id rdma.ID) {
	c, err := newConn(s, id)
	if err != nil {
		s.cfg.Logger.Warn("connection refused", "transport", id.Device().Caps().Transport.String(), "remote", id.RemoteAddr(), "reason", err)
		_ = id.Reject(nil)
		return
	}
	s.mu.Lock()
	s.conns[c] = struct{}{}
	p := s.past[c.info.Transport]
	if p == nil {
		p = new(Totals)
		s.past[c.info.Transport] = p
	}
	p.Accepted++
	closing := s.closing
	s.mu.Unlock()
	if err := c.accept(); err != nil {
		c.ep.Disconnect(err) // ends in Conn.Closed, which logs it
		return
	}
	c.ep.Start()
	if closing {
		c.drain()
	}
}

func (s *Server) remove(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	last := c.Stats()
	s.past[c.info.Transport].add(&last)
	if s.settled && len(s.conns) == 0 {
		close(s.empty)
	}
}

// Conns returns the connections of the moment.
func (s *Server) Conns() []*Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*Conn, 0, len(s.conns))
	for c := range s.conns {
		list = append(list, c)
	}
	return list
}

// Shutdown refuses new connections and calls, lets running calls finish and
// their replies go out, and disconnects. When ctx ends it disconnects at once;
// calls that still run then have their context ended. It returns when
// everything is released.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	first := !s.closing
	s.closing = true
	s.mu.Unlock()
	if !first {
		<-s.empty
		return nil
	}
	s.opening.Wait()
	s.mu.Lock()
	s.settled = true
	if len(s.conns) == 0 {
		close(s.empty)
	}
	s.mu.Unlock()
	for _, c := range s.Conns() {
		c.drain()
	}
	var err error
	select {
	case <-s.empty:
	case <-ctx.Done():
		err = context.Cause(ctx)
		s.cancel()
		for _, c := range s.Conns() {
			c.ep.Disconnect(err)
		}
		<-s.empty
	}
	s.cancel()
	s.workers.Close()
	return err
}
