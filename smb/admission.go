package smb

import (
	"fileserver/internal/slab"
	"fileserver/smb/wire"
)

// DefaultMaxHeld is the default of Config.MaxHeld, in bytes: enough for 64 READs of 1 MiB.
const DefaultMaxHeld = 64 << 20

// admit makes the request wait if it may hold more memory than the connection's budget has left. It counts the most
// that the request can hold: the data that its CreditCharge pays for, with the message around it, in a buffer of the
// pool. The amount counts until the request's buffers are released, and those of the response until it has been sent.
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
	r.compound.flush() // this request may be waiting for what the earlier requests of the message hold
	return statusParked
}

// Admitted implements [admission.Waiter].
func (r *request) Admitted() { r.ownWait.end(wire.StatusSuccess) }

// countBuffers replaces the amount that the request was admitted for by the size of the response's buffers.
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
