package iwarp

import (
	"fileserver/rdma"
)

// inbound decides what the segments of a queue pair's peer may do: RFC 5040 5,
// RFC 5041 5 and 7. The receiver's goroutine alone uses it.
type inbound struct {
	qp       *queuePair
	opened   bool   // the peer's first FPDU has arrived
	sendMSN  uint32 // of the SEND expected or in progress
	readMSN  uint32 // of the Read Request expected
	termMSN  uint32
	recv     *recvWQE // of the SEND in progress
	recvOp   opcode
	recvPos  uint64    // bytes placed
	recvDst  placement // where the next byte goes
	recvErr  rdma.Status
	invKey   uint32
	read     *sendWQE // the READ whose response is arriving
	termSeen *terminate
}

func (in *inbound) init(qp *queuePair) {
	*in = inbound{qp: qp, sendMSN: 1, readMSN: 1, termMSN: 1, recvErr: rdma.StatusWRFlushErr}
}

// begin implements segmentHandler.
func (in *inbound) begin(s *segment, control []byte) (placement, Reason) {
	switch s.op {
	case opWrite:
		return in.write(s)
	case opReadResponse:
		return in.readResponse(s)
	case opReadRequest:
		return placement{}, in.readRequest(s, control)
	case opTerminate:
		return placement{}, in.terminate(s, control)
	}
	return in.send(s)
}

// end implements segmentHandler.
func (in *inbound) end(s *segment) Reason {
	if !in.opened {
		in.opened = true
		in.qp.firstFPDU()
	}
	switch {
	case s.op == opReadResponse:
		in.read.got += uint32(s.length)
		if s.last {
			in.qp.readDone()
			in.read = nil
		}
	case s.op.isSend():
		in.recvPos += uint64(s.length)
		if s.last {
			return in.delivered(s)
		}
	case s.op == opReadRequest:
		in.qp.tx.kick()
	case s.op == opTerminate:
		return ReasonTerminated
	}
	return 0
}

// write admits a segment of an RDMA WRITE. A zero-length one names no memory, RFC 5040 5.2.
func (in *inbound) write(s *segment) (placement, Reason) {
	if s.length == 0 {
		return placement{}, 0
	}
	r := in.qp.pd.dev.keys.lookup(s.stag)
	switch {
	case r == nil:
		return placement{}, ReasonSTag
	case r.pd != in.qp.pd:
		return placement{}, ReasonPD
	case !r.grants(rdma.AccessRemoteWrite):
		return placement{}, ReasonAccess
	}
	mem, ok, wrap := r.within(s.to, uint64(s.length))
	switch {
	case wrap:
		return placement{}, ReasonWrap
	case !ok:
		return placement{}, ReasonBounds
	}
	return placement{cur: mem, guard: r}, 0
}

// readResponse admits a segment of the response to the oldest READ outstanding, and no other.
func (in *inbound) readResponse(s *segment) (placement, Reason) {
	if in.read == nil {
		if in.read = in.qp.oldestRead(); in.read == nil {
			return placement{}, ReasonReadResponseUnexpected
		}
	}
	e := in.read
	left := e.length - e.got
	switch {
	case s.stag != e.sinkSTag:
		return placement{}, ReasonReadResponseSTag
	case s.to != uint64(e.got), uint64(s.length) > uint64(left), s.last && uint32(s.length) != left:
		return placement{}, ReasonReadResponseBounds
	case s.length == 0:
		return placement{}, 0
	}
	return placement{cur: e.data[0][e.got : e.got+uint32(s.length)]}, 0
}

