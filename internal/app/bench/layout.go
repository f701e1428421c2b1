package bench

import (
	"context"
	"fmt"
)

// layBytes is about what a request moves that lays a file out.
const layBytes = 1 << 20

// layout writes the files that are not complete. The first block of a file says that it is incomplete until the rest is written.
func (r *run) layout(ctx context.Context) error {
	var jobs []*job
	var workers []*worker
	defer func() { dismiss(workers) }()
	for _, j := range r.jobs {
		if r.cfg.Op == OpWrite || j.laid {
			continue
		}
		jobs = append(jobs, j)
		io, bs := j.workers[0].io, r.cfg.BlockSize
		fill(io.Data()[:bs], j.id, 0, 0)
		first, cancel := within(r.ioCtx, r.cfg.Timeout)
		err := io.Write(first, 0, bs)
		cancel()
		if err != nil {
			return r.explain(ctx, fmt.Errorf("laying out %s: %w", j.name, err))
		}
		size := max(bs, min(layBytes, j.s.Limits().Write)/bs*bs)
		list, err := j.hire(ctx, min(r.cfg.Depth, 8), size)
		if err != nil {
			return r.explain(ctx, err)
		}
		workers = append(workers, list...)
	}
	if len(jobs) == 0 {
		return nil
	}
	r.lay(jobs, workers)
	for _, j := range jobs {
		if err := r.failure(); err != nil {
			return err
		}
		if r.stopping.Load() {
			return r.explain(ctx, context.Cause(ctx))
		}
		if err := j.f.Flush(r.ioCtx); err != nil {
			return r.explain(ctx, fmt.Errorf("flushing %s: %w", j.name, err))
		}
	}
	return nil
}

// lay writes everything but the first request of each file, and then that.
func (r *run) lay(jobs []*job, workers []*worker) {
	p := &phase{name: "laying out", until: forever, lays: true, total: int64(len(jobs)) * r.cfg.Size}
	p.pick = func(w *worker) (int64, bool, bool) {
		i := w.j.next.Add(1)
		return i, true, i*int64(w.size) < r.cfg.Size
	}
	r.phase(workers, p)
	for _, j := range jobs {
		j.next.Store(0)
	}
	p.pick = func(w *worker) (int64, bool, bool) { return 0, true, w.j.next.Add(1) == 1 }
	if !r.stopping.Load() {
		r.phase(workers, p)
	}
	for _, j := range jobs {
		j.next.Store(0)
	}
}
