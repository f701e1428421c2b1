package iwarp

import "time"

// rtrRepeats is how often a frame of no bytes is sent to a silent peer. From one time to the next the wait is
// rtrBackoff times as long.
const (
	rtrRepeats = 4
	rtrBackoff = 8
)

// armRTRTimerLocked has the ready-to-receive frame sent again to the peer of a connecting ID, until its first FPDU is in.
//
// Linux siw, on the accepting side, sends its reply first and only then has its
// socket tell the queue pair of what arrives; it does not look for what has come
// meanwhile. If that was all that the connecting side has to say for the moment (the
// ready-to-receive frame, the consumer's first message), neither hears of the other
// again. The next FPDU wakes siw. So a silent peer is sent RDMA WRITEs
// of no bytes, like the ready-to-receive frame of RFC 6581.
func (q *queuePair) armRTRTimerLocked() {
	if q.cfg.RTRRepeatAfter < 0 {
		return
	}
	after, left := q.cfg.RTRRepeatAfter, rtrRepeats
	q.rtrTimer = time.AfterFunc(after, func() {
		q.mu.Lock()
		if q.rtrTimer == nil || q.state != qpOpen {
			q.mu.Unlock()
			return
		}
		q.repeatRTR = q.sq.next > 0 // who has said nothing waits for no answer
		now := q.repeatRTR
		if left--; left > 0 {
			after *= rtrBackoff
			q.rtrTimer.Reset(after)
		}
		q.mu.Unlock()
		if now {
			q.tx.kick()
		}
	})
}

// stopRTRTimerLocked ends that.
func (q *queuePair) stopRTRTimerLocked() {
	if q.rtrTimer != nil {
		q.rtrTimer.Stop()
		q.rtrTimer = nil
	}
}
