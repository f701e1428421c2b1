//go:build linux && cgo && rdmacore

package verbs

import (
	"errors"
	"fmt"
	"sync"
	"syscall"

	"fileserver/rdma"
)

// qp implements [rdma.QP].
type qp struct {
	id       *id
	num      uint32
	pd       *pd
	cfg      rdma.QPConfig
	scq, rcq *cq

	sendMu    sync.Mutex // guards posting of sends
	state     qpState
	h         qpHandle
	awaitsRTU bool // requests are held until the peer has spoken
	held      []heldWR
	ord       int

	recvMu sync.Mutex // guards posting of receives
	dead   bool       // state is qpDead
}

type qpState uint8

const (
	qpFresh qpState = iota // receives may be posted
	qpReady                // and sends
	qpDead
)

// CreateQP implements [rdma.ID].
func (id *id) CreateQP(domain rdma.PD, cfg rdma.QPConfig) (rdma.QP, error) {
	caps := id.dev.ctx.caps
	p, ok := domain.(*pd)
	scq, ok1 := cfg.SendCQ.(*cq)
	rcq, ok2 := cfg.RecvCQ.(*cq)
	cfg.MaxSendSGE, cfg.MaxRecvSGE = max(1, cfg.MaxSendSGE), max(1, cfg.MaxRecvSGE)
	switch {
	case !ok || p.dev != id.dev || !ok1 || !ok2 || scq.dev != id.dev || rcq.dev != id.dev:
		return nil, errors.New("rdma/verbs: queue pair of another device's objects")
	case cfg.SendDepth < 1 || cfg.SendDepth > caps.MaxQPWR || cfg.RecvDepth < 1 || cfg.RecvDepth > caps.MaxQPWR:
		return nil, fmt.Errorf("rdma/verbs: queues of %d and %d, 1 to %d possible", cfg.SendDepth, cfg.RecvDepth, caps.MaxQPWR)
	case cfg.MaxSendSGE > caps.MaxSGE || cfg.MaxRecvSGE > caps.MaxSGE:
		return nil, fmt.Errorf("rdma/verbs: lists of %d and %d elements, %d possible", cfg.MaxSendSGE, cfg.MaxRecvSGE, caps.MaxSGE)
	case cfg.MaxInline > caps.MaxInline:
		return nil, fmt.Errorf("rdma/verbs: %d bytes inline, %d possible", cfg.MaxInline, caps.MaxInline)
	}
	id.mu.Lock()
	defer id.mu.Unlock()
	switch {
	case id.qp != nil:
		return nil, rdma.ErrBusy
	}
	q := &qp{id: id, pd: p, cfg: cfg, scq: scq, rcq: rcq, awaitsRTU: !id.active}
	if err := scq.attach(cfg.SendDepth); err != nil {
		return nil, err
	}
	if err := rcq.attach(cfg.RecvDepth); err != nil {
		scq.detach(cfg.SendDepth)
		return nil, err
	}
	if err := q.create(); err != nil {
		scq.detach(cfg.SendDepth)
		rcq.detach(cfg.RecvDepth)
		return nil, err
	}
	id.qp = q
	return q, nil
}

// create makes the device's queue pair. That of a connection that has ended already
// is dead from the beginning and has none.
func (q *qp) create() error {
	q.pd.mu.Lock()
	defer q.pd.mu.Unlock()
	if q.pd.gone {
		return rdma.ErrDeviceRemoved
	}
	q.pd.qps++
	err := q.createLocked()
	if err != nil {
		q.pd.qps--
	}
	return err
}

// createLocked is create with the domain locked.
func (q *qp) createLocked() error {
	unlock := lockCQs(q.scq, q.rcq)
	defer unlock()
	if !q.scq.h.valid() || !q.rcq.h.valid() {
		return rdma.ErrDeviceRemoved
	}
	if q.id.ending {
		q.state, q.dead, q.awaitsRTU = qpDead, true, false
		return nil
	}
	var err error
	if q.h, err = createQP(q.pd.h, q.scq.h, q.rcq.h, q.id.number, q.cfg); err != nil {
		return err
	}
	if err := q.h.toInit(q.id.cm); err != nil {
		q.detachLocked()
		_ = q.h.destroy()
		q.h.free()
		if q.id.active || !errors.Is(err, syscall.EINVAL) {
			return err
		}
		// The peer has given up, of which the event is on its way.
		q.state, q.dead, q.awaitsRTU = qpDead, true, false
		return nil
	}
	q.num = q.h.num()
	q.scq.qps[q.num], q.rcq.qps[q.num] = q, q
	if q.awaitsRTU {
		q.rcq.awaitRTU.Add(1)
	}
	return nil
}

