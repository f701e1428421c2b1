package mem

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"fileserver/rdma"
)

// QP implements [rdma.QP]. It is guarded by its connection's lock.
type QP struct {
	id     *ID
	num    uint32
	pd     *PD
	cfg    rdma.QPConfig
	scq    *CQ
	rcq    *CQ
	sqUsed atomic.Int32 // slots whose completion has not been polled
	rqUsed atomic.Int32

	sq       ring[sendEntry]
	rq       ring[recvEntry]
	reads    []sendEntry // outstanding, oldest first
	unreaped int32       // slots of unsignalled requests that await a completion
	paused   bool        // by a fault, or an RNR timer
	tries    int         // of the SEND at the head, after RNR
	timer    *time.Timer
	dead     bool
}

type sendEntry struct {
	wr     rdma.SendWR
	sges   []rdma.SGE
	inline []byte
	begun  bool // faults have had their opportunity
}

type recvEntry struct {
	id   uint64
	sges []rdma.SGE
}

// CreateQP implements [rdma.ID].
func (id *ID) CreateQP(pd rdma.PD, cfg rdma.QPConfig) (rdma.QP, error) {
	caps := id.dev.caps
	p, ok := pd.(*PD)
	scq, ok1 := cfg.SendCQ.(*CQ)
	rcq, ok2 := cfg.RecvCQ.(*CQ)
	cfg.MaxSendSGE, cfg.MaxRecvSGE = max(1, cfg.MaxSendSGE), max(1, cfg.MaxRecvSGE)
	switch {
	case !ok || p.dev != id.dev || !ok1 || !ok2:
		return nil, errors.New("mem: queue pair of another device's objects")
	case cfg.SendDepth < 1 || cfg.SendDepth > caps.MaxQPWR || cfg.RecvDepth < 1 || cfg.RecvDepth > caps.MaxQPWR:
		return nil, fmt.Errorf("mem: queues of %d and %d, 1 to %d possible", cfg.SendDepth, cfg.RecvDepth, caps.MaxQPWR)
	case cfg.MaxSendSGE > caps.MaxSGE || cfg.MaxRecvSGE > caps.MaxSGE:
		return nil, fmt.Errorf("mem: lists of %d and %d elements, %d possible", cfg.MaxSendSGE, cfg.MaxRecvSGE, caps.MaxSGE)
	case cfg.MaxInline > caps.MaxInline:
		return nil, fmt.Errorf("mem: %d bytes inline, %d possible", cfg.MaxInline, caps.MaxInline)
	}
	id.link.mu.Lock()
	defer id.link.mu.Unlock()
	if id.qp != nil || id.closed {
		return nil, rdma.ErrBusy
	}
	if err := scq.attach(cfg.SendDepth); err != nil {
		return nil, err
	}
	if err := rcq.attach(cfg.RecvDepth); err != nil {
		scq.detach(cfg.SendDepth)
		return nil, err
	}
	id.dev.mu.Lock()
	p.uses++
	id.dev.mu.Unlock()
	id.qp = &QP{id: id, num: id.dev.nextQP.Add(1), pd: p, cfg: cfg, scq: scq, rcq: rcq, dead: id.link.ended}
	return id.qp, nil
}

// destroy is called once, by ID.Close, after the flush.
func (qp *QP) destroy() {
	qp.scq.detach(qp.cfg.SendDepth)
	qp.rcq.detach(qp.cfg.RecvDepth)
	qp.id.dev.mu.Lock()
	qp.pd.uses--
	qp.id.dev.mu.Unlock()
}

// Num implements [rdma.QP].
func (qp *QP) Num() uint32 { return qp.num }

// check refuses requests that are malformed, or beyond the device.
func (qp *QP) check(wr *rdma.SendWR) error {
	caps, most := qp.id.dev.caps, qp.cfg.MaxSendSGE
	switch wr.Opcode {
	case rdma.OpSend, rdma.OpWrite:
	case rdma.OpRead:
		most = min(most, caps.MaxSGERead)
	case rdma.OpSendInvalidate:
		if !caps.SendInvalidate {
			return fmt.Errorf("%w: %v", rdma.ErrUnsupported, wr.Opcode)
		}
	default:
		return fmt.Errorf("%w: %v", rdma.ErrUnsupported, wr.Opcode)
	}
	if len(wr.SGL) > most {
		return fmt.Errorf("mem: %v with %d elements, %d possible", wr.Opcode, len(wr.SGL), most)
	}
	n := length(wr.SGL)
	if n > uint64(caps.MaxMsgSize) {
		return fmt.Errorf("mem: %v of %d bytes, %d possible", wr.Opcode, n, caps.MaxMsgSize)
	}
	if wr.Flags&rdma.SendInline != 0 && (wr.Opcode == rdma.OpRead || n > uint64(qp.cfg.MaxInline)) {
		return fmt.Errorf("mem: %v of %d bytes inline, %d possible", wr.Opcode, n, qp.cfg.MaxInline)
	}
	return nil
}

