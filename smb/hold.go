package smb

import (
	"context"
	"sync"
	"sync/atomic"

	"fileserver/internal/slab"
	"fileserver/smb/wire"
)

// defaultMaxHeld is how much data the requests of one connection hold at most, bytes: 64 READs of 1 MiB.
const defaultMaxHeld = 64 << 20

// hold counts the data that a connection's requests hold, read or to be written, by RDMA or inline, from before they take
// their buffers until those are given back: for responses when they have left. A client that asks for much and
// takes nothing keeps its share of the pool, and no more. It implements slab.Owner for those buffers.
//
// mu is a leaf but for the workers' lock: buffers are given back with the transport's locks held.
type hold struct {
	limit int64
	held  atomic.Int64
	waits atomic.Int32 // waiting requests

	mu      sync.Mutex
	waiting []*request // first come, first served
}

// take admits a request that may hold n bytes, or refuses it. Whatever n is, one request alone is admitted.
func (h *hold) take(r *request, n int64) bool {
	if h.waits.Load() > 0 {
		return false
	}
	if sum := h.held.Add(n); sum > h.limit && sum != n {
		h.held.Add(-n)
		return false
	}
	r.held = n
	return true
}

// wait has a request go on, by admitted, as soon as it can be admitted.
func (h *hold) wait(r *request, n int64) {
	r.held = n
	h.mu.Lock()
	h.waits.Add(1)
	h.waiting = append(h.waiting, r)
	h.mu.Unlock()
	h.wake() // what was in the way may be gone by now
}

// give gives bytes back.
func (h *hold) give(n int64) {
	if h.held.Add(-n); h.waits.Load() > 0 {
		h.wake()
	}
}

// wake lets those go on that there is room for.
func (h *hold) wake() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.waiting) > 0 {
		r := h.waiting[0]
		if sum := h.held.Add(r.held); sum > h.limit && sum != r.held {
			h.held.Add(-r.held)
			return
		}
		h.waiting[0] = nil
		h.waiting = h.waiting[1:]
		h.waits.Add(-1)
		r.resume(admitted)
	}
}

// Released implements slab.Owner.
func (h *hold) Released(size int) { h.give(int64(size)) }

// admit has a request wait that may hold more than there is room for. Otherwise it is to go on at once. The most that it can
// hold is what its CreditCharge pays for, with what is around that, in a buffer of the pool.
func (r *request) admit() wire.Status {
	n := 64 << 10
	if r.conn.largeMTU() {
		n *= int(max(r.hdr.CreditCharge, 1))
	}
	weight := int64(slab.SizeOf(min(n+headroom+messageSlack, slab.MaxSize)))
	if r.conn.hold.take(r, weight) {
		return wire.StatusSuccess
	}
	r.chain.flush() // what the message's requests before hold must leave: this may be waiting for that
	r.conn.hold.wait(r, weight)
	return statusParked
}

// admitted goes on with a request that has waited.
func admitted(_ context.Context, r *request) wire.Status { return r.run(&commands[r.hdr.Command]) }

// settle makes what a request holds that of its response's buffers.
func (r *request) settle() {
	if r.held == 0 {
		return
	}
	h := &r.conn.hold
	if b := r.rsp; b != nil {
		h.held.Add(int64(b.Cap()))
		b.SetOwner(h)
	}
	if b := r.place.Buf; b != nil {
		h.held.Add(int64(b.Cap()))
		b.SetOwner(h)
	}
	h.give(r.held)
	r.held = 0
}
