package wire

// Flags of QUERY_DIRECTORY (MS-SMB2 2.2.33).
const (
	QueryDirectoryRestartScans      = 0x01
	QueryDirectoryReturnSingleEntry = 0x02
	QueryDirectoryIndexSpecified    = 0x04
	QueryDirectoryReopen            = 0x10
)

// QueryDirectoryRequest is an SMB2 QUERY_DIRECTORY Request (MS-SMB2 2.2.33). It is answered with an OutputResponse.
type QueryDirectoryRequest struct {
	Class        InfoClass
	Flags        uint8
	FileIndex    uint32
	FileID       FileID
	Pattern      []byte // UTF-16LE
	OutputLength uint32 // bytes
}

// ParseQueryDirectoryRequest reads the request msg.
func ParseQueryDirectoryRequest(msg []byte) (r QueryDirectoryRequest, err error) {
	b, err := body(msg, 33, 32)
	if err != nil {
		return r, err
	}
	r.Class = InfoClass(b[2])
	r.Flags = b[3]
	r.FileIndex = le.Uint32(b[4:])
	r.FileID = getFileID(b[8:])
	r.OutputLength = le.Uint32(b[28:])
	if r.Pattern, err = span(msg, uint64(le.Uint16(b[24:])), uint64(le.Uint16(b[26:]))); err == nil && len(r.Pattern)%2 != 0 {
		err = malformed("pattern of %d bytes", len(r.Pattern))
	}
	return r, err
}

// Append appends the body of the request, whose header is at b[at:].
func (r *QueryDirectoryRequest) Append(b []byte, at int) []byte {
	b = le.AppendUint16(b, 33)
	b = append(b, uint8(r.Class), r.Flags)
	b = le.AppendUint32(b, r.FileIndex)
	b = r.FileID.append(b)
	b = le.AppendUint16(b, uint16(len(b)+8-at))
	b = le.AppendUint16(b, uint16(len(r.Pattern)))
	b = le.AppendUint32(b, r.OutputLength)
	if len(r.Pattern) == 0 {
		return append(b, 0) // the buffer has at least one byte
	}
	return append(b, r.Pattern...)
}
