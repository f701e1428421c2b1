package v4

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

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

// Verifier is the write verifier (RFC 8881 18.3.3, 18.32.3): it is the same for WRITE and COMMIT of both
// versions of NFS, and changes when data written but not committed may have been lost.
type Verifier interface {
	// Current is the verifier of the moment.
	Current() [8]byte
	// Lost changes it: a backend could not make data stable.
	Lost()
}

// Records keep which clients have state, over restarts (RFC 8881 8.4.2.1).
type Records interface {
	// Put makes a record stable before it returns.
	Put(record string) error
	// Delete removes a record, if it is there.
	Delete(record string) error
}

// NoRecords keeps nothing: after a restart nobody can reclaim.
type NoRecords struct{}

// Put implements Records.
func (NoRecords) Put(string) error { return nil }

// Delete implements Records.
func (NoRecords) Delete(string) error { return nil }

// Config configures a Server.
type Config struct {
	Exports  *nfs.Exports
	Clients  *state.Clients // with the same Locks as below
	Locks    *lock.Manager
	Verifier Verifier
	Records  Records      // nil: NoRecords
	Logger   *slog.Logger // nil: nothing is logged
	// Owner names the server, the same after a restart: clients recognise trunks by it (RFC 8881 2.10.4).
	Owner string
	// MaxIO is the most data of one READ or WRITE, bytes. Default 1 MiB.
	MaxIO uint32
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// Server executes COMPOUNDs. It is safe for concurrent use.
type Server struct {
	cfg     Config
	pseudo  atomic.Pointer[pseudoTree]
	started time.Time
	pool    sync.Pool // of *compound
}

// New makes a server.
func New(cfg Config) *Server {
	if cfg.Records == nil {
		cfg.Records = NoRecords{}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.MaxIO == 0 {
		cfg.MaxIO = 1 << 20
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Server{cfg: cfg, started: cfg.Now()}
	s.pool.New = func() any { return new(compound) }
	return s
}

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
func (s *Server) Tick() {
	was := s.cfg.Clients.Grace().Active()
	s.act(s.cfg.Clients.Tick(s.cfg.Now()))
	if was && !s.cfg.Clients.Grace().Active() {
		s.cfg.Logger.Info("NFSv4 grace period ended")
	}
}

// act does what the machine of states leaves to be done. No lock is held.
func (s *Server) act(a state.Actions) {
	for _, l := range a.Unlock {
		s.cfg.Locks.UnlockAll(l.File(), l.Owner)
	}
	for _, r := range a.Release {
		r.Release()
	}
	for _, k := range a.Forget {
		if err := s.cfg.Records.Delete(k); err != nil {
			s.cfg.Logger.Error("client record not removed", "error", err)
		}
	}
}
