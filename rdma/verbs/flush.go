//go:build linux && cgo && rdmacore

package verbs

import (
	"time"

	"fileserver/rdma"
)

// How a queue pair ends.
const (
	// lingerTime is how long a disconnecting side waits for what it has posted to be sent.
	lingerTime = 2 * time.Second
	// settleTime is how long a device is given to complete what it flushes. What it
	// has not completed then is completed by us, once the queue pair is destroyed.
	settleTime = 100 * time.Millisecond
	pollEvery  = 100 * time.Microsecond
)

// refuse ends posting.
func (q *qp) refuse() {
	q.sendMu.Lock()
	defer q.sendMu.Unlock()
	q.recvMu.Lock()
	defer q.recvMu.Unlock()
	q.state, q.dead = qpDead, true
}

// linger waits until everything posted has been sent, until stop is closed, or until
// the time is over. The device's user is expected, but not needed, to poll.
func (q *qp) linger(stop <-chan struct{}) {
	q.sendMu.Lock()
	if q.h.trailing() > 0 {
		q.h.postSentinel()
	}
	q.sendMu.Unlock()
	q.until(stop, lingerTime, func() bool {
		sends, _ := q.h.outstanding()
		return sends == 0
	})
}

// settle waits until the device has flushed everything, or has had the time to.
func (q *qp) settle() {
	trailing := q.h.trailing()
	q.until(nil, settleTime, func() bool {
		sends, recvs := q.h.outstanding()
		return recvs == 0 && sends <= trailing
	})
}

// until polls into the stash until done returns true, stop is closed, or the time is over.
func (q *qp) until(stop <-chan struct{}, most time.Duration, done func() bool) {
	end := time.Now().Add(most)
	wait := pollEvery
	for !done() {
		if q.pollAll() {
			continue
		}
		if time.Now().After(end) {
			return
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-stop:
			t.Stop()
			return
		}
		wait = min(2*wait, 50*pollEvery)
	}
}

// pollAll moves what the device has completed to the stash, and wakes the waiter.
func (q *qp) pollAll() (any bool) {
	for _, c := range []*cq{q.scq, q.rcq} {
		for {
			_, n, _ := c.fetch(false)
			if n > 0 {
				any = true
				c.put(nil)
			}
			if n < batch {
				break
			}
		}
	}
	return any
}

// destroy destroys the device's queue pair, which ends the use of buffers, and completes the
// requests that have no completion. Posting has ended.
func (q *qp) destroy() {
	q.pollAll()
	_ = q.h.destroy()
	q.pollAll() // some devices leave completions behind
	unlock := lockCQs(q.scq, q.rcq)
	q.detachLocked()
	delete(q.scq.qps, q.num)
	delete(q.rcq.qps, q.num)
	unlock()
	var sends, recvs []rdma.WC
	for wc, ok := q.h.reap(); ok; wc, ok = q.h.reap() {
		if wc.Opcode == rdma.OpRecv {
			recvs = append(recvs, wc)
		} else {
			sends = append(sends, wc)
		}
	}
	q.h.free()
	if q.awaitsRTU {
		q.awaitsRTU = false
		q.rcq.awaitRTU.Add(-1)
	}
	q.scq.put(append(sends, q.reapHeld()...))
	q.rcq.put(recvs)
}

// abandon ends the queue pair's use of its completion queues and its protection domain.
func (q *qp) abandon() {
	q.scq.detach(q.cfg.SendDepth)
	q.rcq.detach(q.cfg.RecvDepth)
	q.pd.mu.Lock()
	q.pd.qps--
	q.pd.mu.Unlock()
}
