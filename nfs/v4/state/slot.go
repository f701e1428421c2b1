package state

import (
	"sync"
	"time"

	"fileserver/nfs/v4/proto"
)

// Sequence are the arguments of SEQUENCE (RFC 8881 18.46), and what is needed of the rest of the request.
type Sequence struct {
	Conn               uint64 // the connection it came on
	Seq, Slot, Highest uint32
	CacheThis          bool
	Ops                int    // operations of the request, SEQUENCE included
	Size               int    // bytes of the request, RPC header included
	Sum                uint64 // of the operations and the credential: a retry has the same
}

type slot struct {
	mu    sync.Mutex
	seq   uint32
	used  bool
	busy  bool
	sum   uint64
	cache []byte // the reply, if valid
	valid bool
}

// Turn is the execution of one request of a session. The zero Turn is none.
type Turn struct {
	session *Session
	slot    *slot
	// Replay: the request was executed before. Cached: its reply is available; otherwise the operation
	// behind SEQUENCE gets ErrRetryUncachedRep.
	Replay, Cached bool
}

// Begin begins the execution of a request (RFC 8881 2.10.6.1). A replay is not executed: Begin returns head with the
// cached reply appended.
func (se *Session) Begin(q *Sequence, head []byte, now time.Time) (Turn, []byte, proto.Status) {
	if q.Slot >= uint32(len(se.slots)) {
		return Turn{}, head, proto.ErrBadSlot
	}
	if q.Highest >= uint32(len(se.slots)) {
		return Turn{}, head, proto.ErrBadHighSlot
	}
	if q.Size > int(se.Fore.MaxRequest) {
		return Turn{}, head, proto.ErrReqTooBig
	}
	if q.Ops > int(se.Fore.MaxOps) {
		return Turn{}, head, proto.ErrTooManyOps
	}
	se.inFlight.Add(1)
	se.Client.inFlight.Add(1)
	if se.dead.Load() {
		se.leave()
		return Turn{}, head, proto.ErrBadSession
	}
	t, head, st := se.slots[q.Slot].begin(q, head)
	if st != proto.OK {
		se.leave()
		return Turn{}, head, st
	}
	se.conns.add(q.Conn) // with SP4_NONE, using a session binds the connection (RFC 8881 2.10.3.1)
	se.Client.Renew(now)
	t.session = se
	return t, head, proto.OK
}

func (sl *slot) begin(q *Sequence, head []byte) (Turn, []byte, proto.Status) {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	switch {
	case q.Seq == sl.seq && sl.used:
		switch {
		case sl.sum != q.Sum:
			return Turn{}, head, proto.ErrSeqFalseRetry
		case sl.busy:
			return Turn{}, head, proto.ErrDelay
		case sl.valid:
			return Turn{Replay: true, Cached: true}, append(head, sl.cache...), proto.OK
		}
		return Turn{Replay: true}, head, proto.OK
	case q.Seq != sl.seq+1:
		return Turn{}, head, proto.ErrSeqMisordered
	case sl.busy:
		return Turn{}, head, proto.ErrDelay
	}
	sl.seq, sl.used, sl.busy, sl.sum, sl.valid = q.Seq, true, true, q.Sum, false
	return Turn{slot: sl}, head, proto.OK
}

func (se *Session) leave() {
	se.Client.inFlight.Add(-1)
	se.inFlight.Add(-1)
}

// Session is the session of the request, or nil.
func (t *Turn) Session() *Session { return t.session }

// End ends the execution, at the time now. reply is kept for a retry, unless it is nil.
func (t *Turn) End(reply []byte, now time.Time) {
	if t.session == nil {
		return
	}
	if sl := t.slot; sl != nil {
		sl.mu.Lock()
		sl.busy = false
		if reply != nil {
			sl.cache, sl.valid = append(sl.cache[:0], reply...), true
		}
		sl.mu.Unlock()
	}
	t.session.Client.Renew(now)
	t.session.leave()
	*t = Turn{}
}