// lockCQs locks the one or two queues of a queue pair, always in the same order.
func lockCQs(a, b *cq) (unlock func()) {
	if a == b {
		a.mu.Lock()
		return a.mu.Unlock
	}
	if a.number > b.number {
		a, b = b, a
	}
	a.mu.Lock()
	b.mu.Lock()
	return func() { b.mu.Unlock(); a.mu.Unlock() }
}

// detachLocked removes the queue pair from the tables of its completion queues, which are locked.
func (q *qp) detachLocked() {
	s, r := q.h.indices()
	if q.scq.h.valid() {
		q.scq.h.detach(s)
	}
	if q.rcq.h.valid() {
		q.rcq.h.detach(r)
	}
}

// Num implements [rdma.QP].
func (q *qp) Num() uint32 { return q.num }

// readyLocked lets sends be posted: the connection is being established. The lock is sendMu.
func (q *qp) readyLocked(ird, ord int) error {
	if q.state == qpDead {
		return rdma.ErrNotConnected
	}
	if err := q.h.toReady(q.id.cm, ird, ord); err != nil {
		return err
	}
	q.state, q.ord = qpReady, ord
	return nil
}

// check refuses requests that are malformed, or beyond the device.
func (q *qp) check(wr *rdma.SendWR) error {
	caps, most := &q.id.dev.ctx.caps, q.cfg.MaxSendSGE
	switch wr.Opcode {
	case rdma.OpSend, rdma.OpWrite:
	case rdma.OpRead:
		if most = min(most, caps.MaxSGERead); q.ord == 0 {
			return errors.New("rdma/verbs: the peer answers no READs")
		}
	case rdma.OpSendInvalidate:
		if !caps.SendInvalidate {
			return fmt.Errorf("%w: %v", rdma.ErrUnsupported, wr.Opcode)
		}
	default:
		return fmt.Errorf("%w: %v", rdma.ErrUnsupported, wr.Opcode)
	}
	if len(wr.SGL) > most {
		return fmt.Errorf("rdma/verbs: %v with %d elements, %d possible", wr.Opcode, len(wr.SGL), most)
	}
	var n int64
	for i := range wr.SGL {
		n += int64(wr.SGL[i].Length)
	}
	if n > caps.MaxMsgSize {
		return fmt.Errorf("rdma/verbs: %v of %d bytes, %d possible", wr.Opcode, n, caps.MaxMsgSize)
	}
	if wr.Flags&rdma.SendInline != 0 && (wr.Opcode == rdma.OpRead || n > int64(q.cfg.MaxInline)) {
		return fmt.Errorf("rdma/verbs: %v of %d bytes inline, %d possible", wr.Opcode, n, q.cfg.MaxInline)
	}
	return nil
}

// PostSend implements [rdma.QP].
func (q *qp) PostSend(wrs []rdma.SendWR) error {
	q.sendMu.Lock()
	defer q.sendMu.Unlock()
	if q.state != qpReady {
		return rdma.ErrNotConnected
	}
	for i := range wrs {
		if err := q.check(&wrs[i]); err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
	}
	switch {
	case len(wrs) == 0:
		return nil
	case len(wrs) > q.cfg.SendDepth:
		return rdma.ErrQueueFull
	case q.awaitsRTU:
		return q.holdLocked(wrs)
	}
	return q.postLocked(wrs)
}

// postLocked posts a chain to the device. The lock is sendMu.
func (q *qp) postLocked(wrs []rdma.SendWR) error {
	r := q.h.postSend(wrs, q.cfg.MaxSendSGE)
	if r == 0 {
		return nil
	}
	return q.refused(r, "posting requests")
}

func (q *qp) refused(r int, what string) error {
	switch r {
	case postFull:
		return rdma.ErrQueueFull
	case postPartial: // what is in the queue, and what is not, is flushed
		err := fmt.Errorf("rdma/verbs: %s: the device took only a part", what)
		q.id.p.wg.Go(func() { q.id.end(rdma.Event{Type: rdma.EventFatal, Err: err}, false) })
		return nil
	}
	return fmt.Errorf("rdma/verbs: %s: %w", what, syscall.Errno(r))
}

// PostRecv implements [rdma.QP].
func (q *qp) PostRecv(wrs []rdma.RecvWR) error {
	q.recvMu.Lock()
	defer q.recvMu.Unlock()
	if q.dead {
		return rdma.ErrNotConnected
	}
	for i := range wrs {
		if len(wrs[i].SGL) > q.cfg.MaxRecvSGE {
			return fmt.Errorf("rdma/verbs: request %d: RECV with %d elements, %d possible", i, len(wrs[i].SGL), q.cfg.MaxRecvSGE)
		}
	}
	switch {
	case len(wrs) == 0:
		return nil
	case len(wrs) > q.cfg.RecvDepth:
		return rdma.ErrQueueFull
	}
	if r := q.h.postRecv(wrs, q.cfg.MaxRecvSGE); r != 0 {
		return q.refused(r, "posting receives")
	}
	return nil
}
