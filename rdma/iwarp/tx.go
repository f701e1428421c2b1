package iwarp

import (
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fileserver/rdma"
)

// inlineBatches is how many batches whoever posts sends himself before a
// goroutine takes over.
const inlineBatches = 8

// brokenGrace is how long the receiver looks for the reason when sending has failed.
const brokenGrace = time.Second

// turnBytes is how much one side, our requests or the peer's READs, may send
// before it is the other's turn. Whole messages: siw takes no tagged message
// interleaved with another.
const turnBytes = 128 << 10

// readJob is an inbound READ to answer. mem and region are unset for zero bytes.
type readJob struct {
	region   *region
	mem      []byte
	sinkSTag uint32
	sinkTO   uint64
}

// message is what is being cut into FPDUs.
type message struct {
	active bool
	seg    segment
	src    placement
	left   int
	wqe    *sendWQE // a request of ours
	job    bool     // the answer to an inbound READ
}

// transmitter cuts messages into FPDUs and hands them to TCP.
type transmitter struct {
	qp   *queuePair
	fd   uintptr
	conn *net.TCPConn
	raw  syscall.RawConn
	crc  bool
	fpdu int

	more atomic.Bool // work has been added since the holder of mu last looked

	mu       sync.Mutex
	open     bool // FPDUs may be sent
	dead     bool // the receiver's goroutine is ending the connection, or will
	blocked  bool // TCP takes no more, or it is another goroutine's turn: wait goes on
	waiting  bool // wait runs
	closing  bool // send what is posted, then close
	moved    bool // TCP has taken something since the deadline was set
	b        *batch
	msg      message
	msn      [queueRead + 1]uint32
	readTurn bool
	turn     int // bytes sent in this turn
	err      error

	waitFn func() // so that the steady state allocates no closures
	stepFn func(fd uintptr) bool
}

func (t *transmitter) init(qp *queuePair) {
	t.qp = qp
	t.msn = [...]uint32{queueSend: 1, queueRead: 1}
	t.waitFn, t.stepFn = t.wait, t.step
}

// kick sends what there is to send, unless someone else is at it.
func (t *transmitter) kick() {
	t.more.Store(true)
	t.catchUp()
}

func (t *transmitter) catchUp() {
	for t.more.Load() && t.mu.TryLock() {
		t.more.Store(false)
		t.driveLocked(inlineBatches)
		t.mu.Unlock()
	}
}

// start opens the transmitter: FPDUs may flow.
func (t *transmitter) start() {
	t.mu.Lock()
	t.open = true
	t.mu.Unlock()
	t.kick()
}

// close sends what is posted, and ends the connection then.
func (t *transmitter) close() {
	t.mu.Lock()
	t.closing = true
	t.mu.Unlock()
	t.kick()
}

// driveLocked sends until there is nothing to send, TCP takes no more, or the limit of
// batches is reached; 0: no limit.
func (t *transmitter) driveLocked(limit int) {
	for i := 0; !t.blocked && !t.dead; i++ {
		if t.b == nil && !t.buildLocked() {
			if t.closing {
				t.finishLocked()
			}
			return
		}
		if limit > 0 && i == limit {
			t.blockLocked()
			return
		}
		if !t.writeLocked() {
			return
		}
	}
}

// writeLocked writes the batch to TCP, and reports whether TCP took all of it.
func (t *transmitter) writeLocked() bool {
	b := t.b
	if !b.repin() {
		t.failLocked(errorf(ReasonRegionGone, "memory that the peer reads was deregistered"))
		return false
	}
	n, err := writev(t.fd, b.pending())
	b.unpin()
	if err != nil && err != unix.EAGAIN {
		t.brokenLocked(err)
		return false
	}
	if n > 0 {
		b.advance(n)
		t.moved = true
		t.complete(n)
	}
	if b.sent < b.size {
		t.blockLocked()
		return false
	}
	t.drop()
	return true
}

