package iwarp

import (
	"fmt"

	"fileserver/internal/queue"
	"fileserver/rdma"
)

// sendWQE is a request on the send queue.
type sendWQE struct {
	id       uint64
	raddr    uint64
	rkey     uint32
	inv      uint32
	length   uint32
	sinkSTag uint32 // READ
	msn      uint32 // READ
	got      uint32 // READ: bytes placed so far
	op       rdma.Opcode
	flags    rdma.SendFlags
	status   rdma.Status // of a request denied when it was posted
	internal bool        // ours, not the consumer's: the ready-to-receive frame
	done     bool
	data     [][]byte // local memory, in order
	one      [1][]byte
	many     [][]byte
	inline   []byte
}

// sendQueue is the send queue, with the READs outstanding. Its owner's mutex
// guards it. Positions count requests since the beginning; retire <= next <= tail.
type sendQueue struct {
	cq      *completionQueue
	qpn     uint32
	depth   int
	maxSGE  int
	maxInl  int
	ring    []*sendWQE // of a power of two
	free    []*sendWQE
	retire  uint64 // oldest without completion
	next    uint64 // oldest not begun
	tail    uint64
	orq     queue.Queue[*sendWQE] // READs outstanding, oldest first
	ord     int                   // how many there may be
	sinkSeq uint32
	batch   []rdma.WC
}

func (q *sendQueue) init(cq *completionQueue, qpn uint32, cfg rdma.QPConfig) {
	q.cq, q.qpn, q.depth = cq, qpn, cfg.SendDepth
	q.maxSGE, q.maxInl = max(cfg.MaxSendSGE, 1), cfg.MaxInline
	n := 1
	for n < q.depth+1 { // one for the ready-to-receive frame
		n <<= 1
	}
	q.ring = make([]*sendWQE, n)
}

func (q *sendQueue) at(pos uint64) *sendWQE { return q.ring[pos&uint64(len(q.ring)-1)] }

func (q *sendQueue) room() int { return q.depth - int(q.tail-q.retire) }

// add appends a cleared request and returns it for filling.
func (q *sendQueue) add() *sendWQE {
	var e *sendWQE
	if n := len(q.free); n > 0 {
		e, q.free = q.free[n-1], q.free[:n-1]
	} else {
		e = new(sendWQE)
	}
	q.ring[q.tail&uint64(len(q.ring)-1)] = e
	q.tail++
	return e
}

// check says why a request is malformed.
func (q *sendQueue) check(wr *rdma.SendWR, i, ord int) error {
	var total uint64
	for _, s := range wr.SGL {
		total += uint64(s.Length)
	}
	bad := func(format string, args ...any) error {
		return fmt.Errorf("iwarp: request %d (%v): %s", i, wr.Opcode, fmt.Sprintf(format, args...))
	}
	switch wr.Opcode {
	case rdma.OpSend, rdma.OpSendInvalidate, rdma.OpWrite:
		if wr.Flags&rdma.SendInline != 0 && total > uint64(q.maxInl) {
			return bad("%d bytes inline, at most %d", total, q.maxInl)
		}
	case rdma.OpRead:
		switch {
		case len(wr.SGL) > 1:
			return bad("%d elements, at most 1", len(wr.SGL))
		case wr.Flags&rdma.SendInline != 0:
			return bad("inline")
		case ord == 0:
			return bad("the connection allows no READ")
		}
	default:
		return fmt.Errorf("iwarp: request %d (%v): %w", i, wr.Opcode, rdma.ErrUnsupported)
	}
	if len(wr.SGL) > q.maxSGE {
		return bad("%d elements, at most %d", len(wr.SGL), q.maxSGE)
	}
	if total > maxMessage {
		return bad("%d bytes, at most %d", total, int64(maxMessage))
	}
	return nil
}

