package v4

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"fileserver/internal/clock"
	records "fileserver/internal/state"
	"fileserver/nfs"
	"fileserver/nfs/rpc"
	"fileserver/nfs/v4/proto"
	"fileserver/nfs/v4/state"
	"fileserver/vfs/lock"
)

// Program and version numbers (RFC 8881 16).
const (
	Program = 100003
	Version = 4
)

// Config configures a Server.
type Config struct {
	Exports  *nfs.Exports
	Locks    *lock.Manager      // shared by all protocols
	Verifier *nfs.WriteVerifier // shared with NFSv3
	// Store keeps which clients have state over restarts. Nil: nothing survives, and nobody can reclaim.
	Store  *records.Store
	Logger *slog.Logger // nil: nothing is logged
	// Observer is told of every operation; nil: nobody.
	Observer Observer
	// MinorVersions are those served, of 1 and 2; nil: both.
	MinorVersions []uint32
	// Lease is how long a client may be silent before others may take its state. Grace is how long clients may reclaim
	// their state after a restart. Both default to 90 s.
	Lease, Grace time.Duration
	// State has further limits of the clients' state.
	State state.Config
	// MaxIO is the most data of one READ or WRITE, bytes. Default 1 MiB.
	MaxIO uint32
	// Now is the clock. The default begins with the system's and runs evenly from then on.
	Now func() time.Time
}

// Server executes COMPOUNDs. It is safe for concurrent use.
type Server struct {
	cfg     Config
	log     *slog.Logger
	clients *state.Clients
	bucket  *records.Bucket // nil without Store
	owner   string          // names the server, the same after a restart: clients recognise trunks by it (RFC 8881 2.10.5)
	minors  []uint32

	observers [proto.MaxOp + 1]OperationObserver

	pseudo  atomic.Pointer[pseudoTree]
	started time.Time
	// ownClock: cfg.Now is not the default.
	ownClock bool
	pool     sync.Pool // of *compound
}

const defaultGrace = 90 * time.Second

// New makes a server. If clients had state in the former run, the grace period begins.
func New(cfg Config) (*Server, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.MaxIO == 0 {
		cfg.MaxIO = 1 << 20
	}
	if cfg.Grace == 0 {
		cfg.Grace = defaultGrace
	}
	own := clock.New() // leases end by it: it does not jump when the system's time is set
	s := &Server{cfg: cfg, log: cfg.Logger, started: own.Start()}
	if cfg.Now != nil {
		s.ownClock, s.started = true, cfg.Now()
	} else {
		s.cfg.Now = own.Now
	}
	if s.minors = cfg.MinorVersions; s.minors == nil {
		s.minors = []uint32{1, 2}
	}
	s.observe(cfg.Observer)
	s.pool.New = func() any { return new(compound) }
	sc := cfg.State
	sc.Lease, sc.Locks = cfg.Lease, cfg.Locks
	known, err := s.recover(&sc)
	if err != nil {
		return nil, err
	}
	s.clients = state.New(sc, known, s.started, cfg.Grace)
	if s.clients.Grace().Active() {
		s.log.Info("NFSv4 grace period began", "clients", len(known), "length", cfg.Grace)
	}
	return s, nil
}

// Clients is the clients' state, for metrics.
func (s *Server) Clients() *state.Clients { return s.clients }

// Program is the RPC program: NULL and COMPOUND (RFC 8881 16).
func (s *Server) Program() *rpc.Program {
	return &rpc.Program{
		Prog: Program, Vers: Version, Name: "nfs",
		Procs:      []rpc.Procedure{{Name: "NULL"}, {Name: "COMPOUND", Serve: s.compound}},
		StatusText: func(v uint32) string { return proto.Status(v).String() },
	}
}

// Run lets leases expire and the grace period end, until ctx ends.
func (s *Server) Run(ctx context.Context) {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			s.Tick()
		case <-ctx.Done():
			return
		}
	}
}

// Tick does what is due; [Server.Run] calls it.
func (s *Server) Tick() { s.act(s.clients.Tick(s.cfg.Now())) }

// Close releases all files that clients have open. It is called when no calls are executed any more. The clients can reclaim
// what they had after a restart.
func (s *Server) Close() { s.act(s.clients.Close()) }

// act executes the actions that package state returned. The caller holds no lock.
func (s *Server) act(a state.Actions) {
	for _, l := range a.Unlock {
		s.cfg.Locks.UnlockAll(l.File(), l.Owner)
	}
	for _, r := range a.Release {
		r.Release()
	}
	for _, k := range a.Forget {
		s.forget(k)
	}
	if a.GraceOver {
		s.log.Info("NFSv4 grace period ended")
	}
}
