package wire

// SetInfoRequest is an SMB2 SET_INFO Request (MS-SMB2 2.2.39).
type SetInfoRequest struct {
	Type       InfoType
	Class      InfoClass
	Additional uint32
	FileID     FileID
	Input      []byte
}

// ParseSetInfoRequest reads the request msg.
func ParseSetInfoRequest(msg []byte) (r SetInfoRequest, err error) {
	b, err := body(msg, 33, 32)
	if err != nil {
		return r, err
	}
	r.Type = InfoType(b[2])
	r.Class = InfoClass(b[3])
	r.Additional = le.Uint32(b[12:])
	r.FileID = getFileID(b[16:])
	r.Input, err = span(msg, uint64(le.Uint16(b[8:])), uint64(le.Uint32(b[4:])))
	return r, err
}

// Append appends the body of the request, whose header is at b[at:].
func (r *SetInfoRequest) Append(b []byte, at int) []byte {
	off := len(b) - at + 32
	b = le.AppendUint16(b, 33)
	b = append(b, uint8(r.Type), uint8(r.Class))
	b = le.AppendUint32(b, uint32(len(r.Input)))
	b = le.AppendUint32(b, uint32(off))
	b = le.AppendUint32(b, r.Additional)
	b = r.FileID.append(b)
	if len(r.Input) == 0 {
		return append(b, 0) // the buffer has at least one byte
	}
	return append(b, r.Input...)
}

// AppendSetInfoResponse appends the body of an SMB2 SET_INFO Response (MS-SMB2 2.2.40).
func AppendSetInfoResponse(b []byte) []byte { return append(b, 2, 0) }

// ParseSetInfoResponse reads the response msg.
func ParseSetInfoResponse(msg []byte) error {
	_, err := body(msg, 2, 2)
	return err
}
