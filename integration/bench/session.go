package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"fileserver/internal/app/bench"
)

// side is one side of a comparison: a session with the file open.
type side struct {
	name string
	s    bench.Session
	f    bench.File
	cpu  func() (time.Duration, error) // of the server
}

// The size of the largest request in bytes, and the most requests outstanding.
const (
	mostSize  = 1 << 20
	mostDepth = 16
)

// dial connects to addr and opens the file.
func (r *rig) dial(ctx context.Context, name, proto, transport string, addr netip.AddrPort, opt bench.SMBOptions) (*side, error) {
	t := &bench.Target{
		Host: addr.Addr().String(), Port: int(addr.Port()), Proto: proto, Transport: transport, Share: "data", Version: "3",
		SMB: opt, BlockSize: mostSize, Depth: mostDepth, Pool: r.pool, Provider: r.provider,
	}
	s, err := bench.Dial(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f, err := s.Open(ctx, "file")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), s.Close())
	}
	return &side{name, s, f, r.cpu}, nil
}

func (s *side) close() { _ = s.s.Close() }

// load is a kind of request to measure.
type load struct {
	what  string
	write bool
	size  int
	depth int // requests at once
	n     int // requests of one measurement, for a scale of 1
}

// run makes n requests, l.depth of them at once.
func (s *side) run(ctx context.Context, l load, n int) (took time.Duration, err error) {
	errs := make([]error, l.depth)
	ios := make([]bench.IO, l.depth)
	defer func() {
		for _, o := range ios {
			if o != nil {
				err = errors.Join(err, o.Release())
			}
		}
	}()
	for i := range ios {
		if ios[i], err = s.f.NewIO(ctx, l.size); err != nil {
			return 0, err
		}
	}
	var left atomic.Int64
	left.Store(int64(n))
	var wg sync.WaitGroup
	start := time.Now()
	for i, o := range ios {
		wg.Go(func() {
			for left.Add(-1) >= 0 && errs[i] == nil {
				off := uint64(rand.IntN(fileSize/l.size)) * uint64(l.size)
				if l.write {
					errs[i] = o.Write(ctx, off, l.size)
				} else {
					_, errs[i] = o.Read(ctx, off, l.size)
				}
			}
		})
	}
	wg.Wait()
	return time.Since(start), errors.Join(errs...)
}

// mallocs returns the number of the server's allocations, and how many of them the query itself causes.
func (r *rig) mallocs() (n, look float64, err error) {
	first, err := r.metric("go_memstats_mallocs_total")
	if err != nil {
		return 0, 0, err
	}
	n, err = r.metric("go_memstats_mallocs_total")
	return n, n - first, err
}

// measure makes n requests of a side and returns what they cost.
func (r *rig) measure(ctx context.Context, s *side, l load, n int) (rate float64, cpu time.Duration, mallocs float64, err error) {
	had, look, err := r.mallocs()
	if err != nil {
		return 0, 0, 0, err
	}
	before, err := s.cpu()
	if err != nil {
		return 0, 0, 0, err
	}
	took, err := s.run(ctx, l, n)
	if err != nil {
		return 0, 0, 0, fmt.Errorf("%s, %s: %w", l.what, s.name, err)
	}
	after, err := s.cpu()
	if err != nil {
		return 0, 0, 0, err
	}
	has, err := r.metric("go_memstats_mallocs_total")
	return float64(n) / took.Seconds(), after - before, max(0, has-had-look) / float64(n), err
}

// figures are the results of all rounds of a load for one side.
type figures struct {
	series
	mallocs []float64 // of our server, per request
}

// inTurn measures the sides one after the other in each round.
func (r *rig) inTurn(ctx context.Context, sides []*side, l load, rounds, scale int) ([]figures, error) {
	out := make([]figures, len(sides))
	for i := range rounds + 1 {
		for k, s := range sides {
			n := l.n * scale
			rate, cpu, mallocs, err := r.measure(ctx, s, l, n)
			if err != nil {
				return nil, err
			}
			if i > 0 { // the first warms up
				out[k].add(rate, n, cpu)
				out[k].mallocs = append(out[k].mallocs, mallocs)
			}
		}
	}
	return out, nil
}