func length(sgl []rdma.SGE) (n uint64) {
	for _, s := range sgl {
		n += uint64(s.Length)
	}
	return n
}

// PostSend implements [rdma.QP].
func (qp *QP) PostSend(wrs []rdma.SendWR) error {
	if f := qp.id.dev.faults.take(AtPostSend, 0); f != nil && f.Err != nil {
		return f.Err
	}
	qp.id.link.mu.Lock()
	defer qp.id.link.mu.Unlock()
	if qp.dead || qp.id.state != idUp {
		return rdma.ErrNotConnected
	}
	for i := range wrs {
		if err := qp.check(&wrs[i]); err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
	}
	if int(qp.sqUsed.Load())+len(wrs) > qp.cfg.SendDepth {
		return rdma.ErrQueueFull
	}
	qp.sqUsed.Add(int32(len(wrs)))
	reads := len(qp.reads)
	for i := range wrs {
		e := qp.sq.push()
		e.wr, e.begun = wrs[i], false
		e.sges = append(e.sges[:0], wrs[i].SGL...)
		e.wr.SGL = e.sges
		if wrs[i].Flags&rdma.SendInline != 0 {
			if err := qp.copyInline(e); err != nil {
				e.inline = nil // the request fails when its turn comes
			}
		}
		if wrs[i].Opcode == rdma.OpRead {
			reads++
		}
	}
	if qp.id.dev.provider.cfg.StrictReads && reads > qp.id.ord {
		qp.fatal(fmt.Errorf("mem: %d READs outstanding, %d negotiated", reads, qp.id.ord))
		return nil
	}
	qp.run()
	return nil
}

func (qp *QP) copyInline(e *sendEntry) error {
	e.inline = e.inline[:0]
	for _, s := range e.sges {
		m, b, err := qp.id.dev.acquire(qp.pd, s.LKey, s.Addr, s.Length, 0)
		if err != nil {
			return err
		}
		e.inline = append(e.inline, b...)
		qp.id.dev.release(m)
	}
	return nil
}

// PostRecv implements [rdma.QP].
func (qp *QP) PostRecv(wrs []rdma.RecvWR) error {
	if f := qp.id.dev.faults.take(AtPostRecv, 0); f != nil && f.Err != nil {
		return f.Err
	}
	qp.id.link.mu.Lock()
	defer qp.id.link.mu.Unlock()
	if qp.dead {
		return rdma.ErrNotConnected
	}
	for i := range wrs {
		if len(wrs[i].SGL) > qp.cfg.MaxRecvSGE {
			return fmt.Errorf("mem: request %d: RECV with %d elements, %d possible", i, len(wrs[i].SGL), qp.cfg.MaxRecvSGE)
		}
	}
	if int(qp.rqUsed.Load())+len(wrs) > qp.cfg.RecvDepth {
		return rdma.ErrQueueFull
	}
	qp.rqUsed.Add(int32(len(wrs)))
	for i := range wrs {
		e := qp.rq.push()
		e.id = wrs[i].ID
		e.sges = append(e.sges[:0], wrs[i].SGL...)
	}
	if p := qp.id.peer; p != nil && p.qp != nil {
		p.qp.run() // a SEND of the peer's may wait for this receive
	}
	return nil
}

// ring is a queue whose entries are reused.
type ring[T any] struct {
	buf     []T
	head, n int
}

// push makes room for an entry, and returns it with what was left in it.
func (r *ring[T]) push() *T {
	if r.n == len(r.buf) {
		bigger := make([]T, max(4, 2*len(r.buf)))
		for i := range r.n {
			bigger[i] = r.buf[(r.head+i)%len(r.buf)]
		}
		r.buf, r.head = bigger, 0
	}
	r.n++
	return &r.buf[(r.head+r.n-1)%len(r.buf)]
}

// front is the oldest entry; nil when there is none.
func (r *ring[T]) front() *T {
	if r.n == 0 {
		return nil
	}
	return &r.buf[r.head]
}

func (r *ring[T]) pop() {
	r.head = (r.head + 1) % len(r.buf)
	r.n--
}
