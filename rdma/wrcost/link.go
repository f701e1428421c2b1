// Package wrcost measures what work requests cost with a provider, whichever it is: of a few bytes each, so that
// what is moved costs next to nothing, and both ends in this process.
package wrcost

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"fileserver/internal/slab"
	"fileserver/rdma"
)

const (
	// Depth is how many messages a round has outstanding at once.
	Depth = 64
	size  = 64 // of a message, bytes
)

// side is one end of a connection.
type side struct {
	id   rdma.ID
	pd   rdma.PD
	cq   rdma.CQ
	qp   rdma.QP
	mr   rdma.MR
	pool *slab.Pool
	buf  *slab.Buf
	wc   [Depth]rdma.WC
}

func newSide(id rdma.ID) (s *side, err error) {
	s = &side{id: id, pool: slab.New(slab.Config{Limit: slab.ArenaSize})}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	var ok bool
	if s.buf, ok = s.pool.TryGet(Depth * size); !ok {
		return nil, rdma.ErrNoMemory
	}
	if s.pd, err = id.Device().AllocPD(); err != nil {
		return nil, err
	}
	if s.mr, err = s.pd.RegMR(s.buf.Bytes(), rdma.AccessLocalWrite); err != nil {
		return nil, err
	}
	if s.cq, err = id.Device().CreateCQ(2 * Depth); err != nil {
		return nil, err
	}
	s.qp, err = id.CreateQP(s.pd, rdma.QPConfig{SendCQ: s.cq, RecvCQ: s.cq, SendDepth: Depth, RecvDepth: Depth})
	return s, err
}

// close gives back what there is.
func (s *side) close() error {
	err := s.id.Close()
	if s.cq != nil {
		for s.cq.Poll(s.wc[:]) > 0 {
		}
		err = errors.Join(err, s.cq.Close())
	}
	if s.mr != nil {
		err = errors.Join(err, s.mr.Deregister())
	}
	if s.pd != nil {
		err = errors.Join(err, s.pd.Dealloc())
	}
	if s.buf != nil {
		s.buf.Release()
	}
	return errors.Join(err, s.pool.Close())
}

func (s *side) sgl(i int) []rdma.SGE {
	return []rdma.SGE{{Addr: s.mr.Addr() + uint64(i*size), Length: size, LKey: s.mr.LKey()}}
}

// reap takes n completions, by polling and, where there are none, waiting.
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

// Link is a connection of a provider with itself, for SENDs in chains of one length. One goroutine uses it.
type Link struct {
	Posting time.Duration // what the SENDs' posts have taken since this was set to 0

	client, server *side
	chain          []rdma.SendWR
	recvs          []rdma.RecvWR
}

// Connect makes a link through a listener at addr, whose port may be 0, for chains of n: a divisor of [Depth].
func Connect(ctx context.Context, p rdma.Provider, addr netip.AddrPort, n int) (l *Link, err error) {
	if n < 1 || Depth%n != 0 {
		return nil, fmt.Errorf("wrcost: chains of %d do not make %d", n, Depth)
	}
	ln, err := p.Listen(ctx, addr)
	if err != nil {
		return nil, err
	}
	l = &Link{}
	defer func() {
		err = errors.Join(err, ln.Close())
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	id, err := p.Resolve(ctx, ln.Addr())
	if err != nil {
		return nil, err
	}
	if l.client, err = newSide(id); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	accepted := make(chan error, 1)
	go func() {
		err := l.accept(ctx, ln)
		if err != nil {
			cancel()
		}
		accepted <- err
	}()
	err = l.client.id.Connect(ctx, rdma.ConnParams{RNRRetry: 7})
	if err != nil {
		cancel()
	}
	if err = errors.Join(<-accepted, err); err != nil {
		return nil, err
	}
	for i := range n {
		l.chain = append(l.chain, rdma.SendWR{Opcode: rdma.OpSend, SGL: l.client.sgl(i)})
		l.recvs = append(l.recvs, rdma.RecvWR{SGL: l.server.sgl(i)})
	}
	l.chain[n-1].Flags = rdma.SendSignaled
	return l, nil
}

func (l *Link) accept(ctx context.Context, ln rdma.Listener) error {
	id, err := ln.Accept(ctx)
	if err != nil {
		return err
	}
	s, err := newSide(id)
	if err != nil {
		return err
	}
	l.server = s
	return id.Accept(rdma.ConnParams{RNRRetry: 7})
}

// Round has [Depth] SENDs delivered: it posts their RECVs, then them, both a chain at a time, and takes the
// completions of all RECVs and of the last SEND of each chain.
func (l *Link) Round(ctx context.Context) error {
	chains := Depth / len(l.chain)
	for range chains {
		if err := l.server.qp.PostRecv(l.recvs); err != nil {
			return err
		}
	}
	start := time.Now() // once for all: in User Mode Linux the clock costs more than a request
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

// Poll polls the connecting side's completion queue, which is empty between rounds, and returns what it found.
func (l *Link) Poll() int { return l.client.cq.Poll(l.client.wc[:16]) }

// Close gives everything back.
func (l *Link) Close() error {
	var errs []error
	for _, s := range []*side{l.client, l.server} {
		if s != nil {
			errs = append(errs, s.close())
		}
	}
	return errors.Join(errs...)
}
