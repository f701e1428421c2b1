package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"fileserver/internal/connlimit"
	"fileserver/internal/slab"
	"fileserver/internal/stream"
	"fileserver/internal/workers"
)

// Defaults of TCPConfig.
const (
	DefaultMaxMessage   = 4<<20 + 64<<10
	DefaultMaxCalls     = 128
	DefaultMaxHeld      = 32 << 20
	DefaultReadTimeout  = 30 * time.Second
	DefaultWriteTimeout = 30 * time.Second
)

// ErrServerClosed is the error of a TCPServer that has been shut down.
var ErrServerClosed = errors.New("rpc: server is closed")

var lastConnID atomic.Uint64

// NextConnID returns an ID for a [Conn], unique in the process.
func NextConnID() uint64 { return lastConnID.Add(1) }

// TCPConfig configures a [TCPServer].
type TCPConfig struct {
	Handler  Handler
	Buffers  *slab.Pool   // for large messages and, through [Call], for results
	Logger   *slog.Logger // nil: nothing is logged
	Observer ConnObserver // nil: nobody

	// Limits say which connections are taken. One is established by its first call, and busy while calls are answered.
	Limits connlimit.Config

	MaxMessage int // longest message accepted, and longest reply [Limits] allow, bytes; 0: DefaultMaxMessage
	// MaxHeld is what the calls of a connection hold of Buffers at most, bytes, until their replies are out; then nothing
	// more is read, and calls in execution wait. One call alone may hold more. 0: DefaultMaxHeld.
	MaxHeld      int
	MaxCalls     int           // calls in execution per connection; then nothing more is read; 0: DefaultMaxCalls
	ReadTimeout  time.Duration // for a message that has begun, beside what its length earns; 0: DefaultReadTimeout
	WriteTimeout time.Duration // ends a connection that takes no replies, or less than 256 KiB in it; 0: DefaultWriteTimeout
}

// ConnObserver is told of connections, for metrics. Its methods must not block.
type ConnObserver interface {
	// Opened is called before the first call, and Closed after the last reply. err is nil if the client ended the
	// connection between two messages, and [stream.ErrNoMemory] if a message found no memory in time.
	Opened(c *Conn)
	Closed(c *Conn, err error)
	// Received and Sent count bytes, record marks included.
	Received(c *Conn, n int)
	Sent(c *Conn, n int)
}

type noConnObserver struct{}

func (noConnObserver) Opened(*Conn)        {}
func (noConnObserver) Closed(*Conn, error) {}
func (noConnObserver) Received(*Conn, int) {}
func (noConnObserver) Sent(*Conn, int)     {}

// TCPServer is the TCP transport (RFC 5531 11): it hands the messages of its connections to a [Handler].
type TCPServer struct {
	cfg     TCPConfig
	workers workers.Pool
	calls   sync.Pool // of *tcpCall
	conns   *stream.Group[*tcpConn]
}

// NewTCPServer makes a transport without connections.
func NewTCPServer(cfg TCPConfig) *TCPServer {
	def := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	def(&cfg.MaxMessage, DefaultMaxMessage)
	cfg.MaxMessage = min(cfg.MaxMessage, slab.MaxSize)
	def(&cfg.MaxCalls, DefaultMaxCalls)
	def(&cfg.MaxHeld, DefaultMaxHeld)
	if cfg.ReadTimeout <= 0 {
		cfg.ReadTimeout = DefaultReadTimeout
	}
	if cfg.WriteTimeout <= 0 {
		cfg.WriteTimeout = DefaultWriteTimeout
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Observer == nil {
		cfg.Observer = noConnObserver{}
	}
	return &TCPServer{cfg: cfg, conns: stream.New[*tcpConn](cfg.Logger, cfg.Limits, ErrServerClosed)}
}

// Serve accepts connections until l is closed, the server is shut down
// ([ErrServerClosed]) or ctx ends, and closes l. Connections outlive it, unless ctx ends.
func (s *TCPServer) Serve(ctx context.Context, l net.Listener) error {
	return s.conns.Serve(ctx, l, func(nc net.Conn, e *connlimit.Entry) { _ = s.serve(ctx, nc, e) })
}

// ServeConn serves one connection and returns when it has ended and all its calls are done. It
// closes nc. The error is why the connection ended; nil if the client ended it, or a shutdown.
// Replies with payloads are written by writev(2) if nc is a *net.TCPConn or embeds one.
func (s *TCPServer) ServeConn(ctx context.Context, nc net.Conn) error {
	e, err := s.conns.Admit(nc)
	if err != nil {
		return err
	}
	return s.serve(ctx, nc, e)
}

func (s *TCPServer) serve(ctx context.Context, nc net.Conn, e *connlimit.Entry) error {
	c := newTCPConn(s, ctx, nc, e)
	if err := s.conns.Add(c, e); err != nil {
		c.stream.Fail(err)
		c.giveUp(nil)
		return err
	}
	defer s.conns.Remove(c)
	return c.serve()
}

// Recheck ends the connections from addresses that Limits does not admit any more.
func (s *TCPServer) Recheck() { s.conns.Recheck() }

// Shutdown ends the server gracefully: listeners are closed, nothing more is read, what is running is
// finished and answered, then the connections are closed. When ctx ends first, the connections are closed as they are, the
// context of the calls ends, and an error is returned once they are done.
func (s *TCPServer) Shutdown(ctx context.Context) error {
	s.conns.Close()
	s.conns.Each(func(c *tcpConn) { c.stream.StopReading() })
	err := s.conns.Drain(ctx, func(c *tcpConn) { c.giveUp(ErrServerClosed) })
	s.workers.Close()
	if err != nil {
		return fmt.Errorf("rpc: connections did not drain: %w", err)
	}
	return nil
}

// Close ends the server at once. It returns when all calls are done.
func (s *TCPServer) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.Shutdown(ctx)
	return nil
}

// Conns is the number of connections.
func (s *TCPServer) Conns() int { return s.conns.Len() }
