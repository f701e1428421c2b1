package iwarp

import (
	"fmt"
	"sync"

	"fileserver/rdma"
)

// recvWQE is a posted receive.
type recvWQE struct {
	id     uint64
	total  uint64
	status rdma.Status
	data   [][]byte
	one    [1][]byte
}

// recvQueue is the receive queue. Requests are consumed in order by the
// receiver's goroutine, which owns the one it works on until it calls done.
type recvQueue struct {
	cq     *completionQueue
	qpn    uint32
	maxSGE int

	mu     sync.Mutex
	ring   []recvWQE
	head   int
	n      int
	closed bool
}

func (q *recvQueue) init(cq *completionQueue, qpn uint32, cfg rdma.QPConfig) {
	q.cq, q.qpn, q.maxSGE = cq, qpn, max(cfg.MaxRecvSGE, 1)
	q.ring = make([]recvWQE, cfg.RecvDepth)
}

func (q *recvQueue) post(wrs []rdma.RecvWR, pd *protectionDomain) error {
	for i := range wrs {
		if n := len(wrs[i].SGL); n > q.maxSGE {
			return fmt.Errorf("iwarp: receive %d: %d elements, at most %d", i, n, q.maxSGE)
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return rdma.ErrNotConnected
	case q.n+len(wrs) > len(q.ring):
		return rdma.ErrQueueFull
	}
	for i := range wrs {
		j := q.head + q.n
		if j >= len(q.ring) {
			j -= len(q.ring)
		}
		q.ring[j].set(&wrs[i], pd, q.maxSGE)
		q.n++
	}
	return nil
}

func (e *recvWQE) set(wr *rdma.RecvWR, pd *protectionDomain, maxSGE int) {
	e.id, e.total, e.status = wr.ID, 0, rdma.StatusSuccess
	if e.data == nil || cap(e.data) < len(wr.SGL) {
		e.data = e.one[:0]
		if len(wr.SGL) > 1 {
			e.data = make([][]byte, 0, maxSGE)
		}
	}
	e.data = e.data[:0]
	for _, s := range wr.SGL {
		if s.Length == 0 {
			continue
		}
		mem, ok := pd.local(s, rdma.AccessLocalWrite)
		if !ok {
			e.status = rdma.StatusLocProtErr
			return
		}
		e.total += uint64(s.Length)
		e.data = append(e.data, mem)
	}
}

// first is the oldest receive; nil if none is posted. It stays in the queue until done.
func (q *recvQueue) first() *recvWQE {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.n == 0 {
		return nil
	}
	return &q.ring[q.head]
}

// done completes the oldest receive.
func (q *recvQueue) done(wc rdma.WC) {
	q.mu.Lock()
	wc.ID = q.pop()
	q.cq.push(wc)
	q.mu.Unlock()
}

func (q *recvQueue) pop() uint64 {
	id := q.ring[q.head].id
	if q.head++; q.head == len(q.ring) {
		q.head = 0
	}
	q.n--
	return id
}

// flush completes every receive, in order; the oldest with the status given.
func (q *recvQueue) flush(oldest rdma.Status) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for q.n > 0 {
		q.cq.push(rdma.WC{ID: q.pop(), Status: oldest, Opcode: rdma.OpRecv, QPN: q.qpn})
		oldest = rdma.StatusWRFlushErr
	}
}
