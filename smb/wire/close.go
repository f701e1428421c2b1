package wire

// CloseFlagPostQueryAttrib asks for the attributes in the response to a CLOSE (MS-SMB2 2.2.15).
const CloseFlagPostQueryAttrib uint16 = 0x0001

// CloseRequest is an SMB2 CLOSE Request (MS-SMB2 2.2.15).
type CloseRequest struct {
	Flags  uint16
	FileID FileID
}

// ParseCloseRequest reads the request msg.
func ParseCloseRequest(msg []byte) (r CloseRequest, err error) {
	b, err := body(msg, 24, 24)
	if err != nil {
		return r, err
	}
	return CloseRequest{le.Uint16(b[2:]), getFileID(b[8:])}, nil
}

// Append appends the body of the request.
func (r *CloseRequest) Append(b []byte, _ int) []byte {
	b = le.AppendUint16(b, 24)
	b = le.AppendUint16(b, r.Flags)
	return r.FileID.append(le.AppendUint32(b, 0))
}

// CloseResponse is an SMB2 CLOSE Response (MS-SMB2 2.2.16). Without CloseFlagPostQueryAttrib everything is 0.
type CloseResponse struct {
	Flags          uint16
	CreationTime   Filetime
	LastAccessTime Filetime
	LastWriteTime  Filetime
	ChangeTime     Filetime
	AllocationSize uint64 // bytes
	EndOfFile      uint64 // bytes
	FileAttributes FileAttributes
}

// Append appends the body of the response.
func (r *CloseResponse) Append(b []byte, _ int) []byte {
	b = le.AppendUint16(b, 60)
	b = le.AppendUint16(b, r.Flags)
	b = le.AppendUint32(b, 0)
	b = r.CreationTime.append(b)
	b = r.LastAccessTime.append(b)
	b = r.LastWriteTime.append(b)
	b = r.ChangeTime.append(b)
	b = le.AppendUint64(b, r.AllocationSize)
	b = le.AppendUint64(b, r.EndOfFile)
	return le.AppendUint32(b, uint32(r.FileAttributes))
}

// ParseCloseResponse reads the response msg.
func ParseCloseResponse(msg []byte) (r CloseResponse, err error) {
	b, err := body(msg, 60, 60)
	if err != nil {
		return r, err
	}
	r.Flags = le.Uint16(b[2:])
	r.CreationTime = getFiletime(b[8:])
	r.LastAccessTime = getFiletime(b[16:])
	r.LastWriteTime = getFiletime(b[24:])
	r.ChangeTime = getFiletime(b[32:])
	r.AllocationSize = le.Uint64(b[40:])
	r.EndOfFile = le.Uint64(b[48:])
	r.FileAttributes = FileAttributes(le.Uint32(b[56:]))
	return r, nil
}