// send admits a segment of a SEND, of whatever kind.
func (in *inbound) send(s *segment) (placement, Reason) {
	switch {
	case s.qn != queueSend:
		return placement{}, ReasonQueue
	case s.msn != in.sendMSN:
		return placement{}, ReasonMSN
	case uint64(s.mo) != in.recvPos:
		return placement{}, ReasonMO
	}
	if in.recv == nil {
		e := in.qp.rq.first()
		if e == nil {
			return placement{}, ReasonNoRecv
		}
		if e.status != rdma.StatusSuccess {
			in.recvErr = e.status
			return placement{}, ReasonLocalRequest
		}
		in.recv, in.recvOp, in.invKey = e, s.op, s.stag
		in.recvDst = placement{rest: e.data}
	} else if s.op != in.recvOp || s.op.invalidates() && s.stag != in.invKey {
		return placement{}, ReasonOpcode
	}
	if in.recvPos+uint64(s.length) > in.recv.total {
		in.recvErr = rdma.StatusLocLenErr
		return placement{}, ReasonRecvTooSmall
	}
	dst := in.recvDst
	in.recvDst.advance(s.length)
	return dst, 0
}

// delivered completes the receive of a SEND whose last segment is in place.
func (in *inbound) delivered(s *segment) Reason {
	wc := rdma.WC{Opcode: rdma.OpRecv, ByteLen: uint32(in.recvPos), QPN: in.qp.num}
	if s.op.invalidates() {
		if r := in.invalidate(in.invKey); r != 0 {
			return r
		}
		wc.Invalidated, wc.InvKey = true, in.invKey
	}
	in.recv, in.recvPos = nil, 0
	in.sendMSN++
	in.qp.stats.recvs.Add(1)
	in.qp.rq.done(wc)
	return 0
}

// invalidate takes all remote rights from a region of ours, RFC 5040 5.3.
func (in *inbound) invalidate(stag uint32) Reason {
	r := in.qp.pd.dev.keys.lookup(stag)
	switch {
	case r == nil || r.pd != in.qp.pd:
		return ReasonInvalidateSTag
	case r.RKey() == 0:
		return ReasonInvalidateAccess
	}
	r.remote.Store(0)
	return 0
}

// readRequest admits a Read Request. One of no bytes names no memory.
func (in *inbound) readRequest(s *segment, b []byte) Reason {
	switch {
	case s.qn != queueRead:
		return ReasonQueue
	case s.msn != in.readMSN:
		return ReasonMSN
	case s.mo != 0:
		return ReasonMO
	}
	req, ok := parseReadRequest(b)
	if !ok || !s.last {
		return ReasonReadMalformed
	}
	in.readMSN++
	job := readJob{sinkSTag: req.sinkSTag, sinkTO: req.sinkTO}
	if req.size > 0 {
		var r Reason
		if job.region, job.mem, r = in.source(&req); r != 0 {
			return r
		}
	}
	if !in.qp.queueRead(job) {
		return ReasonIRD
	}
	return 0
}

func (in *inbound) source(req *readRequest) (*region, []byte, Reason) {
	r := in.qp.pd.dev.keys.lookup(req.srcSTag)
	switch {
	case r == nil:
		return nil, nil, ReasonReadSTag
	case r.pd != in.qp.pd:
		return nil, nil, ReasonReadPD
	case !r.grants(rdma.AccessRemoteRead):
		return nil, nil, ReasonReadAccess
	}
	mem, ok, wrap := r.within(req.srcTO, uint64(req.size))
	switch {
	case wrap:
		return nil, nil, ReasonReadWrap
	case !ok:
		return nil, nil, ReasonReadBounds
	}
	return r, mem, 0
}

// terminate notes a Terminate; its end ends the connection.
func (in *inbound) terminate(s *segment, b []byte) Reason {
	switch {
	case s.qn != queueTerminate:
		return ReasonQueue
	case s.msn != in.termMSN:
		return ReasonMSN
	case s.mo != 0:
		return ReasonMO
	}
	t, err := parseTerminate(b)
	if err != nil || !s.last {
		return ReasonTerminateMalformed
	}
	t.offender = append([]byte(nil), t.offender...)
	in.termSeen = &t
	return 0
}
