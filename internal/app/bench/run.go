package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"fileserver/internal/slab"
)

const (
	// graceTime is how long requests outstanding may take to end after the run was told to.
	graceTime = 5 * time.Second
	tick      = 250 * time.Millisecond
	forever   = math.MaxInt64
)

var errGaveUp = errors.New("stopped before the server had answered all requests")

// run is a run in progress.
type run struct {
	cfg  *Config
	base time.Time
	jobs []*job
	res  *Result

	stopping atomic.Bool
	ioCtx    context.Context // of requests
	giveUp   context.CancelCauseFunc

	mu     sync.Mutex
	err    error // the first
	errors int
}

// phase is a part of a run.
type phase struct {
	name      string
	pick      func(*worker) (block int64, write, ok bool)
	exclusive bool // there are writes
	lays      bool // each block is written once, in requests of any size
	counted   bool // as many requests as there are blocks, whichever
	measured  bool
	until     int64 // since the run's base
	total     int64 // bytes it will move, as far as that is known
}

// now is the time since the run's base, nanoseconds, and never 0.
func (r *run) now() int64 { return int64(time.Since(r.base)) | 1 }

// Run runs cfg, which is complete. The result is not nil once measuring has begun, also with an error. When
// ctx ends the run ends early, which is no error once it measures.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	r := &run{cfg: &cfg, base: time.Now()}
	if cfg.Pool == nil {
		cfg.Pool = slab.New(slab.Config{Limit: cfg.PoolLimit()})
		defer cfg.Pool.Close()
	}
	if cfg.Seed == 0 {
		cfg.Seed = rand.Uint64() | 1
	}
	r.ioCtx, r.giveUp = context.WithCancelCause(context.WithoutCancel(ctx))
	defer r.giveUp(nil)
	stop := context.AfterFunc(ctx, func() {
		r.stopping.Store(true)
		time.AfterFunc(graceTime, func() { r.giveUp(errGaveUp) })
	})
	defer stop()
	err := r.setup(ctx)
	if err == nil {
		err = r.measure(ctx)
	}
	left, cerr := r.cleanup()
	if r.res != nil {
		r.res.Left = left
		r.res.finish(r, err)
	}
	return r.res, errors.Join(err, cerr)
}

// setup connects all jobs, and lays their files out where that is needed.
func (r *run) setup(ctx context.Context) error {
	for n := range r.cfg.Jobs {
		name := fmt.Sprintf("%s.%d", r.cfg.Name, n)
		j := &job{r: r, n: n, name: name, id: fileID(name)}
		r.jobs = append(r.jobs, j)
		if err := j.dial(ctx); err != nil {
			return r.explain(ctx, r.dialling(err))
		}
		if err := j.open(ctx); err != nil {
			return r.explain(ctx, r.opening(err))
		}
	}
	return r.layout(ctx)
}

// explain says where the error is from, and whether the user has stopped the run.
func (r *run) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.New("interrupted before anything was measured")
	}
	return fmt.Errorf("%s %s:%d over %s: %w", r.cfg.Proto, r.cfg.Host, r.cfg.Port, r.cfg.Transport, err)
}

// fits checks the size of requests against what the server takes.
func (r *run) fits(l Limits) error {
	bs := r.cfg.BlockSize
	if l.Read < bs {
		return fmt.Errorf("--bs %d is more than the %d bytes that the server reads at once; write --bs %d or less", bs, l.Read, l.Read/cell*cell)
	}
	if l.Write < bs {
		return fmt.Errorf("--bs %d is more than the %d bytes that the server writes at once; write --bs %d or less", bs, l.Write, l.Write/cell*cell)
	}
	return nil
}

