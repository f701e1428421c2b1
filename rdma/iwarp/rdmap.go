package iwarp

import "encoding/binary"

// readRequest is RDMAP's part of a Read Request, RFC 5040 4.4.
type readRequest struct {
	sinkSTag uint32
	sinkTO   uint64
	size     uint32
	srcSTag  uint32
	srcTO    uint64
}

// put writes the request to b, which has room for readReqLen bytes.
func (r *readRequest) put(b []byte) {
	binary.BigEndian.PutUint32(b[0:], r.sinkSTag)
	binary.BigEndian.PutUint64(b[4:], r.sinkTO)
	binary.BigEndian.PutUint32(b[12:], r.size)
	binary.BigEndian.PutUint32(b[16:], r.srcSTag)
	binary.BigEndian.PutUint64(b[20:], r.srcTO)
}

// parseReadRequest reads a request; it says whether b has the one length a request has.
func parseReadRequest(b []byte) (r readRequest, ok bool) {
	if len(b) != readReqLen {
		return r, false
	}
	return readRequest{
		sinkSTag: binary.BigEndian.Uint32(b[0:]),
		sinkTO:   binary.BigEndian.Uint64(b[4:]),
		size:     binary.BigEndian.Uint32(b[12:]),
		srcSTag:  binary.BigEndian.Uint32(b[16:]),
		srcTO:    binary.BigEndian.Uint64(b[20:]),
	}, true
}
