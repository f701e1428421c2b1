package mem

import (
	"fmt"
	"slices"
	"time"

	"fileserver/rdma"
)

// rnrDelay is the time between two tries of a SEND that met no RECV.
const rnrDelay = time.Millisecond

// endlessRetry is the RNRRetry that stands for "without end".
const endlessRetry = 7

// run executes what can be executed of the send queue, in order. Called with
// link.mu held, as is everything in this file.
func (qp *QP) run() {
	for !qp.dead && !qp.paused && qp.id.link.up {
		e := qp.sq.front()
		if e == nil || !qp.mayStart(e) {
			return
		}
		if !e.begun {
			e.begun = true
			if f := qp.id.dev.faults.take(AtWork, e.wr.Opcode); f != nil && qp.strike(e, f) {
				return
			}
		}
		if !qp.execute(e) {
			return
		}
	}
}

// mayStart applies the rules that hold a request back.
func (qp *QP) mayStart(e *sendEntry) bool {
	switch {
	case !qp.id.active && qp.id.dev.caps.InitiatorSpeaksFirst && !qp.id.link.heard:
		return false
	case len(qp.reads) == 0:
		return true
	case e.wr.Flags&rdma.SendFence != 0:
		return false
	case e.wr.Opcode == rdma.OpRead:
		return len(qp.reads) < qp.id.ord
	}
	return true
}

// strike lets a fault happen to a request; true ends the run.
func (qp *QP) strike(e *sendEntry, f *Fault) bool {
	switch {
	case f.Delay > 0:
		qp.pause(f.Delay)
	case f.Drop:
		qp.id.link.endLocked(nil, rdma.Event{Type: rdma.EventDisconnected})
	case f.RNR:
		if e.wr.Opcode != rdma.OpSend && e.wr.Opcode != rdma.OpSendInvalidate {
			return false
		}
		qp.noReceive(e)
	case f.BadKey:
		qp.denied(e, fmt.Errorf("mem: unknown key 0x%x (injected)", e.wr.RKey))
	case f.Status != rdma.StatusSuccess:
		qp.failed(e, f.Status, fmt.Errorf("mem: %v (injected)", f.Status))
	default:
		return false
	}
	return true
}

// pause stops the queue for a while.
func (qp *QP) pause(d time.Duration) {
	qp.paused = true
	qp.timer = time.AfterFunc(d, func() {
		qp.id.link.mu.Lock()
		defer qp.id.link.mu.Unlock()
		qp.paused = false
		qp.run()
	})
}

// execute carries out the request at the head; false ends the run.
func (qp *QP) execute(e *sendEntry) bool {
	switch e.wr.Opcode {
	case rdma.OpWrite:
		return qp.write(e)
	case rdma.OpRead:
		return qp.read(e)
	default:
		return qp.send(e)
	}
}

// gather copies the request's data to dst, which is long enough.
func (qp *QP) gather(e *sendEntry, dst []byte) error {
	if e.wr.Flags&rdma.SendInline != 0 && e.inline != nil {
		copy(dst, e.inline)
		return nil
	}
	for _, s := range e.sges {
		if s.Length == 0 {
			continue
		}
		m, b, err := qp.id.dev.acquire(qp.pd, s.LKey, s.Addr, s.Length, 0)
		if err != nil {
			return err
		}
		dst = dst[copy(dst, b):]
		qp.id.dev.release(m)
	}
	return nil
}

// source checks the gather list before anything is placed.
func (qp *QP) source(e *sendEntry, need rdma.Access) error {
	if e.wr.Flags&rdma.SendInline != 0 && e.inline != nil {
		return nil
	}
	for _, s := range e.sges {
		if s.Length == 0 {
			continue
		}
		m, _, err := qp.id.dev.acquire(qp.pd, s.LKey, s.Addr, s.Length, need)
		if err != nil {
			return err
		}
		qp.id.dev.release(m)
	}
	return nil
}

func (qp *QP) write(e *sendEntry) bool {
	peer := qp.id.peer
	if err := qp.source(e, 0); err != nil {
		qp.failed(e, rdma.StatusLocProtErr, err)
		return false
	}
	if n := length(e.sges); n > 0 {
		m, dst, err := peer.dev.acquire(peer.qp.pd, e.wr.RKey, e.wr.RemoteAddr, uint32(n), rdma.AccessRemoteWrite)
		if err != nil {
			qp.denied(e, err)
			return false
		}
		err = qp.gather(e, dst)
		peer.dev.release(m)
		if err != nil {
			qp.failed(e, rdma.StatusLocProtErr, err)
			return false
		}
	}
	qp.finish(e, 0)
	qp.spoke()
	return true
}

