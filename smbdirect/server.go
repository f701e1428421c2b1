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

// DefaultReadDepth is how many RDMA READs a connection has outstanding, if peer and device allow.
const DefaultReadDepth = 32

// drainPatience is how long a connection may make no progress while the server stops.
const drainPatience = 3 * time.Second

// Config is what a Server needs.
type Config struct {
	// Memory returns the registered memory for a connection on a device: the same for all
	// connections, or that of [rdma.Domain.Attach].
	Memory func(rdma.Device) (*rdma.Memory, error)
	// Handler returns the handler of a connection's messages, once it is negotiated.
	// It is called on the connection's goroutine and must neither block nor send.
	Handler func(transport.Conn) transport.Handler
	Logger  *slog.Logger
	Params  Params
	// Limits bounds the connections. One is established when its peer has authenticated, and busy while the
	// handler says so ([transport.Busy]).
	Limits    connlimit.Config
	ReadDepth int // 0: DefaultReadDepth
	// EarlyMessage is the longest message, bytes, until the handler calls [Conn.Authenticated]:
	// an unknown peer gets no memory for what it claims to send. 0: as long as negotiated.
	EarlyMessage int
	// NextID numbers connections, across transports; nil: from 1.
	NextID func() uint64
}

// Server accepts SMB Direct connections.
type Server struct {
	cfg    Config
	lastID atomic.Uint64

	conns *rdma.Acceptor[*serverConn]

	mu   sync.Mutex // taken before the lock of conns, so that every connection is counted exactly once
	past Totals     // of the connections that have ended
}

// serverConn is a connection in the server's accounts.
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

// open answers a connection request. If it fails the caller still owns the ID.
func (s *Server) open(id rdma.ID, e *connlimit.Entry) error {
	if id.Remote().ORD == 0 && id.Device().Caps().Transport != rdma.TransportIWARP {
		return errors.New("the peer answers no RDMA READs, so it could not write")
	}
	sc := &serverConn{s: s}
	mem, err := s.cfg.Memory(id.Device())
	if err == nil {
		if sc.c, err = newConn(id, mem, s.cfg.Params, false, s.cfg.NextID(), sc.openedLocked); err != nil {
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

// openedLocked is called with the connection's lock held when the connection is negotiated.
func (sc *serverConn) openedLocked(c *Conn) transport.Handler {
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

// Conns returns the current connections.
func (s *Server) Conns() []*Conn {
	list := s.conns.Conns()
	conns := make([]*Conn, len(list))
	for i, sc := range list {
		conns[i] = sc.c
	}
	return conns
}

// Shutdown refuses new connections and waits until all have ended: the protocol's
// handlers end them. It disconnects those that make no progress meanwhile, and all
// when ctx ends.
func (s *Server) Shutdown(ctx context.Context) error {
	return s.conns.Drain(ctx, func(sc *serverConn) { sc.c.ep.EndIfStalled(drainPatience) },
		func(sc *serverConn, err error) { sc.c.Disconnect(err, false) })
}
