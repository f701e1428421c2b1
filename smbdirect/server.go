package smbdirect

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"fileserver/internal/connlimit"
	"fileserver/rdma"
	"fileserver/smb/transport"
)

// DefaultReadDepth is the number of RDMA READs outstanding per connection, where peer and device allow.
const DefaultReadDepth = 32

// drainPatience is how long a client may neither take nor send anything while the server stops.
const drainPatience = 3 * time.Second

// Config is what a Server needs.
type Config struct {
	// Memory is the registered memory for a connection on a device: one for all
	// of them, or what [rdma.Domain.Attach] returns.
	Memory func(rdma.Device) (*rdma.Memory, error)
	// Handler makes the protocol's side of a connection that has been
	// negotiated. It is called on the connection's goroutine and must not block, nor send.
	Handler func(transport.Conn) transport.Handler
	Logger  *slog.Logger
	Params  Params
	// Limits say which connections are taken. One is established when somebody has authenticated, and busy while the
	// handler says so.
	Limits    connlimit.Config
	ReadDepth int // 0: DefaultReadDepth
	// EarlyMessage is the longest message, bytes, until the handler has called
	// [Conn.Authenticated]: a peer that nobody knows gets no memory for what it claims to send. 0: as long as negotiated.
	EarlyMessage int
	// NextID numbers connections, across transports; nil: from 1.
	NextID func() uint64
}

// Server accepts SMB Direct connections.
type Server struct {
	cfg    Config
	lastID atomic.Uint64

	conns *rdma.Acceptor[*serverConn]

	mu   sync.Mutex // before that of conns, so that no connection is counted twice or not at all
	past Totals     // of connections that have ended
}

// serverConn keeps the server's books of a connection, between it and the protocol's handler.
type serverConn struct {
	s       *Server
	c       *Conn
	handler transport.Handler // once negotiated
}

// NewServer makes a server.
func NewServer(cfg Config) (*Server, error) {
	if cfg.Memory == nil || cfg.Handler == nil || cfg.Logger == nil {
		return nil, errors.New("smbdirect: server without memory, handler or logger")
	}
	if err := cfg.Params.withDefaults(false).check(); err != nil {
		return nil, err
	}
	if cfg.ReadDepth == 0 {
		cfg.ReadDepth = DefaultReadDepth
	}
	s := &Server{cfg: cfg, conns: rdma.NewAcceptor[*serverConn](cfg.Limits)}
	if s.cfg.NextID == nil {
		s.cfg.NextID = func() uint64 { return s.lastID.Add(1) }
	}
	return s, nil
}

// Serve accepts connections from ln until ctx ends, ln is closed, or the server
// shuts down. It does not close ln.
func (s *Server) Serve(ctx context.Context, ln rdma.Listener) error {
	return s.conns.Serve(ctx, ln, s.open, func(id rdma.ID, err error) {
		s.cfg.Logger.Warn("smbdirect: connection refused", "remote", id.RemoteAddr(), "reason", err)
	})
}

// open answers a connection request. When it fails the ID is still the caller's.
func (s *Server) open(id rdma.ID, e *connlimit.Entry) error {
	if id.Remote().ORD == 0 && id.Device().Caps().Transport != rdma.TransportIWARP {
		return errors.New("the peer answers no RDMA READs, so it could not write")
	}
	sc := &serverConn{s: s}
	mem, err := s.cfg.Memory(id.Device())
	if err == nil {
		if sc.c, err = newConn(id, mem, s.cfg.Params, false, s.cfg.NextID(), sc.opened); err != nil {
			err = errors.Join(err, mem.Release())
		}
	}
	if err != nil {
		return err
	}
	sc.c.entry = e
	sc.c.ended = sc.closed
	sc.c.early.Store(int32(s.cfg.EarlyMessage))
	s.conns.Add(sc, e)
	if err := id.Accept(acceptParams(id, s.cfg.ReadDepth)); err != nil {
		sc.c.Disconnect(err, false) // ends in closed
		return nil
	}
	sc.c.start()
	return nil
}

// opened is called when the connection has been negotiated, with its lock held.
func (sc *serverConn) opened(c *Conn) transport.Handler {
	s := sc.s
	id := c.ep.ID()
	_, ord := id.Negotiated()
	s.cfg.Logger.Info("smbdirect: connection", "remote", c.info.RemoteAddr, "transport", c.info.Transport,
		"device", id.Device().Name(), "credits", c.m.wanted, "send", c.m.maxSend, "receive", c.m.maxRecv,
		"fragmented", c.m.maxMessage, "readwrite", c.m.maxTransfer, "reads", ord)
	sc.handler = s.cfg.Handler(c)
	return sc.handler
}

// Busy implements [connlimit.Conn].
func (sc *serverConn) Busy() bool { return sc.c.protocolBusy() }

// End implements [connlimit.Conn].
func (sc *serverConn) End(err error) { sc.c.Disconnect(err, false) }

// closed is called when the connection has ended.
func (sc *serverConn) closed(err error) {
	s := sc.s
	reason := "disconnected"
	log := s.cfg.Logger.Info
	if err != nil {
		reason, log = err.Error(), s.cfg.Logger.Warn
	}
	log("smbdirect: connection closed", "remote", sc.c.info.RemoteAddr, "negotiated", sc.handler != nil, "reason", reason)
	st := sc.c.Stats()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.past.add(&st)
	s.conns.Remove(sc)
}

// Recheck ends the connections from addresses that Limits does not admit any more.
func (s *Server) Recheck() { s.conns.Recheck() }

// Conns returns the connections of the moment.
func (s *Server) Conns() []*Conn {
	list := s.conns.Conns()
	conns := make([]*Conn, len(list))
	for i, sc := range list {
		conns[i] = sc.c
	}
	return conns
}

// Shutdown refuses new connections and waits until all have ended: the protocol
// ends those it has. Those whose peers neither take nor send anything meanwhile
// are disconnected, and all of them when ctx ends.
func (s *Server) Shutdown(ctx context.Context) error {
	return s.conns.Drain(ctx, func(sc *serverConn) { sc.c.ep.EndIfStalled(drainPatience) },
		func(sc *serverConn, err error) { sc.c.Disconnect(err, false) })
}
