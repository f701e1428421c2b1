package provider

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"time"

	"fileserver/rdma"
)

const (
	// Depth is the number of messages that a round has outstanding at once.
	Depth = maxDepth
	// messageSize is small, so that moving the data costs next to nothing.
	messageSize = 64
)

// Chains are the lengths of chains that [Requests] measures.
var Chains = []int{1, 16}

// Subject is a provider and the address on which it listens.
type Subject struct {
	Provider rdma.Provider
	Addr     netip.AddrPort // the port may be 0
}

// Cost is the cost of a provider's messages, with one figure for each measurement. A message is a SEND and its RECV.
type Cost struct {
	Provider string // its name
	Chain    int
	Whole    []float64 // from posting the RECVs to the last completion, ns
	Post     []float64 // of that, posting the SENDs, ns
	Mallocs  []float64 // of the whole process
}

// Requests measures the subjects alternately, rounds times. Each measurement has at least
// messages messages, in whole rounds of [Depth]. A first round warms up and does not
// count. The costs are in the order of subjects, then of [Chains].
func Requests(ctx context.Context, subjects []Subject, rounds, messages int) (costs []Cost, err error) {
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

// Link is a connection of a provider with itself, for SENDs in chains of one length. One
// goroutine uses it.
type Link struct {
	Posting time.Duration // time spent posting SENDs; the caller may reset it

	*pair
	chain []rdma.SendWR
	recvs []rdma.RecvWR
}

// Connect returns a link through a listener at addr, whose port may be 0, for chains of
// n, which must divide [Depth].
func Connect(ctx context.Context, p rdma.Provider, addr netip.AddrPort, n int) (*Link, error) {
	if n < 1 || Depth%n != 0 {
		return nil, fmt.Errorf("provider: chains of %d do not divide %d", n, Depth)
	}
	k, err := connect(ctx, p, addr, Depth*messageSize, rdma.AccessLocalWrite, rdma.ConnParams{RNRRetry: 7})
	if err != nil {
		return nil, err
	}
	l := &Link{pair: k}
	for i := range n {
		l.chain = append(l.chain, rdma.SendWR{Opcode: rdma.OpSend, SGL: []rdma.SGE{k.client.sge(i*messageSize, messageSize)}})
		l.recvs = append(l.recvs, rdma.RecvWR{SGL: []rdma.SGE{k.server.sge(i*messageSize, messageSize)}})
	}
	l.chain[n-1].Flags = rdma.SendSignaled
	return l, nil
}

// Round delivers [Depth] SENDs. It posts the RECVs and then the SENDs, a chain at a time,
// and polls the completions of all RECVs and of the last SEND of each chain.
func (l *Link) Round(ctx context.Context) error {
	chains := Depth / len(l.chain)
	for range chains {
		if err := l.server.qp.PostRecv(l.recvs); err != nil {
			return err
		}
	}
	start := time.Now() // once for all SENDs, because in User Mode Linux reading the clock costs more than a request
	for range chains {
		if err := l.client.qp.PostSend(l.chain); err != nil {
			return err
		}
	}
	l.Posting += time.Since(start)
	if err := l.server.reap(ctx, Depth); err != nil {
		return err
	}
	return l.client.reap(ctx, chains)
}

// reap takes n completions. It polls, and waits if there are none.
func (s *side) reap(ctx context.Context, n int) error {
	for n > 0 {
		k := s.cq.Poll(s.wc[:])
		for i := range s.wc[:k] {
			if wc := &s.wc[i]; wc.Status != rdma.StatusSuccess {
				return &rdma.CompletionError{Opcode: wc.Opcode, Status: wc.Status}
			}
		}
		if n -= k; k == 0 {
			if err := s.cq.Wait(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// Poll polls the connecting side's completion queue, which is empty between rounds. It
// returns the number of completions.
func (l *Link) Poll() int { return l.client.cq.Poll(l.client.wc[:16]) }

// Close releases the link's resources.
func (l *Link) Close() error { return l.pair.close() }
