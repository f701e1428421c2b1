package bench

import (
	"fmt"
	"time"
)

// Progress is how far a run is.
type Progress struct {
	Phase   string
	Elapsed time.Duration // of the phase
	Bytes   int64         // moved in the phase
	Ops     int64
	Done    float64 // from 0 to 1; less than 0 where that is not known
	// Since the last report.
	BytesPerSecond, OpsPerSecond float64
}

// String is the line for a terminal.
func (p Progress) String() string {
	done := ""
	if p.Done >= 0 {
		done = fmt.Sprintf("%3.0f %%  ", 100*p.Done)
	}
	return fmt.Sprintf("%-10s %5.1f s  %s%9.1f MB/s %9.0f IOPS", p.Phase, p.Elapsed.Seconds(), done, p.BytesPerSecond/1e6, p.OpsPerSecond)
}

// watch reports progress, and ends requests that take too long, until done is closed.
func (r *run) watch(workers []*worker, p *phase, done <-chan struct{}) {
	t := time.NewTicker(tick)
	defer t.Stop()
	begin := r.now()
	last, lastAt := Progress{}, begin
	for {
		select {
		case <-done:
			return
		case <-t.C:
		}
		now := r.now()
		cur := Progress{Phase: p.name, Elapsed: time.Duration(now - begin), Done: -1}
		for _, w := range workers {
			if b := w.began.Load(); b != 0 && time.Duration(now-b) > r.cfg.Timeout {
				r.giveUp(fmt.Errorf("a request has no answer after %v (--timeout)", r.cfg.Timeout))
			}
			cur.Bytes += w.bytes.Load()
			cur.Ops += w.ops.Load()
		}
		if r.cfg.Progress == nil {
			continue
		}
		if p.total > 0 {
			cur.Done = min(1, float64(cur.Bytes)/float64(p.total))
		} else if p.until != forever {
			cur.Done = min(1, float64(now-begin)/float64(p.until-begin))
		}
		s := time.Duration(now - lastAt).Seconds()
		cur.BytesPerSecond, cur.OpsPerSecond = float64(cur.Bytes-last.Bytes)/s, float64(cur.Ops-last.Ops)/s
		last, lastAt = cur, now
		r.cfg.Progress(cur)
	}
}
