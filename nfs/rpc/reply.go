package rpc

import (
	"fileserver/internal/slab"
	"fileserver/nfs/xdr"
)

// Payload is bulk data of a reply, by reference.
type Payload struct {
	Pos      int       // where in Head it belongs: right behind its length word
	Buf      *slab.Buf // one reference, the reply's
	Off, Len int       // which bytes of Buf
	// Placeable: eligible for direct placement (RFC 8267); otherwise the transport keeps it in the stream.
	Placeable bool
}

// Bytes is the data.
func (p *Payload) Bytes() []byte { return p.Buf.Bytes()[p.Off : p.Off+p.Len] }

// Reply is the reply to one call: an RPC message of which the payloads have been taken
// out, with their pads. A transport puts them back in (TCP), or places them in the client's memory
// (RDMA). The transport releases the payloads.
type Reply struct {
	// Head is the message without payloads and their pads. Programs append to it.
	Head     []byte
	Payloads []Payload
}

// Reset makes an empty reply whose Head is built in b[:0].
func (r *Reply) Reset(b []byte) {
	r.ReleasePayloads()
	r.Head = b[:0]
}

// AppendPayload appends buf[off:off+n] as variable-length opaque data, by
// reference, and takes over the caller's reference to buf. Empty data is
// inline: nothing to place, though its place counts as used.
func (r *Reply) AppendPayload(buf *slab.Buf, off, n int, placeable bool) {
	r.Head = xdr.AppendUint32(r.Head, uint32(n))
	r.Payloads = append(r.Payloads, Payload{Pos: len(r.Head), Buf: buf, Off: off, Len: n, Placeable: placeable})
}

// Len is the length of the whole message, payloads and pads included.
func (r *Reply) Len() int {
	n := len(r.Head)
	for i := range r.Payloads {
		n += r.Payloads[i].Len + xdr.Pad(r.Payloads[i].Len)
	}
	return n
}

// Mark is a state of a reply to return to.
type Mark struct{ head, payloads int }

// Mark remembers the state of the reply.
func (r *Reply) Mark() Mark { return Mark{len(r.Head), len(r.Payloads)} }

// Rollback takes back what was appended since the mark, and releases its payloads.
func (r *Reply) Rollback(m Mark) {
	r.Head = r.Head[:m.head]
	for i := m.payloads; i < len(r.Payloads); i++ {
		r.Payloads[i].Buf.Release()
	}
	clear(r.Payloads[m.payloads:])
	r.Payloads = r.Payloads[:m.payloads]
}

// ReleasePayloads gives back all payload buffers.
func (r *Reply) ReleasePayloads() {
	for i := range r.Payloads {
		r.Payloads[i].Buf.Release()
	}
	clear(r.Payloads)
	r.Payloads = r.Payloads[:0]
}

// AppendInline appends the whole message to b, payloads and pads in their places: for
// transports that must copy, and for tests.
func (r *Reply) AppendInline(b []byte) []byte {
	at := 0
	for i := range r.Payloads {
		p := &r.Payloads[i]
		b = append(b, r.Head[at:p.Pos]...)
		b = xdr.AppendFixed(b, p.Bytes())
		at = p.Pos
	}
	return append(b, r.Head[at:]...)
}
