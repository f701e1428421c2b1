package wire

// OutputResponse is the response of QUERY_DIRECTORY, CHANGE_NOTIFY and QUERY_INFO. All three have the same layout
// (MS-SMB2 2.2.34, 2.2.36, 2.2.38).
type OutputResponse struct{ Output []byte }

// OutputResponseLen is the length of the fixed part of the body of an OutputResponse. The output follows it.
const OutputResponseLen = 8

// Append appends the body of the response, whose header is at b[at:].
func (r *OutputResponse) Append(b []byte, at int) []byte {
	return append(AppendOutputResponse(b, at, len(r.Output)), r.Output...)
}

// AppendOutputResponse appends the fixed part of the body, for n bytes of output that the
// caller appends. [PutOutputLength] corrects n afterwards.
func AppendOutputResponse(b []byte, at, n int) []byte {
	b = le.AppendUint16(b, 9)
	b = le.AppendUint16(b, uint16(len(b)+6-at))
	return le.AppendUint32(b, uint32(n))
}

// PutOutputLength sets the length of the output in b, a message from its header on.
func PutOutputLength(msg []byte, n int) { put32(msg, HeaderLen+4, n) }

// ParseOutputResponse reads the response msg.
func ParseOutputResponse(msg []byte) (r OutputResponse, err error) {
	b, err := body(msg, 9, OutputResponseLen)
	if err != nil {
		return r, err
	}
	r.Output, err = span(msg, uint64(le.Uint16(b[2:])), uint64(le.Uint32(b[4:])))
	return r, err
}
