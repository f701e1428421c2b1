package iwarp

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"fileserver/rdma"
)

// maxMessage is the most bytes in one message.
const maxMessage = 1 << 31

// qpState is how far a queue pair has come.
type qpState uint8

const (
	qpInit    qpState = iota // not connected yet
	qpOpen                   // requests are sent
	qpClosing                // no new requests; what was posted is sent
	qpEnded                  // flushed
)

// queuePair implements rdma.QP: the work queues of a connection and its two engines.
type queuePair struct {
	id    *connID
	cfg   *Config
	stats *counters
	pd    *protectionDomain
	num   uint32
	send  *completionQueue
	rq    recvQueue
	tx    transmitter
	rx    receiver
	terms terms

	cause   atomic.Pointer[Error] // why the connection ends; the first of several
	flushed chan struct{}         // closed when no buffer is touched any more

	mu    sync.Mutex
	state qpState
	sq    sendQueue
	reads readQueue
	timer *time.Timer // bounds qpClosing

	rtrTimer  *time.Timer // see armRTRTimerLocked; nil: not, or no more
	repeatRTR bool        // send it at the next turn
}

func newQP(id *connID, pd *protectionDomain, cfg rdma.QPConfig) (*queuePair, error) {
	caps := pd.dev.caps
	scq, ok1 := cfg.SendCQ.(*completionQueue)
	rcq, ok2 := cfg.RecvCQ.(*completionQueue)
	switch {
	case !ok1 || !ok2:
		return nil, fmt.Errorf("iwarp: the completion queues of a queue pair must be of this provider")
	case cfg.SendDepth < 0 || cfg.SendDepth > caps.MaxQPWR || cfg.RecvDepth < 0 || cfg.RecvDepth > caps.MaxQPWR:
		return nil, fmt.Errorf("iwarp: queue depths %d and %d: at most %d", cfg.SendDepth, cfg.RecvDepth, caps.MaxQPWR)
	case cfg.MaxSendSGE > caps.MaxSGE || cfg.MaxRecvSGE > caps.MaxSGE:
		return nil, fmt.Errorf("iwarp: %d and %d scatter/gather elements: at most %d", cfg.MaxSendSGE, cfg.MaxRecvSGE, caps.MaxSGE)
	case cfg.MaxInline > caps.MaxInline:
		return nil, fmt.Errorf("iwarp: %d bytes inline: at most %d", cfg.MaxInline, caps.MaxInline)
	}
	q := &queuePair{
		id: id, cfg: &id.p.cfg, stats: &id.p.stats, pd: pd, num: pd.dev.nextQPN(),
		send: scq, flushed: make(chan struct{}),
	}
	q.sq.init(scq, q.num, cfg)
	q.rq.init(rcq, q.num, cfg)
	q.tx.init(q)
	q.rx.init(q)
	scq.use(1)
	rcq.use(1)
	pd.objects.Add(1)
	return q, nil
}

// destroy detaches the queue pair from what it uses; it is flushed.
func (q *queuePair) destroy() {
	q.send.use(-1)
	q.rq.cq.use(-1)
	q.pd.objects.Add(-1)
}

// Num implements rdma.QP.
func (q *queuePair) Num() uint32 { return q.num }

// PostSend implements rdma.QP.
func (q *queuePair) PostSend(wrs []rdma.SendWR) error {
	q.mu.Lock()
	if q.state != qpOpen {
		q.mu.Unlock()
		return rdma.ErrNotConnected
	}
	if q.sq.room() < len(wrs) {
		q.mu.Unlock()
		return rdma.ErrQueueFull
	}
	for i := range wrs {
		if err := q.sq.check(&wrs[i], i, q.terms.ord); err != nil {
			q.mu.Unlock()
			return err
		}
	}
	for i := range wrs {
		q.sq.post(&wrs[i], q.pd)
	}
	q.mu.Unlock()
	q.tx.kick()
	return nil
}

// PostRecv implements rdma.QP.
func (q *queuePair) PostRecv(wrs []rdma.RecvWR) error { return q.rq.post(wrs, q.pd) }

// oldestRead is the READ whose response comes next.
func (q *queuePair) oldestRead() *sendWQE {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.sq.oldestRead()
}

// readDone completes the oldest READ.
func (q *queuePair) readDone() {
	q.mu.Lock()
	q.sq.readDone()
	q.sq.reap()
	waiting := q.sq.next != q.sq.tail
	closing := q.state == qpClosing
	q.mu.Unlock()
	if waiting || closing {
		q.tx.kick()
	}
}

// queueRead queues an inbound READ; false: the peer has too many outstanding.
func (q *queuePair) queueRead(j readJob) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.reads.push(j, q.terms.ird)
}

// readAnswered makes room for another inbound READ.
func (q *queuePair) readAnswered() {
	q.mu.Lock()
	q.reads.pop()
	q.mu.Unlock()
}

// sent reports whether everything posted has been handed to TCP.
func (q *queuePair) sent() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.sq.next == q.sq.tail
}

// readQueue holds the peer's READs that are not answered in full, oldest first.
type readQueue struct {
	ring  []readJob
	head  int
	n     int
	begun int
}

func (r *readQueue) push(j readJob, limit int) bool {
	if r.n >= limit {
		return false
	}
	if r.ring == nil {
		r.ring = make([]readJob, limit)
	}
	r.ring[(r.head+r.n)%len(r.ring)] = j
	r.n++
	return true
}

// begin returns the oldest that is not begun; nil if there is none.
func (r *readQueue) begin() *readJob {
	if r.begun == r.n {
		return nil
	}
	j := &r.ring[(r.head+r.begun)%len(r.ring)]
	r.begun++
	return j
}

// pop removes the oldest, which is answered.
func (r *readQueue) pop() {
	r.ring[r.head] = readJob{}
	r.head = (r.head + 1) % len(r.ring)
	r.n--
	r.begun--
}
