package iwarp

import "fileserver/rdma"

// rtr is the ready-to-receive frame that opens a peer-to-peer connection, RFC 6581 3.
type rtr uint8

const (
	rtrNone rtr = iota
	rtrWrite
	rtrRead
)

// Sizes of FPDUs by what is known of the peer.
const (
	fpduSoftware = maxFPDU // siw: a stream parser, any size
	fpduAdapter  = 16 << 10
	fpduUnknown  = 0 // one TCP segment
)

// terms is what both ends agreed on, from our point of view.
type terms struct {
	crc      bool
	rtr      rtr // who connects sends it, who accepts expects it
	ird, ord int
	fpdu     int // largest FPDU the peer likes; 0: one TCP segment
}

// policy is the part of a Config that negotiation needs.
type policy struct {
	crc    bool // ask for CRC
	p2p    bool // offer peer to peer when connecting
	rev    uint8
	maxIRD int
	maxORD int
}

func (p *policy) clamp(c rdma.ConnParams) (ird, ord int) {
	return max(0, min(c.IRD, p.maxIRD)), max(0, min(c.ORD, p.maxORD))
}

// peerParams turns the depths of a peer's frame around to our point of view.
func (p *policy) peerParams(f *mpaFrame) rdma.ConnParams {
	c := rdma.ConnParams{IRD: p.maxIRD, ORD: p.maxORD, PrivateData: f.Private}
	if f.Enhanced {
		if f.ORD != mpaDepth {
			c.IRD = int(f.ORD)
		}
		if f.IRD != mpaDepth {
			c.ORD = int(f.IRD)
		}
	}
	return c
}

// fpduFor judges a peer by its frame. Adapters always ask for CRC or for peer to
// peer; siw asks for neither and takes FPDUs of any size. One without CRC but
// with peer to peer is another of our kind, or a Chelsio adapter, which takes 16 KiB.
func fpduFor(f *mpaFrame) int {
	switch {
	case f.CRC:
		return fpduUnknown
	case f.PeerToPeer:
		return fpduAdapter
	}
	return fpduSoftware
}

// checkRequest says why a request cannot be served; nil if it can.
func checkRequest(f *mpaFrame) *Error {
	switch {
	case f.Rev < 1 || f.Rev > mpaRevision:
		return errorf(ReasonMPARevision, "the peer speaks MPA revision %d, supported are 1 and 2", f.Rev)
	case f.Reject:
		return errorf(ReasonMPAMalformed, "a request with the reject flag")
	case f.Markers:
		return errorf(ReasonMPAMarkers, "the peer asks for markers in the stream, which are not supported; switch them off there")
	}
	return nil
}

// answer makes the reply to a request that checkRequest let pass.
func (p *policy) answer(req *mpaFrame, c rdma.ConnParams) (mpaFrame, terms, *Error) {
	reply := mpaFrame{Reply: true, Rev: req.Rev, Enhanced: req.Enhanced, CRC: req.CRC || p.crc, Private: c.PrivateData}
	t := terms{crc: reply.CRC, fpdu: fpduFor(req)}
	peer := p.peerParams(req)
	t.ird, t.ord = p.clamp(c)
	t.ird, t.ord = min(t.ird, peer.IRD), min(t.ord, peer.ORD)
	if req.Enhanced && req.PeerToPeer {
		switch {
		case req.RTRWrite: // costs no depth and no answer
			t.rtr, reply.RTRWrite = rtrWrite, true
		case req.RTRRead:
			t.rtr, reply.RTRRead = rtrRead, true
			t.ird = max(t.ird, 1)
		default:
			return reply, t, errorf(ReasonMPARTR, "the peer offers no ready-to-receive frame but a zero-length SEND")
		}
		reply.PeerToPeer = true
	}
	reply.IRD, reply.ORD = uint16(t.ird), uint16(t.ord)
	return reply, t, nil
}

// refusal is the reply that refuses a request.
func refusal(req *mpaFrame, private []byte) mpaFrame {
	return mpaFrame{
		Reply: true, Reject: true, Rev: min(max(req.Rev, 1), mpaRevision), Enhanced: req.Enhanced, CRC: req.CRC,
		IRD: req.ORD, ORD: req.IRD, Private: private,
	}
}

// request makes a request.
func (p *policy) request(c rdma.ConnParams) mpaFrame {
	f := mpaFrame{Rev: p.rev, CRC: p.crc, Private: c.PrivateData}
	if p.rev >= 2 {
		ird, ord := p.clamp(c)
		f.Enhanced, f.IRD, f.ORD = true, uint16(ird), uint16(ord)
		f.PeerToPeer, f.RTRWrite, f.RTRRead = p.p2p, p.p2p, p.p2p
	}
	return f
}

// conclude judges the reply to a request. A reply that refuses is for the caller.
func (p *policy) conclude(req, reply *mpaFrame, c rdma.ConnParams) (terms, *Error) {
	t := terms{crc: req.CRC || reply.CRC, fpdu: fpduFor(reply)}
	t.ird, t.ord = p.clamp(c)
	switch {
	case reply.Rev > req.Rev:
		return t, errorf(ReasonMPARevision, "the peer answers with MPA revision %d", reply.Rev)
	case reply.Markers:
		return t, errorf(ReasonMPAMarkers, "the peer asks for markers in the stream, which are not supported; switch them off there")
	case !reply.Enhanced || !req.Enhanced:
		return t, nil
	}
	if reply.IRD != mpaDepth {
		t.ord = min(t.ord, int(reply.IRD))
	}
	if peer := int(reply.ORD); peer != mpaDepth {
		if peer > p.maxIRD {
			return t, errorf(ReasonInsufficientIRD, "the peer wants %d READs answered at once, the limit is %d", peer, p.maxIRD)
		}
		t.ird = peer
	}
	if reply.PeerToPeer && req.PeerToPeer {
		switch {
		case reply.RTRWrite:
			t.rtr = rtrWrite
		case reply.RTRRead:
			t.rtr, t.ord = rtrRead, max(t.ord, 1)
		default:
			return t, errorf(ReasonMPARTR, "the peer chose none of the ready-to-receive frames offered")
		}
	}
	return t, nil
}
