package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"fileserver/config"
	"fileserver/internal/budget"
	"fileserver/internal/metrics"
	"fileserver/internal/slab"
	"fileserver/internal/state"
	"fileserver/nfs"
	"fileserver/smb"
	"fileserver/vfs/lock"
)

// Server is a running server.
type Server struct {
	log      *Log
	state    *state.Store
	pool     *slab.Pool
	metrics  *metrics.Registry
	admin    *metrics.Server // nil: none
	exports  nfs.Exports
	services []service
	tcp      int           // listeners over TCP
	locks    *lock.Manager // of all protocols
	rdma     *rdmaSide

	connections connections
	smb         *smb.Server // nil: not served

	smbShares map[string]*smb.Share // in force; guarded by mu once the server runs
	stopping  atomic.Bool

	background     sync.WaitGroup // goroutines that run until the services have ended
	stopBackground []context.CancelFunc

	budgets budgets

	mu     sync.Mutex     // guards what Reload changes; held while it opens file systems
	cfg    *config.Config // in force
	shares atomic.Pointer[shareSet]
}

// inForce returns the shares that are served. It does not take mu, because a Reload may hold it while it waits for a disk.
func (s *Server) inForce() shareSet {
	if p := s.shares.Load(); p != nil {
		return *p
	}
	return nil
}

// service is one protocol on one transport, with its listeners.
type service interface {
	// listen opens the listeners and serves them. It returns the addresses of those it opened and the errors of the others.
	listen(ctx context.Context) (addrs []string, failed []error)
	// shutdown stops accepting, finishes running calls and closes the connections. When ctx ends, it closes them at once.
	shutdown(ctx context.Context) error
}

// Start starts a server: when it returns, the shares can be mounted. If a listener cannot be opened, Start logs that, and
// fails only if no service is left.
func Start(cfg *config.Config, log *Log, version string) (*Server, error) {
	return startOn(system{}, cfg, log, version)
}

func startOn(sys system, cfg *config.Config, log *Log, version string) (s *Server, err error) {
	s = &Server{log: log, cfg: cfg, locks: lock.New()}
	s.locks.SetLimits(lock.Limits{PerOwner: cfg.Limits.LocksPerOwner, PerClient: cfg.Limits.LocksPerClient})
	defer func() {
		if err != nil {
			err = errors.Join(err, s.release(context.Background()))
			s = nil
		}
	}()
	for _, w := range cfg.Warnings {
		log.Warn(w)
	}
	if s.state, err = openState(cfg.StateDir); err != nil {
		return s, err
	}
	s.pool = slab.New(slab.Config{Limit: int64(cfg.Limits.Memory), HugePages: true})
	s.metrics = metrics.New(version)
	s.addPoolMetrics()
	s.rdma = s.newRDMA(sys)
	s.budgets = newBudgets(log, budget.Descriptors(), cfg.Limits.Connections)
	s.addBudgetMetrics()
	shares, err := shareSet(nil).open(cfg.Shares, s.openFS)
	if err != nil {
		return s, err
	}
	s.shares.Store(&shares)
	s.exports.Replace(shares.exports(cfg.NFS.PrivilegedPorts))
	if err := s.startProtocols(); err != nil {
		return s, err
	}
	if cfg.Metrics.Listen != "" {
		s.admin, err = s.metrics.Serve(metrics.ServerConfig{
			Listen: cfg.Metrics.Listen, Pprof: cfg.Metrics.Pprof, Healthy: s.healthy, Logger: log.Logger,
		})
		if err != nil {
			return s, err
		}
		log.Info("listening", "service", "metrics", "transport", "tcp", "addr", s.admin.Addr().String())
	}
	log.Info("serving", "version", version, "shares", shares.names(), "state", cfg.StateDir)
	return s, nil
}

// startProtocols starts the configured protocols. It fails only if nothing can be served.
func (s *Server) startProtocols() error {
	var missing []error
	if s.cfg.NFS.Enabled {
		missing = append(missing, s.startNFS())
	}
	missing = append(missing, s.startSMB())
	s.services = append(s.services, s.rdma)
	s.addRDMAMetrics()
	s.addRefusedMetrics()
	missing = append(missing, s.rdma.start()...)
	if s.tcp+s.rdma.listeners() == 0 {
		if err := errors.Join(missing...); err != nil {
			return err
		}
		return errors.New("nothing is served: nfs.enabled is false, and smb has no users; run fileserver user add NAME")
	}
	for _, err := range missing {
		if err != nil {
			s.log.Error("a service is missing", "err", err)
		}
	}
	return nil
}