func (qp *QP) send(e *sendEntry) bool {
	peer := qp.id.peer
	if err := qp.source(e, 0); err != nil {
		qp.failed(e, rdma.StatusLocProtErr, err)
		return false
	}
	r := peer.qp.rq.front()
	if r == nil {
		return qp.noReceive(e)
	}
	qp.tries = 0
	n := length(e.sges)
	if n > length(r.sges) {
		peer.qp.received(r, rdma.StatusLocLenErr, 0, nil)
		qp.failed(e, rdma.StatusRemInvReqErr, fmt.Errorf("mem: a message of %d bytes for a receive of %d", n, length(r.sges)))
		return false
	}
	if err := qp.scatter(e, r, n); err != nil {
		peer.qp.received(r, rdma.StatusLocProtErr, 0, nil)
		qp.failed(e, rdma.StatusRemOpErr, err)
		return false
	}
	var inv *uint32
	if e.wr.Opcode == rdma.OpSendInvalidate {
		if err := peer.dev.invalidate(peer.qp.pd, e.wr.Invalidate); err != nil {
			qp.denied(e, err)
			return false
		}
		inv = &e.wr.Invalidate
	}
	peer.qp.received(r, rdma.StatusSuccess, uint32(n), inv)
	qp.finish(e, 0)
	qp.spoke()
	return true
}

// scatter copies a message of n bytes into a receive.
func (qp *QP) scatter(e *sendEntry, r *recvEntry, n uint64) error {
	peer := qp.id.peer
	if len(r.sges) == 1 {
		if n == 0 {
			return nil
		}
		s := r.sges[0]
		m, dst, err := peer.dev.acquire(peer.qp.pd, s.LKey, s.Addr, uint32(n), rdma.AccessLocalWrite)
		if err != nil {
			return err
		}
		defer peer.dev.release(m)
		return qp.gather(e, dst)
	}
	msg := make([]byte, n)
	if err := qp.gather(e, msg); err != nil {
		return err
	}
	return place(peer.qp, r.sges, msg)
}

// place copies data into a scatter list of qp's.
func place(qp *QP, sges []rdma.SGE, data []byte) error {
	for _, s := range sges {
		k := min(uint64(s.Length), uint64(len(data)))
		if k == 0 {
			continue
		}
		m, dst, err := qp.id.dev.acquire(qp.pd, s.LKey, s.Addr, uint32(k), rdma.AccessLocalWrite)
		if err != nil {
			return err
		}
		copy(dst, data)
		data = data[k:]
		qp.id.dev.release(m)
	}
	return nil
}

// read starts a READ, and answers it at once unless READs are held back.
func (qp *QP) read(e *sendEntry) bool {
	if qp.id.ord == 0 {
		qp.failed(e, rdma.StatusLocQPOpErr, fmt.Errorf("mem: a READ on a connection negotiated without"))
		return false
	}
	need := rdma.AccessLocalWrite
	if qp.id.dev.caps.ReadSinkNeedsRemoteWrite {
		need |= rdma.AccessRemoteWrite
	}
	if err := qp.source(e, need); err != nil {
		qp.failed(e, rdma.StatusLocProtErr, err)
		return false
	}
	qp.id.dev.mu.Lock()
	holding := qp.id.dev.holding
	qp.id.dev.mu.Unlock()
	if holding {
		held := *e
		held.sges = slices.Clone(e.sges)
		qp.sq.pop()
		qp.reads = append(qp.reads, held)
		qp.spoke()
		return true
	}
	err := qp.answer(e)
	if err != nil {
		qp.failed(e, rdma.StatusRemAccessErr, err)
		return false
	}
	qp.finish(e, uint32(length(e.sges)))
	qp.spoke()
	return true
}

// answer copies the data of a READ.
func (qp *QP) answer(e *sendEntry) error {
	n, peer := length(e.sges), qp.id.peer
	if n == 0 {
		return nil
	}
	m, src, err := peer.dev.acquire(peer.qp.pd, e.wr.RKey, e.wr.RemoteAddr, uint32(n), rdma.AccessRemoteRead)
	if err != nil {
		return err
	}
	defer peer.dev.release(m)
	return place(qp, e.sges, src)
}

