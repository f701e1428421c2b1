package rpc

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"fileserver/internal/clock"
	"fileserver/nfs/xdr"
)

// Config configures a [Server].
type Config struct {
	Logger   *slog.Logger // nil: nothing is logged
	Observer Observer     // nil: nobody
	Cache    CacheConfig
}

// Server dispatches calls to programs. It is safe for concurrent use.
type Server struct {
	log      *slog.Logger
	observer Observer
	programs programSet
	cache    *cache
	bulk     *cache // of the procedures with Bulk
	clock    clock.Clock
}

var _ Handler = (*Server)(nil)

// NewServer makes a server of the programs. It fails if one is there twice.
func NewServer(cfg Config, programs ...*Program) (*Server, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Observer == nil {
		cfg.Observer = NoObserver{}
	}
	set, err := bind(programs, cfg.Observer)
	if err != nil {
		return nil, err
	}
	return &Server{
		clock: clock.New(),
		log:   cfg.Logger, observer: cfg.Observer, programs: set, cache: newCache(cfg.Cache),
		bulk: newCache(CacheConfig{Entries: bulkEntries, Bytes: bulkEntries * (entryOverhead + maxKeptReply), Age: cfg.Cache.Age}),
	}, nil
}

// Serve implements [Handler] (RFC 5531 9): a call is refused, or executed, or answered from the
// duplicate request cache. It returns false for what is not a call, and for a
// duplicate whose first is still being executed on the same connection.
func (s *Server) Serve(ctx context.Context, c *Call, r *Reply) bool {
	m := &c.Message
	c.Status = 0
	c.XID = m.Uint32()
	kind := m.Uint32()
	version := m.Uint32()
	if m.Err() != nil || kind != msgCall {
		s.observer.Rejected(c, RejectMalformed)
		return false
	}
	if version != rpcVersion {
		r.Head = appendRPCMismatch(r.Head, c.XID)
		s.observer.Rejected(c, RejectRPCVersion)
		return true
	}
	c.Prog, c.Vers, c.Proc = m.Uint32(), m.Uint32(), m.Uint32()
	if m.Err() != nil {
		s.observer.Rejected(c, RejectMalformed)
		return false
	}
	if why, ok := c.authenticate(); !ok {
		r.Head = appendAuthError(r.Head, c.XID, why)
		s.observer.Rejected(c, RejectAuth)
		return true
	}
	c.Args = c.Message

	p, lowest, highest := s.programs.find(c.Prog, c.Vers)
	if p == nil {
		s.noProgram(c, r, lowest, highest)
		return true
	}
	if c.Proc == 0 {
		r.Head = appendAccepted(r.Head, c.XID, Success)
		p.procs[0].observer.Done(c, Success, 0)
		return true
	}
	if int64(c.Proc) >= int64(len(p.procs)) || p.procs[c.Proc].Serve == nil {
		r.Head = appendAccepted(r.Head, c.XID, ProcUnavail)
		s.observer.Rejected(c, RejectProcUnavail)
		return true
	}
	proc := &p.procs[c.Proc]
	if proc.Cache {
		return s.serveOnce(ctx, proc, c, r)
	}
	s.execute(ctx, proc, c, r)
	return true
}

func (s *Server) noProgram(c *Call, r *Reply, lowest, highest uint32) {
	if lowest == 0 && highest == 0 {
		r.Head = appendAccepted(r.Head, c.XID, ProgUnavail)
		s.observer.Rejected(c, RejectProgUnavail)
		return
	}
	r.Head = appendAccepted(r.Head, c.XID, ProgMismatch)
	r.Head = xdr.AppendUint32(r.Head, lowest)
	r.Head = xdr.AppendUint32(r.Head, highest)
	s.observer.Rejected(c, RejectProgMismatch)
}

// execute runs the procedure and leaves the whole reply in r.
func (s *Server) execute(ctx context.Context, proc *boundProcedure, c *Call, r *Reply) {
	c.Began = s.clock.Now()
	empty := r.Mark()
	r.Head = appendAccepted(r.Head, c.XID, Success)
	stat := s.run(ctx, proc, c, r)
	if stat != Success {
		r.Rollback(empty)
		r.Head = appendAccepted(r.Head, c.XID, stat)
	}
	proc.observer.Done(c, stat, time.Since(c.Began))
}

func (s *Server) run(ctx context.Context, proc *boundProcedure, c *Call, r *Reply) (stat AcceptStat) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("procedure panicked", "procedure", proc.Name, "prog", c.Prog, "vers", c.Vers, "proc", c.Proc,
				"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			stat = SystemErr
		}
	}()
	return proc.Serve(ctx, c, r)
}
