package wire

// FlushRequest is an SMB2 FLUSH Request (MS-SMB2 2.2.17). Its response is empty.
type FlushRequest struct{ FileID FileID }

// ParseFlushRequest reads the request msg.
func ParseFlushRequest(msg []byte) (r FlushRequest, err error) {
	b, err := body(msg, 24, 24)
	if err != nil {
		return r, err
	}
	return FlushRequest{getFileID(b[8:])}, nil
}

// Append appends the body of the request.
func (r *FlushRequest) Append(b []byte, _ int) []byte {
	return r.FileID.append(append(b, 24, 0, 0, 0, 0, 0, 0, 0))
}
