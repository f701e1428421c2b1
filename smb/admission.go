package smb

import (
	"fileserver/internal/slab"
	"fileserver/smb/wire"
)

// DefaultMaxHeld is how much data the requests of one connection hold at most, bytes: 64 READs of 1 MiB.
const DefaultMaxHeld = 64 << 20

// admit has a request wait that may hold more than the connection's budget has room for. What counts is the most that the
// request can hold: what its CreditCharge pays for, with what is around that, in a buffer of the pool. It counts until the
// buffers have been given back; those of the response, until it has left.
func (r *request) admit() wire.Status {
	n := 64 << 10
	if r.conn.largeMTU() {
		n *= int(max(r.hdr.CreditCharge, 1))
	}
	r.held = int64(slab.SizeOf(min(n+headroom+messageSlack, slab.MaxSize)))
	r.beginWait()
	if r.conn.budget.Admit(r.held, r) {
		r.wait = nil
		return wire.StatusSuccess
	}
	r.compound.flush() // what the message's requests before this one hold must leave: this may be waiting for that
	return statusParked
}

// Admitted implements [admission.Waiter].
func (r *request) Admitted() { r.ownWait.end(wire.StatusSuccess) }

// countBuffers counts the response's buffers in place of what the request has been admitted for.
func (r *request) countBuffers() {
	if r.held == 0 {
		return
	}
	b := r.conn.budget
	for _, buf := range [...]*slab.Buf{r.rsp, r.place.Buf} {
		if buf != nil {
			b.Add(int64(buf.Cap()))
			buf.SetOwner(b)
		}
	}
	b.Give(r.held)
	r.held = 0
}
