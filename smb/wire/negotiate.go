package wire

import "fmt"

// Dialect is a dialect revision (MS-SMB2 2.2.3).
type Dialect uint16

// Dialects.
const (
	Dialect202 Dialect = 0x0202
	Dialect210 Dialect = 0x0210
	Dialect300 Dialect = 0x0300
	Dialect302 Dialect = 0x0302
	Dialect311 Dialect = 0x0311
	// DialectWildcard answers a multi-protocol negotiate and asks for an SMB2 NEGOTIATE.
	DialectWildcard Dialect = 0x02ff
)

// String returns the usual name of the dialect, without "SMB".
func (d Dialect) String() string {
	switch d {
	case Dialect202:
		return "2.0.2"
	case Dialect210:
		return "2.1"
	case Dialect300:
		return "3.0"
	case Dialect302:
		return "3.0.2"
	case Dialect311:
		return "3.1.1"
	case DialectWildcard:
		return "2.???"
	}
	return fmt.Sprintf("%#04x", uint16(d))
}

// SecurityMode of NEGOTIATE and SESSION_SETUP (MS-SMB2 2.2.3).
const (
	NegotiateSigningEnabled  = 0x01
	NegotiateSigningRequired = 0x02
)

// Capabilities is the set of optional features of a client or server (MS-SMB2 2.2.3, 2.2.4).
type Capabilities uint32

// Capabilities.
const (
	CapDFS               Capabilities = 0x00000001
	CapLeasing           Capabilities = 0x00000002
	CapLargeMTU          Capabilities = 0x00000004
	CapMultiChannel      Capabilities = 0x00000008
	CapPersistentHandles Capabilities = 0x00000010
	CapDirectoryLeasing  Capabilities = 0x00000020
	CapEncryption        Capabilities = 0x00000040
	CapNotifications     Capabilities = 0x00000080
)

// NegotiateRequest is an SMB2 NEGOTIATE Request (MS-SMB2 2.2.3).
type NegotiateRequest struct {
	SecurityMode uint16
	Capabilities Capabilities
	ClientGUID   GUID
	Dialects     Uint16s // of Dialect
	// Contexts exist if Dialects include 3.1.1.
	Contexts NegotiateContexts
}

// ParseNegotiateRequest reads the request msg.
func ParseNegotiateRequest(msg []byte) (r NegotiateRequest, err error) {
	b, err := body(msg, 36, 36)
	if err != nil {
		return r, err
	}
	r.SecurityMode = le.Uint16(b[4:])
	r.Capabilities = Capabilities(le.Uint32(b[8:]))
	r.ClientGUID = getGUID(b[12:])
	n := uint64(le.Uint16(b[2:]))
	if r.Dialects, err = span(msg, HeaderLen+36, 2*n); err != nil {
		return r, err
	}
	if r.Dialects.Has(uint16(Dialect311)) {
		r.Contexts, err = parseNegotiateContexts(msg, le.Uint32(b[28:]), le.Uint16(b[32:]))
	}
	return r, err
}

// Append appends the body of the request, whose header is at b[at:].
func (r *NegotiateRequest) Append(b []byte, at int) []byte {
	b = le.AppendUint16(b, 36)
	b = le.AppendUint16(b, uint16(r.Dialects.Len()))
	b = le.AppendUint16(b, r.SecurityMode)
	b = le.AppendUint16(b, 0)
	b = le.AppendUint32(b, uint32(r.Capabilities))
	b = append(b, r.ClientGUID[:]...)
	where := len(b)
	b = zeros(b, 8)
	b = append(b, r.Dialects...)
	if n := r.Contexts.Len(); n > 0 {
		b = pad(b, at, 8)
		put32(b, where, len(b)-at)
		put16(b, where+4, n)
		b = append(b, r.Contexts...)
	}
	return b
}

// NegotiateResponse is an SMB2 NEGOTIATE Response (MS-SMB2 2.2.4).
type NegotiateResponse struct {
	SecurityMode    uint16
	Dialect         Dialect
	ServerGUID      GUID
	Capabilities    Capabilities
	MaxTransactSize uint32 // bytes
	MaxReadSize     uint32 // bytes
	MaxWriteSize    uint32 // bytes
	SystemTime      Filetime
	StartTime       Filetime
	SecurityBuffer  []byte
	Contexts        NegotiateContexts // of 3.1.1
}

// Append appends the body of the response, whose header is at b[at:].
func (r *NegotiateResponse) Append(b []byte, at int) []byte {
	b = le.AppendUint16(b, 65)
	b = le.AppendUint16(b, r.SecurityMode)
	b = le.AppendUint16(b, uint16(r.Dialect))
	count := r.Contexts.Len()
	b = le.AppendUint16(b, uint16(count))
	b = append(b, r.ServerGUID[:]...)
	b = le.AppendUint32(b, uint32(r.Capabilities))
	b = le.AppendUint32(b, r.MaxTransactSize)
	b = le.AppendUint32(b, r.MaxReadSize)
	b = le.AppendUint32(b, r.MaxWriteSize)
	b = r.SystemTime.append(b)
	b = r.StartTime.append(b)
	b = le.AppendUint16(b, uint16(len(b)+8-at))
	b = le.AppendUint16(b, uint16(len(r.SecurityBuffer)))
	where := len(b)
	b = le.AppendUint32(b, 0)
	b = append(b, r.SecurityBuffer...)
	if count > 0 {
		b = pad(b, at, 8)
		put32(b, where, len(b)-at)
		b = append(b, r.Contexts...)
	}
	return b
}

// ParseNegotiateResponse reads the response msg.
func ParseNegotiateResponse(msg []byte) (r NegotiateResponse, err error) {
	b, err := body(msg, 65, 64)
	if err != nil {
		return r, err
	}
	r.SecurityMode = le.Uint16(b[2:])
	r.Dialect = Dialect(le.Uint16(b[4:]))
	r.ServerGUID = getGUID(b[8:])
	r.Capabilities = Capabilities(le.Uint32(b[24:]))
	r.MaxTransactSize = le.Uint32(b[28:])
	r.MaxReadSize = le.Uint32(b[32:])
	r.MaxWriteSize = le.Uint32(b[36:])
	r.SystemTime = getFiletime(b[40:])
	r.StartTime = getFiletime(b[48:])
	if r.SecurityBuffer, err = span(msg, uint64(le.Uint16(b[56:])), uint64(le.Uint16(b[58:]))); err != nil {
		return r, err
	}
	if r.Dialect == Dialect311 {
		r.Contexts, err = parseNegotiateContexts(msg, le.Uint32(b[60:]), le.Uint16(b[6:]))
	}
	return r, err
}
