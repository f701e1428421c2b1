package wire

// IoctlIsFsctl is the flag of an IOCTL request whose code is an FSCTL; there are no others (MS-SMB2 2.2.31).
const IoctlIsFsctl uint32 = 0x00000001

// IoctlRequest is an SMB2 IOCTL Request (MS-SMB2 2.2.31).
type IoctlRequest struct {
	Code              FsctlCode
	FileID            FileID
	Flags             uint32
	MaxInputResponse  uint32 // bytes
	MaxOutputResponse uint32 // bytes
	Input             []byte
	// OutputCount is the length of the request's output buffer. It should be 0: requests have none.
	OutputCount uint32
}

// ParseIoctlRequest reads the request msg.
func ParseIoctlRequest(msg []byte) (r IoctlRequest, err error) {
	b, err := body(msg, 57, 56)
	if err != nil {
		return r, err
	}
	r.Code = FsctlCode(le.Uint32(b[4:]))
	r.FileID = getFileID(b[8:])
	r.MaxInputResponse = le.Uint32(b[32:])
	r.OutputCount = le.Uint32(b[40:])
	r.MaxOutputResponse = le.Uint32(b[44:])
	r.Flags = le.Uint32(b[48:])
	r.Input, err = span(msg, uint64(le.Uint32(b[24:])), uint64(le.Uint32(b[28:])))
	return r, err
}

// Append appends the body of the request, whose header is at b[at:].
func (r *IoctlRequest) Append(b []byte, at int) []byte {
	b = le.AppendUint16(b, 57)
	b = le.AppendUint16(b, 0)
	b = le.AppendUint32(b, uint32(r.Code))
	b = r.FileID.append(b)
	b = le.AppendUint32(b, uint32(len(b)+32-at))
	b = le.AppendUint32(b, uint32(len(r.Input)))
	b = le.AppendUint32(b, r.MaxInputResponse)
	b = le.AppendUint32(b, 0)
	b = le.AppendUint32(b, r.OutputCount)
	b = le.AppendUint32(b, r.MaxOutputResponse)
	b = le.AppendUint32(b, r.Flags)
	b = le.AppendUint32(b, 0)
	if len(r.Input) == 0 {
		return append(b, 0) // the buffer has at least one byte
	}
	return append(b, r.Input...)
}

// IoctlResponse is an SMB2 IOCTL Response (MS-SMB2 2.2.32).
type IoctlResponse struct {
	Code   FsctlCode
	FileID FileID
	Input  []byte // only for FSCTLs that answer with their input
	Output []byte
}

// IoctlResponseLen is the length of the fixed part of the body of an IOCTL response.
const IoctlResponseLen = 48

// Append appends the body of the response, whose header is at b[at:].
func (r *IoctlResponse) Append(b []byte, at int) []byte {
	b = le.AppendUint16(b, 49)
	b = le.AppendUint16(b, 0)
	b = le.AppendUint32(b, uint32(r.Code))
	b = r.FileID.append(b)
	in := uint64(len(b) + 24 - at)
	out := align(in+uint64(len(r.Input)), 8)
	b = le.AppendUint32(b, uint32(in))
	b = le.AppendUint32(b, uint32(len(r.Input)))
	b = le.AppendUint32(b, uint32(out))
	b = le.AppendUint32(b, uint32(len(r.Output)))
	b = le.AppendUint64(b, 0)
	b = append(b, r.Input...)
	if len(r.Output) > 0 {
		b = append(pad(b, at, 8), r.Output...)
	}
	return b
}

// ParseIoctlResponse reads the response msg.
func ParseIoctlResponse(msg []byte) (r IoctlResponse, err error) {
	b, err := body(msg, 49, IoctlResponseLen)
	if err != nil {
		return r, err
	}
	r.Code = FsctlCode(le.Uint32(b[4:]))
	r.FileID = getFileID(b[8:])
	if r.Input, err = span(msg, uint64(le.Uint32(b[24:])), uint64(le.Uint32(b[28:]))); err != nil {
		return r, err
	}
	r.Output, err = span(msg, uint64(le.Uint32(b[32:])), uint64(le.Uint32(b[36:])))
	return r, err
}
