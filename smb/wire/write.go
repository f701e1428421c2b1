package wire

// Flags of WRITE requests (MS-SMB2 2.2.21).
const (
	WriteFlagWriteThrough uint32 = 0x00000001
	WriteFlagUnbuffered   uint32 = 0x00000002
)

// WriteRequestLen is the length of the fixed part of a WRITE request's body.
const WriteRequestLen = 48

// WriteRequest is an SMB2 WRITE Request (MS-SMB2 2.2.21).
type WriteRequest struct {
	Offset         uint64 // bytes
	FileID         FileID
	Channel        Channel
	RemainingBytes uint32 // bytes to be read by RDMA, if there is a channel
	Flags          uint32
	ChannelInfo    []byte
	Data           []byte
}

// ParseWriteRequest reads the request msg.
func ParseWriteRequest(msg []byte) (r WriteRequest, err error) {
	b, err := body(msg, 49, WriteRequestLen)
	if err != nil {
		return r, err
	}
	r.Offset = le.Uint64(b[8:])
	r.FileID = getFileID(b[16:])
	r.Channel = Channel(le.Uint32(b[32:]))
	r.RemainingBytes = le.Uint32(b[36:])
	r.Flags = le.Uint32(b[44:])
	if r.Data, err = span(msg, uint64(le.Uint16(b[2:])), uint64(le.Uint32(b[4:]))); err != nil {
		return r, err
	}
	r.ChannelInfo, err = channelInfo(msg, r.Channel, le.Uint16(b[40:]), le.Uint16(b[42:]))
	return r, err
}

// Append appends the body of the request, whose header is at b[at:], channel info first.
func (r *WriteRequest) Append(b []byte, at int) []byte {
	b = append(r.AppendHead(b, at, len(r.Data)), r.Data...)
	if len(r.ChannelInfo)+len(r.Data) == 0 {
		b = append(b, 0) // the buffer has at least one byte
	}
	return b
}

// AppendHead appends the request without its data: the caller sends the data, n bytes, behind it.
func (r *WriteRequest) AppendHead(b []byte, at, n int) []byte {
	base := len(b) - at + WriteRequestLen
	dataAt := base + len(r.ChannelInfo)
	if n == 0 {
		dataAt = 0
	}
	b = le.AppendUint16(b, 49)
	b = le.AppendUint16(b, uint16(dataAt))
	b = le.AppendUint32(b, uint32(n))
	b = le.AppendUint64(b, r.Offset)
	b = r.FileID.append(b)
	b = le.AppendUint32(b, uint32(r.Channel))
	b = le.AppendUint32(b, r.RemainingBytes)
	if len(r.ChannelInfo) == 0 {
		base = 0
	}
	b = le.AppendUint16(b, uint16(base))
	b = le.AppendUint16(b, uint16(len(r.ChannelInfo)))
	b = le.AppendUint32(b, r.Flags)
	return append(b, r.ChannelInfo...)
}

// WriteResponse is an SMB2 WRITE Response (MS-SMB2 2.2.22).
type WriteResponse struct {
	Count uint32 // bytes written
}

// Append appends the body of the response.
func (r *WriteResponse) Append(b []byte, _ int) []byte {
	b = le.AppendUint16(b, 17)
	b = le.AppendUint16(b, 0)
	b = le.AppendUint32(b, r.Count)
	return le.AppendUint64(b, 0)
}

// ParseWriteResponse reads the response msg.
func ParseWriteResponse(msg []byte) (r WriteResponse, err error) {
	b, err := body(msg, 17, 16)
	if err != nil {
		return r, err
	}
	return WriteResponse{le.Uint32(b[4:])}, nil
}
