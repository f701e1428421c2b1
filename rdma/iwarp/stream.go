package iwarp

import "encoding/binary"

// placement is where the payload of a segment goes. guard, if there is one, is
// pinned around each write to it.
type placement struct {
	cur   []byte
	rest  [][]byte
	guard *region
}

// place copies b, which is not longer than what is left.
func (p *placement) place(b []byte) {
	for len(b) > 0 {
		n := copy(p.cur, b)
		b = b[n:]
		p.advance(n)
	}
}

// advance skips n bytes that are in place.
func (p *placement) advance(n int) {
	for n >= len(p.cur) && len(p.rest) > 0 {
		n -= len(p.cur)
		p.cur, p.rest = p.rest[0], p.rest[1:]
	}
	p.cur = p.cur[n:]
}

// segmentHandler decides about segments. The stream calls it in the order of the stream.
type segmentHandler interface {
	// begin is given a header, and says where the payload goes. Where s.op is
	// a Read Request or a Terminate the payload is in control, whole.
	begin(s *segment, control []byte) (placement, Reason)
	// end says that the segment's payload is in place and its FPDU complete.
	end(s *segment) Reason
}

// stream is the inbound stream machine: bytes in, segments placed. It takes the
// stream in pieces of any size. With CRC it places nothing that is not verified.
type stream struct {
	h   segmentHandler
	crc bool

	inSeg bool // between begin and end
	seg   segment
	dst   placement
	left  int // payload bytes missing
	trail int // padding and CRC bytes missing
	fpdus uint64
	large int                            // counts down the FPDUs since a large one
	raw   [untaggedLen + readReqLen]byte // the segment's headers, for a Terminate
	rawN  int
	ulpdu int
}

// consume works on b, the stream from where the last call left off, and returns
// how many bytes it is done with. The rest must come again with more behind it;
// an FPDU in memory (64 KiB) is always enough to go on.
func (s *stream) consume(b []byte) (n int, r Reason) {
	for {
		if !s.inSeg {
			k, r := s.header(b[n:])
			if r != 0 || k == 0 {
				return n, r
			}
			n += k
		}
		if s.left > 0 {
			k := min(s.left, len(b)-n)
			if k == 0 {
				return n, 0
			}
			if r := s.take(b[n : n+k]); r != 0 {
				return n, r
			}
			n += k
			if s.left > 0 {
				return n, 0
			}
		}
		k := min(s.trail, len(b)-n)
		n, s.trail = n+k, s.trail-k
		if s.trail > 0 {
			return n, 0
		}
		s.inSeg = false
		s.fpdus++
		if r := s.h.end(&s.seg); r != 0 {
			return n, r
		}
	}
}

// header begins a segment, once enough of it is in b: 0, 0 means not yet.
func (s *stream) header(b []byte) (int, Reason) {
	if len(b) < fpduLengthLen+2 {
		return 0, 0
	}
	s.ulpdu = int(binary.BigEndian.Uint16(b))
	s.seg.parseControl(b[fpduLengthLen:])
	hdr := s.seg.headerLen()
	short := s.ulpdu < hdr
	// What is short, or concerns the connection as a whole, is looked at when it is there in full.
	control := !s.seg.tagged && (s.seg.op == opReadRequest || s.seg.op == opTerminate)
	need := fpduLengthLen + hdr
	if s.crc || short || control {
		need = fpduLen(s.ulpdu)
	}
	if len(b) < need {
		return 0, 0
	}
	s.rawN = copy(s.raw[:], b[fpduLengthLen:min(len(b), fpduLengthLen+s.ulpdu)])
	if s.crc && !checkCRC(b, s.ulpdu) {
		return 0, ReasonCRC
	}
	if short {
		return 0, ReasonShortFPDU
	}
	if r := s.seg.parse(b[fpduLengthLen:], s.ulpdu); r != 0 {
		return 0, r
	}
	if s.ulpdu >= largeFPDU {
		s.large = largeRun
	} else if s.large > 0 {
		s.large--
	}
	n := fpduLengthLen + hdr
	s.left = s.seg.length
	s.trail = fpduPad(s.ulpdu) + fpduCRCLen
	var payload []byte
	if control {
		payload = b[n : n+s.left]
		n, s.left = n+s.left, 0
	}
	dst, r := s.h.begin(&s.seg, payload)
	if r != 0 {
		return 0, r
	}
	s.dst, s.inSeg = dst, true
	s.dst.advance(0)
	return n, 0
}

// take places payload.
func (s *stream) take(b []byte) Reason {
	if g := s.dst.guard; g != nil {
		if !g.acquire() {
			return ReasonSTag
		}
		defer g.release()
	}
	s.dst.place(b)
	s.left -= len(b)
	return 0
}

// skip notes that n bytes of payload have been placed without the stream's help.
func (s *stream) skip(n int) {
	s.dst.advance(n)
	s.left -= n
}

// offender is the segment at fault, as far as it is known.
func (s *stream) offender() (headers []byte, length int) { return s.raw[:s.rawN], s.ulpdu }
