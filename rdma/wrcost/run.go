package wrcost

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"time"

	"fileserver/rdma"
)

// Chains are the lengths of chains that [Run] measures.
var Chains = []int{1, 16}

// Subject is a provider, and where it is to listen.
type Subject struct {
	Provider rdma.Provider
	Addr     netip.AddrPort // the port may be 0
}

// Cost is what a provider's messages cost, each a SEND and its RECV, in one figure for each measurement.
type Cost struct {
	Provider string // its name
	Chain    int
	Whole    []float64 // from posting the RECVs to the last completion, ns
	Post     []float64 // of that, posting the SENDs, ns
	Mallocs  []float64 // of the whole process
}

// Run measures the subjects in turn, rounds times; each measurement is of so many messages, and a bit. A first
// round, which warms up, does not count. The costs are in order of subjects, then of [Chains].
func Run(ctx context.Context, subjects []Subject, rounds, messages int) (costs []Cost, err error) {
	var links []*Link
	defer func() {
		for _, l := range links {
			err = errors.Join(err, l.Close())
		}
	}()
	for _, s := range subjects {
		for _, n := range Chains {
			l, err := Connect(ctx, s.Provider, s.Addr, n)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.Provider.Name(), err)
			}
			links = append(links, l)
			costs = append(costs, Cost{Provider: s.Provider.Name(), Chain: n})
		}
	}
	for i := range rounds + 1 {
		for k, l := range links {
			whole, mallocs, err := l.measure(ctx, 1+messages/Depth)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", costs[k].Provider, err)
			}
			if i > 0 {
				n := float64(Depth * (1 + messages/Depth))
				c := &costs[k]
				c.Whole = append(c.Whole, float64(whole.Nanoseconds())/n)
				c.Post = append(c.Post, float64(l.Posting.Nanoseconds())/n)
				c.Mallocs = append(c.Mallocs, float64(mallocs)/n)
			}
		}
	}
	return costs, nil
}

func (l *Link) measure(ctx context.Context, rounds int) (took time.Duration, mallocs uint64, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	l.Posting = 0
	start := time.Now()
	for range rounds {
		if err := l.Round(ctx); err != nil {
			return 0, 0, err
		}
	}
	took = time.Since(start)
	runtime.ReadMemStats(&after)
	return took, after.Mallocs - before.Mallocs, nil
}