// answerReads executes the READs held back.
func (qp *QP) answerReads() {
	for len(qp.reads) > 0 {
		e := qp.reads[0]
		qp.reads = slices.Delete(qp.reads, 0, 1)
		status, err := rdma.StatusSuccess, qp.answer(&e)
		if err != nil {
			status = rdma.StatusRemAccessErr
		}
		qp.complete(&e, status, uint32(length(e.sges)))
		if err != nil {
			qp.fatal(err)
		}
	}
}

// noReceive is a SEND that meets no RECV; the result is run's.
func (qp *QP) noReceive(e *sendEntry) bool {
	retry := qp.id.rnrRetry
	switch {
	case !qp.id.dev.caps.RNR:
		qp.denied(e, fmt.Errorf("mem: a SEND without a posted RECV"))
	case retry >= endlessRetry:
		// The peer's next PostRecv goes on.
	case qp.tries >= retry:
		qp.failed(e, rdma.StatusRNRRetryExcErr, fmt.Errorf("mem: a SEND without a posted RECV, tried %d times", qp.tries+1))
	default:
		qp.tries++
		qp.pause(rnrDelay)
	}
	return false
}

// denied ends the connection over a request that the remote side refuses. Where
// completions do not mean the remote side, it completes all the same.
func (qp *QP) denied(e *sendEntry, err error) {
	if qp.id.dev.caps.WriteCompletionIsRemote || e.wr.Opcode == rdma.OpRead {
		qp.failed(e, rdma.StatusRemAccessErr, err)
		return
	}
	qp.finish(e, 0)
	qp.fatal(err)
}

// failed completes the request at the head with an error, which ends the connection.
func (qp *QP) failed(e *sendEntry, s rdma.Status, err error) {
	qp.complete(e, s, 0)
	qp.sq.pop()
	qp.fatal(err)
}

func (qp *QP) fatal(err error) {
	qp.id.link.endLocked(qp.id, rdma.Event{Type: rdma.EventFatal, Err: err})
}

// spoke notes that the peer has heard from this side. The peer's requests may end
// the connection: no entry of this side's queue may be held across the call.
func (qp *QP) spoke() {
	if !qp.id.active || qp.id.link.heard {
		return
	}
	qp.id.link.heard = true
	qp.id.peer.establishedLocked()
	qp.id.peer.qp.run()
}

// finish completes the request at the head with success.
func (qp *QP) finish(e *sendEntry, n uint32) {
	if e.wr.Flags&rdma.SendSignaled != 0 {
		qp.complete(e, rdma.StatusSuccess, n)
	} else {
		qp.unreaped++
	}
	qp.sq.pop()
}

// complete makes the completion of a send-queue request.
func (qp *QP) complete(e *sendEntry, s rdma.Status, n uint32) {
	qp.scq.push(cqe{
		wc: rdma.WC{ID: e.wr.ID, Status: s, Opcode: e.wr.Opcode, ByteLen: n, QPN: qp.num},
		qp: qp, sends: 1 + qp.unreaped,
	})
	qp.unreaped = 0
}

// received completes the receive at the head.
func (qp *QP) received(r *recvEntry, s rdma.Status, n uint32, inv *uint32) {
	wc := rdma.WC{ID: r.id, Status: s, Opcode: rdma.OpRecv, ByteLen: n, QPN: qp.num}
	if inv != nil {
		wc.Invalidated, wc.InvKey = true, *inv
	}
	qp.rq.pop()
	qp.rcq.push(cqe{wc: wc, qp: qp, recvs: 1})
}

// flush ends the queue pair: everything outstanding completes, in order.
func (qp *QP) flush() {
	if qp.dead {
		return
	}
	qp.dead = true
	if qp.timer != nil {
		qp.timer.Stop()
	}
	for i := range qp.reads {
		qp.complete(&qp.reads[i], rdma.StatusWRFlushErr, 0)
	}
	qp.reads = nil
	for e := qp.sq.front(); e != nil; e = qp.sq.front() {
		qp.complete(e, rdma.StatusWRFlushErr, 0)
		qp.sq.pop()
	}
	for r := qp.rq.front(); r != nil; r = qp.rq.front() {
		qp.received(r, rdma.StatusWRFlushErr, 0, nil)
	}
}
