package iwarp

import "time"

// nudges is how often a silent peer is nudged, nudgeFactor how much longer it is
// waited for from one time to the next.
const (
	nudges      = 4
	nudgeFactor = 8
)

// watch nudges the peer of a connecting ID until its first FPDU is in. Called with mu held.
//
// Linux siw, on the accepting side, sends its reply first and only then has its
// socket tell the queue pair of what arrives; it does not look for what has come
// meanwhile. If that was all that the connecting side has to say for the moment (the
// ready-to-receive frame, the consumer's first message), neither hears of the other
// again. The next FPDU wakes siw. So a peer that has said nothing is sent some that
// say nothing: RDMA WRITEs of no bytes, like the ready-to-receive frame of RFC 6581.
func (q *queuePair) watch() {
	if q.cfg.NudgeAfter < 0 {
		return
	}
	after, left := q.cfg.NudgeAfter, nudges
	q.nudger = time.AfterFunc(after, func() {
		q.mu.Lock()
		if q.nudger == nil || q.state != qpOpen {
			q.mu.Unlock()
			return
		}
		q.nudge = q.sq.next > 0 // who has said nothing waits for no answer
		now := q.nudge
		if left--; left > 0 {
			after *= nudgeFactor
			q.nudger.Reset(after)
		}
		q.mu.Unlock()
		if now {
			q.tx.kick()
		}
	})
}

// unwatch ends that. Called with mu held.
func (q *queuePair) unwatch() {
	if q.nudger != nil {
		q.nudger.Stop()
		q.nudger = nil
	}
}
