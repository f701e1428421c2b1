package wire

// Flags of SESSION_SETUP requests (MS-SMB2 2.2.5).
const SessionFlagBinding = 0x01

// Flags of SESSION_SETUP responses (MS-SMB2 2.2.6).
const (
	SessionFlagIsGuest     uint16 = 0x0001
	SessionFlagIsNull      uint16 = 0x0002
	SessionFlagEncryptData uint16 = 0x0004
)

// SessionSetupRequest is an SMB2 SESSION_SETUP Request (MS-SMB2 2.2.5).
type SessionSetupRequest struct {
	Flags             uint8
	SecurityMode      uint8
	Capabilities      Capabilities
	Channel           uint32
	PreviousSessionID uint64
	SecurityBuffer    []byte
}

// ParseSessionSetupRequest reads the request msg.
func ParseSessionSetupRequest(msg []byte) (r SessionSetupRequest, err error) {
	b, err := body(msg, 25, 24)
	if err != nil {
		return r, err
	}
	r.Flags = b[2]
	r.SecurityMode = b[3]
	r.Capabilities = Capabilities(le.Uint32(b[4:]))
	r.Channel = le.Uint32(b[8:])
	r.PreviousSessionID = le.Uint64(b[16:])
	r.SecurityBuffer, err = span(msg, uint64(le.Uint16(b[12:])), uint64(le.Uint16(b[14:])))
	return r, err
}

// Append appends the body of the request, whose header is at b[at:].
func (r *SessionSetupRequest) Append(b []byte, at int) []byte {
	b = le.AppendUint16(b, 25)
	b = append(b, r.Flags, r.SecurityMode)
	b = le.AppendUint32(b, uint32(r.Capabilities))
	b = le.AppendUint32(b, r.Channel)
	b = le.AppendUint16(b, uint16(len(b)+12-at))
	b = le.AppendUint16(b, uint16(len(r.SecurityBuffer)))
	b = le.AppendUint64(b, r.PreviousSessionID)
	return append(b, r.SecurityBuffer...)
}

// SessionSetupResponse is an SMB2 SESSION_SETUP Response (MS-SMB2 2.2.6).
type SessionSetupResponse struct {
	Flags          uint16
	SecurityBuffer []byte
}

// Append appends the body of the response, whose header is at b[at:].
func (r *SessionSetupResponse) Append(b []byte, at int) []byte {
	b = le.AppendUint16(b, 9)
	b = le.AppendUint16(b, r.Flags)
	b = le.AppendUint16(b, uint16(len(b)+4-at))
	b = le.AppendUint16(b, uint16(len(r.SecurityBuffer)))
	return append(b, r.SecurityBuffer...)
}

// ParseSessionSetupResponse reads the response msg.
func ParseSessionSetupResponse(msg []byte) (r SessionSetupResponse, err error) {
	b, err := body(msg, 9, 8)
	if err != nil {
		return r, err
	}
	r.Flags = le.Uint16(b[2:])
	r.SecurityBuffer, err = span(msg, uint64(le.Uint16(b[4:])), uint64(le.Uint16(b[6:])))
	return r, err
}
