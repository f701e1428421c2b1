//go:build linux && cgo && rdmacore

package verbs

import (
	"slices"

	"fileserver/rdma"
)

// What the accepting side posts is held back until the peer is ready to use (RTU, IBA 12.6.9): on iWARP the connecting
// side must speak first (RFC 5044 7.1.2); elsewhere its queue pair may not be ready before the last message of its handshake
// is on the way. The peer is ready with the first RECV that completes or, where no first message is awaited, when the
// connection is established.

// heldWR is a request that is held back.
type heldWR struct {
	wr     rdma.SendWR
	inline kept
}

// holdLocked keeps a copy of a chain. The lock is sendMu.
func (q *qp) holdLocked(wrs []rdma.SendWR) error {
	sends, _ := q.h.outstanding()
	if len(q.held)+len(wrs)+sends > q.cfg.SendDepth {
		return rdma.ErrQueueFull
	}
	for _, wr := range wrs {
		h := heldWR{wr: wr}
		h.wr.SGL = slices.Clone(wr.SGL)
		if wr.Flags&rdma.SendInline != 0 {
			var sge rdma.SGE
			h.inline, sge = keep(wr.SGL)
			h.wr.SGL = []rdma.SGE{sge}
		}
		q.held = append(q.held, h)
	}
	return nil
}

// readyToUse posts what has been held back.
func (q *qp) readyToUse() {
	q.sendMu.Lock()
	defer q.sendMu.Unlock()
	if !q.awaitsRTU || q.state == qpFresh {
		return
	}
	q.awaitsRTU = false
	q.rcq.awaitRTU.Add(-1)
	if len(q.held) == 0 || q.state == qpDead {
		return // what is held is flushed in its turn
	}
	wrs := make([]rdma.SendWR, len(q.held))
	for i := range q.held {
		wrs[i] = q.held[i].wr
	}
	held := q.held
	q.held = nil
	if err := q.postLocked(wrs); err != nil {
		q.held = held // nothing was posted: flushed with the rest
		q.id.p.wg.Go(func() { q.id.end(rdma.Event{Type: rdma.EventFatal, Err: err}, false) })
		return
	}
	for _, h := range held {
		h.inline.free()
	}
}

// reapHeld takes what is held back, as flushed.
func (q *qp) reapHeld() (wcs []rdma.WC) {
	for _, h := range q.held {
		h.inline.free()
		wcs = append(wcs, rdma.WC{ID: h.wr.ID, Status: rdma.StatusWRFlushErr, Opcode: h.wr.Opcode, QPN: q.num})
	}
	q.held = nil
	return wcs
}
