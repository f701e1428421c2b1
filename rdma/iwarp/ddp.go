package iwarp

import "encoding/binary"

// DDP segment headers, RFC 5041 4. The first byte is DDP's, the second RDMAP's (RFC 5040 4.1).
const (
	ddpTagged  = 0x80
	ddpLast    = 0x40
	ddpVersion = 0x01 // mask 0x03
	rdmapVers  = 0x40 // mask 0xc0

	taggedLen   = 14 // control, STag, TO
	untaggedLen = 18 // control, reserved for the ULP, QN, MSN, MO
	readReqLen  = 28 // RDMAP's part of a Read Request
)

// opcode is an RDMAP operation, RFC 5040 4.1.
type opcode uint8

const (
	opWrite        opcode = 0
	opReadRequest  opcode = 1
	opReadResponse opcode = 2
	opSend         opcode = 3
	opSendInv      opcode = 4
	opSendSE       opcode = 5
	opSendSEInv    opcode = 6
	opTerminate    opcode = 7
)

// tagged reports whether the operation uses DDP's tagged buffer model.
func (o opcode) tagged() bool { return o == opWrite || o == opReadResponse }

func (o opcode) isSend() bool { return o >= opSend && o <= opSendSEInv }

func (o opcode) invalidates() bool { return o == opSendInv || o == opSendSEInv }

// Untagged queues, RFC 5040 5.1.
const (
	queueSend      = 0
	queueRead      = 1
	queueTerminate = 2
)

// segment is the header of one DDP segment.
type segment struct {
	op     opcode
	last   bool
	tagged bool
	stag   uint32 // tagged: where to place; untagged: the key to invalidate
	to     uint64 // tagged
	qn     uint32 // untagged, with msn and mo
	msn    uint32
	mo     uint32
	length int // payload, bytes
}

// headerLen is the length of the header.
func (s *segment) headerLen() int {
	if s.tagged {
		return taggedLen
	}
	return untaggedLen
}

// put writes the header to b and returns its length.
func (s *segment) put(b []byte) int {
	var c byte = ddpVersion
	if s.last {
		c |= ddpLast
	}
	if s.tagged {
		c |= ddpTagged
	}
	b[0], b[1] = c, rdmapVers|byte(s.op)
	binary.BigEndian.PutUint32(b[2:], s.stag)
	if s.tagged {
		binary.BigEndian.PutUint64(b[6:], s.to)
		return taggedLen
	}
	binary.BigEndian.PutUint32(b[6:], s.qn)
	binary.BigEndian.PutUint32(b[10:], s.msn)
	binary.BigEndian.PutUint32(b[14:], s.mo)
	return untaggedLen
}

// parseControl reads the two control bytes: enough to know the header's length.
func (s *segment) parseControl(b []byte) {
	s.tagged = b[0]&ddpTagged != 0
	s.last = b[0]&ddpLast != 0
	s.op = opcode(b[1] & 0x0f)
}

// parse reads the header of a ULPDU, of which b holds at least headerLen bytes
// and which is n bytes long. Versions and the operation are checked here.
func (s *segment) parse(b []byte, n int) Reason {
	s.parseControl(b)
	s.length = n - s.headerLen()
	switch {
	case b[0]&0x03 != ddpVersion:
		if s.tagged {
			return ReasonDDPVersionTagged
		}
		return ReasonDDPVersion
	case b[1]&0xc0 != rdmapVers:
		return ReasonRDMAPVersion
	case s.op > opTerminate, s.op.tagged() != s.tagged:
		return ReasonOpcode
	}
	s.stag = binary.BigEndian.Uint32(b[2:])
	if s.tagged {
		s.to = binary.BigEndian.Uint64(b[6:])
		return 0
	}
	s.qn = binary.BigEndian.Uint32(b[6:])
	s.msn = binary.BigEndian.Uint32(b[10:])
	s.mo = binary.BigEndian.Uint32(b[14:])
	return 0
}
