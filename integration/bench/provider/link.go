// Package provider measures RDMA providers alone, without a protocol, with both ends of a
// connection in this process: the cost of a work request with each of them, and the iwarp
// provider against plain TCP.
package provider

import (
	"context"
	"errors"
	"net/netip"

	"golang.org/x/sys/unix"

	"fileserver/rdma"
)

// maxDepth is how many work requests each queue holds.
const maxDepth = 64

// side is one end of a connection, with registered memory.
type side struct {
	id  rdma.ID
	pd  rdma.PD
	cq  rdma.CQ
	qp  rdma.QP
	mem []byte
	mr  rdma.MR
	wc  [maxDepth]rdma.WC
	wr  [1]rdma.SendWR
	rr  [1]rdma.RecvWR
	sgl [2][1]rdma.SGE // of wr and rr
}

// newSide creates the resources of an end. It owns id even if it fails.
func newSide(id rdma.ID, memory int, access rdma.Access) (s *side, err error) {
	s = &side{id: id}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.pd, err = id.Device().AllocPD(); err != nil {
		return nil, err
	}
	if s.mem, err = unix.Mmap(-1, 0, memory, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_POPULATE); err != nil {
		return nil, err
	}
	if s.mr, err = s.pd.RegMR(s.mem, access); err != nil {
		return nil, err
	}
	if s.cq, err = id.Device().CreateCQ(2 * maxDepth); err != nil {
		return nil, err
	}
	s.qp, err = id.CreateQP(s.pd, rdma.QPConfig{SendCQ: s.cq, RecvCQ: s.cq, SendDepth: maxDepth, RecvDepth: maxDepth})
	return s, err
}

// close releases the resources that exist.
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
	if s.mem != nil {
		err = errors.Join(err, unix.Munmap(s.mem))
	}
	return err
}

// sge returns the scatter/gather element for n bytes of the memory at off.
func (s *side) sge(off, n int) rdma.SGE {
	return rdma.SGE{Addr: s.mr.Addr() + uint64(off), Length: uint32(n), LKey: s.mr.LKey()}
}

// pair is a connection with both its ends.
type pair struct{ client, server *side }

// connect connects a provider with itself through a listener at addr, whose port may be 0.
// Each end gets so many bytes of memory.
func connect(ctx context.Context, p rdma.Provider, addr netip.AddrPort, memory int, access rdma.Access, params rdma.ConnParams) (k *pair, err error) {
	ln, err := p.Listen(ctx, addr)
	if err != nil {
		return nil, err
	}
	k = &pair{}
	defer func() {
		if err = errors.Join(err, ln.Close()); err != nil {
			err = errors.Join(err, k.close())
		}
	}()
	id, err := p.Resolve(ctx, ln.Addr())
	if err != nil {
		return nil, err
	}
	if k.client, err = newSide(id, memory, access); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	accepted := make(chan error, 1)
	go func() {
		err := k.accept(ctx, ln, memory, access, params)
		if err != nil {
			cancel()
		}
		accepted <- err
	}()
	err = k.client.id.Connect(ctx, params)
	if err != nil {
		cancel()
	}
	return k, errors.Join(<-accepted, err)
}

func (k *pair) accept(ctx context.Context, ln rdma.Listener, memory int, access rdma.Access, params rdma.ConnParams) error {
	id, err := ln.Accept(ctx)
	if err != nil {
		return err
	}
	s, err := newSide(id, memory, access)
	if err != nil {
		return err
	}
	k.server = s
	return id.Accept(params)
}

// close releases all resources of both ends.
func (k *pair) close() error {
	var errs []error
	for _, s := range []*side{k.client, k.server} {
		if s != nil {
			errs = append(errs, s.close())
		}
	}
	return errors.Join(errs...)
}