// post appends a request that check let pass.
func (q *sendQueue) post(wr *rdma.SendWR, pd *protectionDomain) {
	e := q.add()
	e.id, e.op, e.flags = wr.ID, wr.Opcode, wr.Flags
	e.raddr, e.rkey, e.inv = wr.RemoteAddr, wr.RKey, wr.Invalidate
	e.length, e.got, e.status, e.done, e.internal = 0, 0, rdma.StatusSuccess, false, false
	var need rdma.Access
	if wr.Opcode == rdma.OpRead {
		need = rdma.AccessLocalWrite
	}
	e.data = e.one[:0]
	if len(wr.SGL) > 1 {
		if e.many == nil {
			e.many = make([][]byte, 0, q.maxSGE)
		}
		e.data = e.many[:0]
	}
	inline := wr.Flags&rdma.SendInline != 0
	e.inline = e.inline[:0]
	for _, s := range wr.SGL {
		if s.Length == 0 {
			continue
		}
		mem, ok := pd.local(s, need)
		if !ok {
			e.status = rdma.StatusLocProtErr
			return
		}
		e.length += s.Length
		if inline {
			e.inline = append(e.inline, mem...)
		} else {
			e.data = append(e.data, mem)
		}
	}
	if inline && e.length > 0 {
		e.data = append(e.data[:0], e.inline)
	}
}

// peek is the oldest request not begun; nil if there is none. stall: it must
// wait for a READ to complete.
func (q *sendQueue) peek() (e *sendWQE, stall bool) {
	if q.next == q.tail {
		return nil, false
	}
	e = q.at(q.next)
	if e.flags&rdma.SendFence != 0 && q.orq.Len() > 0 {
		return e, true
	}
	return e, e.op == rdma.OpRead && q.orq.Len() >= q.ord
}

// begin takes the request that peek returned. A READ becomes outstanding.
func (q *sendQueue) begin(e *sendWQE, salt uint32) {
	q.next++
	if e.op != rdma.OpRead {
		return
	}
	q.sinkSeq++
	e.sinkSTag = sinkSTagBit | (q.sinkSeq<<8|salt&0xff)&^sinkSTagBit
	q.orq.Push(e)
}

// oldestRead is the READ whose response comes next; nil if there is none.
func (q *sendQueue) oldestRead() *sendWQE {
	if q.orq.Len() == 0 {
		return nil
	}
	return *q.orq.At(0)
}

func (q *sendQueue) readDone() {
	e, _ := q.orq.Pop()
	e.done = true
}

// reap completes, in order, what is done.
func (q *sendQueue) reap() {
	wc := q.batch[:0]
	for q.retire < q.next {
		e := q.at(q.retire)
		if !e.done {
			break
		}
		if e.flags&rdma.SendSignaled != 0 && !e.internal {
			wc = append(wc, q.completion(e, rdma.StatusSuccess))
		}
		q.drop(e)
	}
	if len(wc) > 0 {
		q.cq.push(wc...)
	}
	q.batch = wc[:0]
}

func (q *sendQueue) drop(e *sendWQE) {
	q.ring[q.retire&uint64(len(q.ring)-1)] = nil
	q.retire++
	q.free = append(q.free, e)
}

func (q *sendQueue) completion(e *sendWQE, s rdma.Status) rdma.WC {
	wc := rdma.WC{ID: e.id, Status: s, Opcode: e.op, QPN: q.qpn}
	if e.op == rdma.OpRead && s == rdma.StatusSuccess {
		wc.ByteLen = e.length
	}
	return wc
}

// flush completes everything outstanding, in order, and empties the queue.
func (q *sendQueue) flush() {
	for q.retire < q.tail {
		e := q.at(q.retire)
		if !e.internal {
			s := rdma.StatusWRFlushErr
			switch {
			case e.status != rdma.StatusSuccess:
				s = e.status
			case e.done:
				s = rdma.StatusSuccess
			}
			if s != rdma.StatusSuccess || e.flags&rdma.SendSignaled != 0 {
				q.cq.push(q.completion(e, s))
			}
		}
		q.drop(e)
	}
	q.next, q.orq, q.free = q.tail, queue.Queue[*sendWQE]{}, nil
}
