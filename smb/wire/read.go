package wire

// Flags of READ requests (MS-SMB2 2.2.19).
const (
	ReadFlagUnbuffered        = 0x01
	ReadFlagRequestCompressed = 0x02
)

// ReadRequest is an SMB2 READ Request (MS-SMB2 2.2.19).
type ReadRequest struct {
	Padding        uint8 // offset from the header at which the client would like the data in the response
	Flags          uint8
	Length         uint32 // bytes
	Offset         uint64 // bytes
	FileID         FileID
	MinimumCount   uint32 // bytes
	Channel        Channel
	RemainingBytes uint32
	ChannelInfo    []byte
}

// ParseReadRequest reads the request msg.
func ParseReadRequest(msg []byte) (r ReadRequest, err error) {
	b, err := body(msg, 49, 48)
	if err != nil {
		return r, err
	}
	r.Padding = b[2]
	r.Flags = b[3]
	r.Length = le.Uint32(b[4:])
	r.Offset = le.Uint64(b[8:])
	r.FileID = getFileID(b[16:])
	r.MinimumCount = le.Uint32(b[32:])
	r.Channel = Channel(le.Uint32(b[36:]))
	r.RemainingBytes = le.Uint32(b[40:])
	r.ChannelInfo, err = channelInfo(msg, r.Channel, le.Uint16(b[44:]), le.Uint16(b[46:]))
	return r, err
}

// Append appends the body of the request, whose header is at b[at:].
func (r *ReadRequest) Append(b []byte, at int) []byte {
	b = le.AppendUint16(b, 49)
	b = append(b, r.Padding, r.Flags)
	b = le.AppendUint32(b, r.Length)
	b = le.AppendUint64(b, r.Offset)
	b = r.FileID.append(b)
	b = le.AppendUint32(b, r.MinimumCount)
	b = le.AppendUint32(b, uint32(r.Channel))
	b = le.AppendUint32(b, r.RemainingBytes)
	n := len(r.ChannelInfo)
	if n == 0 {
		return zeros(b, 5) // the buffer has at least one byte
	}
	b = le.AppendUint16(b, uint16(len(b)+4-at))
	b = le.AppendUint16(b, uint16(n))
	return append(b, r.ChannelInfo...)
}

// ReadResponseLen is the length of the fixed part of the body of a READ response.
const ReadResponseLen = 16

// ReadResponseRDMATransform is the flag of a READ response whose data begins with an RDMA transform (MS-SMB2 2.2.20).
const ReadResponseRDMATransform uint32 = 0x00000001

// ReadResponse is an SMB2 READ Response (MS-SMB2 2.2.20).
type ReadResponse struct {
	DataOffset    uint8  // from the header; 0 if there is no data
	DataLength    uint32 // bytes of data in the response
	DataRemaining uint32 // bytes that were placed by RDMA
	Flags         uint32 // of 3.1.1
	Data          []byte // of a parsed response
}

// Append appends the fixed part of the body. The caller sends the data, which begins at DataOffset.
func (r *ReadResponse) Append(b []byte, _ int) []byte {
	b = le.AppendUint16(b, 17)
	b = append(b, r.DataOffset, 0)
	b = le.AppendUint32(b, r.DataLength)
	b = le.AppendUint32(b, r.DataRemaining)
	return le.AppendUint32(b, r.Flags)
}

// ParseReadResponse reads the response msg.
func ParseReadResponse(msg []byte) (r ReadResponse, err error) {
	b, err := body(msg, 17, ReadResponseLen)
	if err != nil {
		return r, err
	}
	r.DataOffset = b[2]
	r.DataLength = le.Uint32(b[4:])
	r.DataRemaining = le.Uint32(b[8:])
	r.Flags = le.Uint32(b[12:])
	r.Data, err = span(msg, uint64(r.DataOffset), uint64(r.DataLength))
	return r, err
}
