package iwarp

import (
	"math/rand/v2"

	"fileserver/rdma"
)

// buildLocked fills a batch, and reports whether there is anything to send.
func (t *transmitter) buildLocked() bool {
	if !t.open || !t.msg.active && !t.pick() {
		return false
	}
	t.b = batches.Get().(*batch)
	for t.b.room(1+len(t.msg.src.rest)) && t.cut() && (t.msg.active || t.pick()) {
	}
	t.b.closeRun()
	return !t.dead
}

// cut appends the next FPDU of the message; false: the connection has failed.
func (t *transmitter) cut() bool {
	m := &t.msg
	n := min(m.left, payloadLimit(t.fpdu, m.seg.headerLen()))
	m.left -= n
	m.seg.last = m.left == 0
	if g := m.src.guard; g != nil {
		if !g.acquire() {
			t.failLocked(errorf(ReasonRegionGone, "memory that the peer reads was deregistered"))
			return false
		}
		defer g.release()
		t.b.pin(g)
	}
	if m.wqe != nil && m.wqe.op == rdma.OpRead {
		req := readRequest{sinkSTag: m.wqe.sinkSTag, size: m.wqe.length, srcSTag: m.wqe.rkey, srcTO: m.wqe.raddr}
		t.b.readRequest(&m.seg, &req, t.crc)
	} else {
		t.b.fpdu(&m.seg, &m.src, n, t.crc)
	}
	t.turn += n
	if m.seg.tagged {
		m.seg.to += uint64(n)
	} else {
		m.seg.mo += uint32(n)
	}
	if m.seg.last {
		t.b.completes(m.wqe)
		if m.job {
			// Now, not once TCP has it: by then the peer may have the answer, and
			// its next READ may be here.
			t.qp.readAnswered()
		}
		*m = message{}
	}
	return true
}

// pick chooses the next message, and says whether there is one.
func (t *transmitter) pick() bool {
	q := t.qp
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.turn >= turnBytes {
		t.readTurn, t.turn = !t.readTurn, 0
	}
	if q.repeatRTR {
		q.repeatRTR = false
		t.msg = message{active: true, seg: segment{op: opWrite, tagged: true, stag: 1}} // the key names nothing: no bytes
		return true
	}
	for range 2 {
		if t.readTurn && t.pickJobLocked() || !t.readTurn && t.pickWQELocked() {
			return true
		}
		t.readTurn, t.turn = !t.readTurn, 0
	}
	return false
}

// pickJobLocked begins the answer to the peer's oldest READ. The lock is qp.mu.
func (t *transmitter) pickJobLocked() bool {
	q := t.qp
	if t.closing && q.sq.next == q.sq.tail {
		return false
	}
	j := q.reads.begin()
	if j == nil {
		return false
	}
	t.msg = message{
		active: true, job: true, left: len(j.mem), src: placement{cur: j.mem, guard: j.region},
		seg: segment{op: opReadResponse, tagged: true, stag: j.sinkSTag, to: j.sinkTO},
	}
	return true
}

// pickWQELocked begins the next request of the send queue. The lock is qp.mu.
func (t *transmitter) pickWQELocked() bool {
	q := t.qp
	e, stall := q.sq.peek()
	if e == nil || stall {
		return false
	}
	if e.status != rdma.StatusSuccess {
		if t.b == nil { // what was posted before it has been sent
			t.failLocked(errorf(ReasonLocalRequest, "%v with a key or bounds that its protection domain does not have", e.op))
		}
		return false
	}
	q.sq.begin(e, rand.Uint32()) // of a ChaCha8: from the tags it has seen a peer cannot foretell the next
	m := message{active: true, wqe: e, left: int(e.length)}
	switch e.op {
	case rdma.OpWrite:
		m.seg = segment{op: opWrite, tagged: true, stag: e.rkey, to: e.raddr}
	case rdma.OpRead:
		m.seg = segment{op: opReadRequest, qn: queueRead, msn: t.msn[queueRead]}
		m.left, e.msn = 0, t.msn[queueRead]
		t.msn[queueRead]++
	default:
		m.seg = segment{op: sendOpcode(e), qn: queueSend, msn: t.msn[queueSend]}
		if e.op == rdma.OpSendInvalidate {
			m.seg.stag = e.inv
		}
		t.msn[queueSend]++
	}
	if e.op != rdma.OpRead {
		m.src = placement{rest: e.data}
		m.src.advance(0)
	}
	t.msg = m
	return true
}

func sendOpcode(e *sendWQE) opcode {
	se := e.flags&rdma.SendSolicited != 0
	switch {
	case e.op == rdma.OpSendInvalidate && se:
		return opSendSEInv
	case e.op == rdma.OpSendInvalidate:
		return opSendInv
	case se:
		return opSendSE
	}
	return opSend
}
