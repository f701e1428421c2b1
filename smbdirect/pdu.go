package smbdirect

import (
	"fileserver/rdma"
	"fileserver/smb/transport"
)

// pdu is a message on its way out.
type pdu struct {
	transport.Outgoing
	next *pdu           // in the list of unused ones
	segs []rdma.Segment // Into
	size int
	sent int
	at   int // index of the piece that is sent next
	off  int // bytes of that piece already sent
}

// fit returns how many unsent bytes the next n pieces hold.
func (p *pdu) fit(n int) int {
	size := -p.off
	for i := p.at; i < len(p.Pieces) && i < p.at+n; i++ {
		size += p.Pieces[i].Len
	}
	return size
}

// gather appends the next n bytes to op's SEND.
func (p *pdu) gather(op *rdma.SendOp, n int) {
	p.sent += n
	for n > 0 {
		piece := &p.Pieces[p.at]
		k := min(n, piece.Len-p.off)
		if k > 0 {
			op.SendFrom(piece.Buf.Retain(), piece.Off+p.off, k)
		}
		n -= k
		p.off += k
		if p.off == piece.Len {
			p.at, p.off = p.at+1, 0
		}
	}
}

// place appends the RDMA WRITEs of the data in Place. op keeps the first error.
func (p *pdu) place(op *rdma.SendOp) {
	for i := range p.Place {
		d := &p.Place[i]
		if i == 0 {
			_ = op.Write(d.Buf.Retain(), d.Off, d.Len, p.segs)
		} else {
			_ = op.WriteNext(d.Buf.Retain(), d.Off, d.Len)
		}
	}
}

// take makes the pdu carry o.
func (p *pdu) take(o *transport.Outgoing) {
	p.Pieces = append(p.Pieces[:0], o.Pieces...)
	p.Place = append(p.Place[:0], o.Place...)
	p.segs = appendSegments(p.segs[:0], o.Into)
	p.Invalidate, p.HasInvalidate = o.Invalidate, o.HasInvalidate
	p.size, p.sent, p.at, p.off, p.next = o.Len(), 0, 0, 0, nil
}

func appendSegments(s []rdma.Segment, from []transport.Descriptor) []rdma.Segment {
	for _, d := range from {
		s = append(s, rdma.Segment{Addr: d.Offset, Length: d.Length, RKey: d.Token})
	}
	return s
}
