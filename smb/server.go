package smb

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fileserver/internal/budget"
	"fileserver/internal/clock"
	"fileserver/internal/slab"
	"fileserver/internal/users"
	"fileserver/internal/workers"
	"fileserver/smb/crypt"
	"fileserver/smb/ntlm"
	"fileserver/smb/throttle"
	"fileserver/smb/transport"
	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/lock"
)

// Policy says whether the server uses signing, or encryption.
type Policy uint8

// Policies. Signing is never off: a client that requires signing gets it.
const (
	Off      Policy = iota
	Desired         // used with clients that support it
	Required        // clients that do not support it are refused
)

// Users finds the users of the server. [users.Store] implements it.
type Users interface {
	// Lookup finds a user by name, in any case.
	Lookup(name string) (u users.User, ok bool, err error)
}

// Config is what a [Server] needs.
type Config struct {
	Buffers *slab.Pool
	Locks   *lock.Manager
	Users   Users
	Logger  *slog.Logger
	// Observer receives events of connections and requests; nil: none.
	Observer Observer

	GUID      [16]byte // of the server; it should be the same after a restart
	Name      string   // NetBIOS name of the server
	Workgroup string

	// MinDialect and MaxDialect are the lowest and the highest dialect that the server negotiates; 0: 2.0.2, and
	// 3.1.1.
	MinDialect, MaxDialect wire.Dialect
	Signing                Policy // Desired or Required
	Encryption             Policy
	Ciphers                []crypt.Cipher // in order of preference; nil: all, AES-128-GCM first
	Guest                  *vfs.Cred      // the identity of unknown users; nil: they are refused
	Anonymous              *vfs.Cred      // the identity of users without a name; nil: they are refused
	// Interfaces lists the server's addresses for FSCTL_QUERY_NETWORK_INTERFACE_INFO; nil: the server lists none.
	Interfaces func() []Interface

	MaxCredits   int // per connection, 0: 8192
	MaxReadWrite int // bytes of one READ or WRITE, 0: 8 MiB
	MaxSessions  int // 0: 16384
	// Files divides the number of open files among clients, by their addresses; nil: only the limit of a session
	// applies.
	Files *budget.Files
	// MaxHeld is the most data, in bytes, that the requests of one connection hold until their responses have been
	// sent; 0: 64 MiB. Further requests wait. A single request may hold more.
	MaxHeld int
}

// Observer receives events for metrics. Its methods must not block.
type Observer interface {
	Opened(*transport.Info)
	Closed(*transport.Info, error)
	// Done is called for each request that has been answered.
	Done(wire.Command, wire.Status, time.Duration)
	// LoginFailed is called for each authentication that has failed.
	LoginFailed(*transport.Info)
}

// Server is an SMB server without listeners: transports hand it connections ([Server.Handler]).
type Server struct {
	cfg         Config
	ctx         context.Context // the context of requests; ends when Shutdown stops waiting
	cancel      context.CancelFunc
	workers     workers.Pool
	compounds   sync.Pool      // of *compound
	wg          sync.WaitGroup // of connections
	clock       clock.Clock
	lastFile    atomic.Uint64 // IDs of opens
	lastOpen    atomic.Uint64
	links       links
	changeTimes changeTimes
	zeroLocks   zeroLocks
	streams     streams
	appends     sync.Mutex // held during a WRITE of an open that may only append; taken with nothing else held
	logins      throttle.Table
	target      ntlm.Target

	mu       sync.Mutex
	conns    map[*Conn]struct{}
	sessions map[uint64]*Session // complete ones, by ID
	shares   map[string]*Share   // by folded name
	ipc      *Share
	closing  bool
}

var errShutdown = errors.New("smb: the server is shutting down")

// NewServer creates a server whose only share is IPC$.
func NewServer(cfg Config) (*Server, error) {
	if cfg.Buffers == nil || cfg.Locks == nil || cfg.Users == nil || cfg.Logger == nil {
		return nil, errors.New("smb: server without buffers, locks, users or logger")
	}
	if cfg.MinDialect == 0 {
		cfg.MinDialect = wire.Dialect202
	}
	if cfg.MaxDialect == 0 {
		cfg.MaxDialect = wire.Dialect311
	}
	if cfg.Ciphers == nil {
		cfg.Ciphers = []crypt.Cipher{crypt.GCM128, crypt.GCM256, crypt.CCM128, crypt.CCM256}
	}
	if cfg.MaxCredits <= 0 || cfg.MaxCredits > maxCredits {
		cfg.MaxCredits = maxCredits
	}
	if cfg.MaxReadWrite <= 0 || cfg.MaxReadWrite > 8<<20 {
		cfg.MaxReadWrite = 8 << 20
	}
	if cfg.MaxHeld <= 0 {
		cfg.MaxHeld = DefaultMaxHeld
	}
	if cfg.MaxSessions <= 0 {
		cfg.MaxSessions = 16384
	}
	s := &Server{
		cfg: cfg, conns: map[*Conn]struct{}{}, sessions: map[uint64]*Session{}, clock: clock.New(),
		ipc: &Share{Name: "IPC$", Comment: "IPC Service"},
	}
	s.links.locks, s.streams.locks = cfg.Locks, cfg.Locks
	s.target = ntlm.Target{
		Computer: strings.ToUpper(cfg.Name), Domain: strings.ToUpper(cfg.Workgroup),
		DNSComputer: strings.ToLower(cfg.Name), DNSDomain: strings.ToLower(cfg.Workgroup),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	var seed [8]byte
	_, _ = rand.Read(seed[:]) // never fails
	s.lastFile.Store(le.Uint64(seed[:]) >> 2)
	s.shares = map[string]*Share{ipcName: s.ipc}
	return s, nil
}

// newCompound creates a compound for the message in buf, and takes over buf.
func (s *Server) newCompound(c *Conn, buf *slab.Buf) *compound {
	cm, _ := s.compounds.Get().(*compound)
	if cm == nil {
		cm = &compound{reqs: make([]request, 0, 1)}
	}
	cm.conn, cm.buf, cm.fileStatus = c, buf, wire.StatusFileClosed
	c.mu.Lock()
	c.busy++
	c.mu.Unlock()
	return cm
}

// Shutdown ends all connections and waits until they have ended. Before that the server answers the requests that it
// has received, unless ctx ends first. The transports must not create new connections.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	conns := make([]*Conn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	s.mu.Unlock()
	for _, c := range conns {
		c.stop()
	}
	done := make(chan struct{})
	go func() {
		s.wg.Wait()
		s.workers.Close()
		close(done)
	}()
	var err error
	select {
	case <-done:
	case <-ctx.Done():
		err = context.Cause(ctx)
		s.cancel()
		for _, c := range conns {
			c.t.Disconnect(errShutdown, false)
		}
		<-done
	}
	s.cancel()
	return err
}