// complete reports what TCP has taken in full.
func (t *transmitter) complete(n int) {
	b, q := t.b, t.qp
	at, done := b.markAt, false
	q.mu.Lock()
	for ; b.markAt < b.markN && b.marks[b.markAt].end <= b.sent; b.markAt++ {
		if e := b.marks[b.markAt].wqe; e != nil && e.op != rdma.OpRead {
			e.done, done = true, true
		}
	}
	if done {
		q.sq.reap()
	}
	q.mu.Unlock()
	q.stats.txBytes.Add(uint64(n))
	q.stats.txFPDUs.Add(uint64(b.markAt - at))
}

// drop gives the batch back.
func (t *transmitter) drop() {
	t.b.reset()
	batches.Put(t.b)
	t.b = nil
}

// blockLocked starts a goroutine that waits for TCP and sends the rest.
func (t *transmitter) blockLocked() {
	t.blocked = true
	if !t.waiting {
		t.waiting = true
		t.moved = false
		t.qp.stats.txWaits.Add(1)
		_ = t.conn.SetWriteDeadline(time.Now().Add(t.qp.cfg.StallTimeout))
		go t.waitFn()
	}
}

// wait goes on whenever TCP takes more, until there is no more.
func (t *transmitter) wait() {
	err := t.raw.Write(t.stepFn)
	if err != nil {
		t.mu.Lock()
		t.waiting = false
		if !t.dead {
			if isTimeout(err) {
				t.failLocked(errorf(ReasonStalled, "the peer took nothing for %v", t.qp.cfg.StallTimeout))
			} else {
				t.brokenLocked(err)
			}
		}
		t.mu.Unlock()
		return
	}
	t.catchUp()
}

// step is called when TCP may take more; true ends wait.
func (t *transmitter) step(uintptr) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.blocked = false
	t.driveLocked(0)
	if t.blocked && !t.dead {
		if t.moved {
			t.moved = false
			_ = t.conn.SetWriteDeadline(time.Now().Add(t.qp.cfg.StallTimeout))
		}
		return false
	}
	t.waiting = false
	return true
}

// failLocked ends the connection.
func (t *transmitter) failLocked(err *Error) {
	t.dead = true
	t.qp.fail(err)
}

// brokenLocked notes that TCP failed. What the peer sent before, a Terminate perhaps,
// says more: the receiver gets a moment to read it.
func (t *transmitter) brokenLocked(err error) {
	t.dead = true
	t.err = err
	_ = t.conn.SetReadDeadline(time.Now().Add(brokenGrace))
}

// finishLocked ends a connection that is closing, once everything posted has been sent.
func (t *transmitter) finishLocked() {
	if t.open && !t.qp.sent() {
		return // behind READs that are outstanding
	}
	t.failLocked(&Error{Reason: ReasonLocalClosed})
}

// abort stops the transmitter for good, and sends a Terminate if the stream is, or
// can be brought, between two FPDUs without waiting. It reports whether it was sent.
func (t *transmitter) abort(term *terminate) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dead = true
	_ = t.conn.SetWriteDeadline(past)
	sent := t.open && t.align() && term != nil && t.terminate(term)
	if t.b != nil {
		t.drop()
	}
	t.msg = message{}
	return sent
}

// align completes the FPDU that TCP has taken in part.
func (t *transmitter) align() bool {
	b := t.b
	if b == nil || b.sent == 0 {
		return true
	}
	if b.markAt > 0 && b.marks[b.markAt-1].end == b.sent {
		return true
	}
	end := b.marks[b.markAt].end
	if !b.repin() {
		return false
	}
	defer b.unpin()
	for b.sent < end {
		v := b.pending()[:1]
		if k := end - b.sent; int(v[0].Len) > k {
			v[0].SetLen(k)
		}
		n, err := writev(t.fd, v)
		if err != nil || n == 0 {
			return false
		}
		b.advance(n)
	}
	return true
}

func (t *transmitter) terminate(term *terminate) bool {
	s := segment{op: opTerminate, last: true, qn: queueTerminate, msn: 1}
	ulpdu := make([]byte, untaggedLen, 128)
	s.put(ulpdu)
	fpdu := appendFPDU(nil, term.append(ulpdu), t.crc)
	n, err := writev(t.fd, []unix.Iovec{iovec(fpdu)})
	return err == nil && n == len(fpdu)
}