// listen starts a service. It fails only if none of its listeners can be opened.
func (s *Server) listen(name, transport string, sv service) error {
	addrs, failed := sv.listen(context.Background())
	s.tcp += len(addrs)
	if len(addrs) > 0 {
		s.services = append(s.services, sv)
	}
	for _, a := range addrs {
		s.log.Info("listening", "service", name, "transport", transport, "addr", a)
	}
	if len(addrs) == 0 {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = sv.shutdown(ctx) // without listeners nothing can fail
		return fmt.Errorf("%s over %s: %w", name, transport, errors.Join(failed...))
	}
	for _, err := range failed {
		s.log.Warn("not listening", "service", name, "transport", transport, "err", err)
	}
	return nil
}

// goBackground runs f in a goroutine, with a context that ends after the services have ended.
func (s *Server) goBackground(f func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	s.stopBackground = append(s.stopBackground, cancel)
	s.background.Go(func() { f(ctx) })
}

func (s *Server) healthy() error {
	if s.stopping.Load() {
		return errors.New("stopping")
	}
	return nil
}

// Reload puts the shares and the logging of another configuration in force, and logs which other changes need a restart.
// If a share cannot be opened, everything stays as it is.
func (s *Server) Reload(next *config.Config) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.inForce()
	shares, err := old.open(next.Shares, s.openFS)
	if err != nil {
		s.log.Error("the new configuration is refused, the old one stays", "problems", []string{err.Error()})
		return
	}
	var changed, restart []string
	for _, key := range config.Changed(s.cfg, next) {
		if config.Reloadable(key) {
			changed = append(changed, key)
		} else {
			restart = append(restart, key)
		}
	}
	s.exports.Replace(shares.exports(s.cfg.NFS.PrivilegedPorts))
	if s.smb != nil {
		s.smb.SetShares(shares.smb(s.smbShares))
		s.smb.CheckUsers()
	}
	s.shares.Store(&shares)
	for _, recheck := range s.connections.recheck {
		recheck()
	}
	if err := old.close(shares); err != nil {
		s.log.Warn("a share did not close", "err", err)
	}
	inForce := *s.cfg
	inForce.Allow, inForce.Shares, inForce.Log = next.Allow, next.Shares, next.Log
	s.cfg = &inForce
	s.log.Set(next.Log)
	for _, w := range next.Warnings {
		s.log.Warn(w)
	}
	args := []any{"shares", shares.names(), "changed", changed}
	if len(restart) > 0 {
		args = append(args, "needs a restart", restart)
	}
	s.log.Info("configuration read again", args...)
}

// abandonAfter is how long Stop waits after ctx has ended.
const abandonAfter = 5 * time.Second

// Stop stops accepting, finishes running calls, and releases everything. When ctx ends, it aborts the calls that still
// run. A call that is blocked in a file system whose storage does not answer cannot be aborted: after abandonAfter, Stop
// returns an error that names the share, and the resources of the call stay in use until the process ends. Call it once.
func (s *Server) Stop(ctx context.Context) error {
	s.stopping.Store(true)
	done := make(chan error, 1)
	go func() { done <- s.release(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(abandonAfter):
		return fmt.Errorf("not everything has ended %v after the time to stop; still running: %s", abandonAfter, cmp.Or(s.stalled(), "no call in a share"))
	}
}

// release undoes Start, or the part of it that was done before it failed.
func (s *Server) release(ctx context.Context) error {
	var errs []error
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, sv := range s.services {
		wg.Go(func() {
			err := sv.shutdown(ctx)
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		})
	}
	wg.Wait()
	for _, stop := range s.stopBackground {
		stop()
	}
	s.background.Wait()
	if s.rdma != nil {
		errs = append(errs, s.rdma.close())
	}
	s.mu.Lock()
	errs = append(errs, s.inForce().close(nil))
	s.mu.Unlock()
	if s.admin != nil {
		errs = append(errs, s.admin.Close(ctx))
	}
	if s.pool != nil {
		errs = append(errs, s.pool.Close())
	}
	if s.state != nil {
		end := s.state.CloseClean
		if errors.Join(errs...) != nil {
			end = s.state.Close // the records do not say that the server stopped in order
		}
		errs = append(errs, end())
	}
	return errors.Join(errs...)
}
