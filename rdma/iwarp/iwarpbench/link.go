package iwarpbench

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"fileserver/rdma"
	"fileserver/rdma/iwarp"
)

const (
	memory = 16 << 20 // registered on each side, bytes
	depth  = 64
)

// side is one end of a connection.
type side struct {
	id  rdma.ID
	pd  rdma.PD
	cq  rdma.CQ
	qp  rdma.QP
	mem []byte
	mr  rdma.MR
	wc  [depth]rdma.WC
	wr  [2]rdma.SendWR
	rr  [1]rdma.RecvWR
	sgl [2][1]rdma.SGE
}

func newSide(id rdma.ID) (*side, error) {
	s := &side{id: id}
	var err error
	if s.pd, err = id.Device().AllocPD(); err != nil {
		return nil, err
	}
	if s.mem, err = unix.Mmap(-1, 0, memory, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_POPULATE); err != nil {
		return nil, err
	}
	if s.mr, err = s.pd.RegMR(s.mem, rdma.AccessLocalWrite|rdma.AccessRemoteRead|rdma.AccessRemoteWrite); err != nil {
		return nil, err
	}
	if s.cq, err = id.Device().CreateCQ(2 * depth); err != nil {
		return nil, err
	}
	s.qp, err = id.CreateQP(s.pd, rdma.QPConfig{SendCQ: s.cq, RecvCQ: s.cq, SendDepth: depth, RecvDepth: depth})
	return s, err
}

func (s *side) close() error {
	return errors.Join(s.id.Close(), s.mr.Deregister(), s.cq.Close(), s.pd.Dealloc(), unix.Munmap(s.mem))
}

func (s *side) sge(off, n int) rdma.SGE {
	return rdma.SGE{Addr: s.mr.Addr() + uint64(off), Length: uint32(n), LKey: s.mr.LKey()}
}

func (s *side) recv(off, n int) error {
	s.sgl[1][0] = s.sge(off, n)
	s.rr[0] = rdma.RecvWR{SGL: s.sgl[1][:]}
	return s.qp.PostRecv(s.rr[:])
}

// post posts one request of n bytes at off, here and there.
func (s *side) post(op rdma.Opcode, flags rdma.SendFlags, off, n int, peer *side) error {
	s.sgl[0][0] = s.sge(off, n)
	s.wr[0] = rdma.SendWR{Opcode: op, Flags: flags, SGL: s.sgl[0][:], RemoteAddr: peer.mr.Addr() + uint64(off), RKey: peer.mr.RKey()}
	return s.qp.PostSend(s.wr[:1])
}

// wait takes completions until k of the operation have come; at least one of them is awaited.
func (s *side) wait(ctx context.Context, op rdma.Opcode, k int) (int, error) {
	got := 0
	for got < k {
		n := s.cq.Poll(s.wc[:])
		if n == 0 {
			if err := s.cq.Wait(ctx); err != nil {
				return got, err
			}
		}
		for _, wc := range s.wc[:n] {
			if wc.Status != rdma.StatusSuccess {
				return got, &rdma.CompletionError{Opcode: wc.Opcode, Status: wc.Status}
			}
			if wc.Opcode == op {
				got++
			}
		}
	}
	return got, nil
}

// pair is a connection with both its ends.
type pair struct {
	provider *iwarp.Provider
	listener rdma.Listener
	c, s     *side
}

func connect(ctx context.Context, cfg iwarp.Config) (*pair, error) {
	p, err := iwarp.New(cfg)
	if err != nil {
		return nil, err
	}
	l, err := p.Listen(ctx, netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		return nil, err
	}
	cid, err := p.Resolve(ctx, l.Addr())
	if err != nil {
		return nil, err
	}
	k := &pair{provider: p, listener: l}
	if k.c, err = newSide(cid); err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	go func() { done <- cid.Connect(ctx, rdma.ConnParams{IRD: 16, ORD: 16}) }()
	sid, err := l.Accept(ctx)
	if err != nil {
		return nil, err
	}
	if k.s, err = newSide(sid); err != nil {
		return nil, err
	}
	if err := sid.Accept(rdma.ConnParams{IRD: 16, ORD: 16}); err != nil {
		return nil, err
	}
	if err := <-done; err != nil {
		return nil, fmt.Errorf("iwarpbench: %w", err)
	}
	return k, nil
}

func (k *pair) close() error {
	return errors.Join(k.c.close(), k.s.close(), k.listener.Close(), k.provider.Close())
}