// measure does what the run is for.
func (r *run) measure(ctx context.Context) error {
	r.res = newResult(r)
	p := &phase{name: string(r.cfg.Op), pick: r.pick(), exclusive: r.cfg.Op.writes(), measured: true, until: forever}
	if r.cfg.Time == 0 {
		p.counted = r.cfg.Op.random()
		p.total = int64(len(r.jobs)) * r.cfg.Size
	}
	cpu := cpuTime()
	begin := time.Now()
	if r.cfg.Time > 0 {
		p.until = r.now() + int64(r.cfg.Time)
	}
	r.phase(r.workers(), p)
	r.res.elapsed, r.res.cpu = time.Since(begin), cpuTime()-cpu
	r.res.Interrupted = ctx.Err() != nil
	if err := r.failure(); err != nil || !r.cfg.Op.writes() {
		return err
	}
	begin = time.Now()
	for _, j := range r.jobs {
		if err := j.f.Flush(r.ioCtx); err != nil {
			r.fail(j.workers[0], true, 0, fmt.Errorf("flushing: %w", err))
			return r.failure()
		}
	}
	r.res.FlushSeconds = time.Since(begin).Seconds()
	if r.cfg.Verify == VerifyAll && !r.stopping.Load() {
		r.check()
	}
	return r.failure()
}

// pick chooses blocks as the operation has it.
func (r *run) pick() func(*worker) (int64, bool, bool) {
	op, once, mix := r.cfg.Op, r.cfg.Time == 0, uint64(r.cfg.Mix)
	if !op.random() {
		return func(w *worker) (int64, bool, bool) {
			i := w.j.next.Add(1) - 1
			return i % w.j.blocks, op == OpWrite, !once || i < w.j.blocks
		}
	}
	return func(w *worker) (int64, bool, bool) {
		if once && w.j.next.Add(1) > w.j.blocks {
			return 0, false, false
		}
		write := op == OpRandWrite || op == OpMixed && w.rand.Uint64()%100 >= mix
		return int64(w.rand.Uint64() % uint64(w.j.blocks)), write, true
	}
}

// check reads back what this run has written.
func (r *run) check() {
	for _, j := range r.jobs {
		j.next.Store(0)
	}
	r.phase(r.workers(), &phase{name: "checking", until: forever, pick: func(w *worker) (int64, bool, bool) {
		for {
			i := w.j.next.Add(1) - 1
			if i >= w.j.blocks || w.j.state[i].Load() != 0 {
				return i, false, i < w.j.blocks
			}
		}
	}})
}

// workers are those of all jobs.
func (r *run) workers() (list []*worker) {
	for _, j := range r.jobs {
		list = append(list, j.workers...)
	}
	return list
}

// phase lets workers work, and watches them.
func (r *run) phase(workers []*worker, p *phase) {
	done := make(chan struct{})
	var watch, wg sync.WaitGroup
	watch.Go(func() { r.watch(workers, p, done) })
	for _, w := range workers {
		w.ops.Store(0)
		w.bytes.Store(0)
		wg.Go(func() { w.work(r.ioCtx, p) })
	}
	wg.Wait()
	close(done)
	watch.Wait()
}

// fail notes that something has gone wrong, which ends the run.
func (r *run) fail(w *worker, write bool, off uint64, err error) {
	what := "READ"
	if write {
		what = "WRITE"
	}
	var data *DataError
	switch {
	case errors.As(err, &data), refused(err):
		if full(err) {
			err = fmt.Errorf("%w: the share, or its user's quota, is full; make room there, or write less --size %d or --jobs %d", err, r.cfg.Size, r.cfg.Jobs)
		}
		err = fmt.Errorf("job %d, %s of %s at %d: %w", w.j.n, what, w.j.name, off, err)
	default:
		err = fmt.Errorf("the connection of job %d to %s:%d over %s is lost, %.1f s after the run began: %w",
			w.j.n, r.cfg.Host, r.cfg.Port, r.cfg.Transport, time.Since(r.base).Seconds(), err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errors++
	if r.err == nil {
		r.err = err
	}
	r.stopping.Store(true)
}

// failure is the first error, if there is one.
func (r *run) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// cpuTime is what the process has used.
func cpuTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
