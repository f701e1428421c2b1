package wire

import "bytes"

// SMB1Negotiate holds the fields of an SMB_COM_NEGOTIATE that matter to SMB2 (MS-SMB2 3.3.5.3, MS-CIFS 2.2.4.52.1).
type SMB1Negotiate struct {
	SMB202 bool // "SMB 2.002" is offered
	SMB2XX bool // "SMB 2.???" is offered
}

const (
	smb1HeaderLen    = 32
	smb1ComNegotiate = 0x72
)

// ParseSMB1Negotiate reads an SMB1 message, which must be SMB_COM_NEGOTIATE.
func ParseSMB1Negotiate(msg []byte) (n SMB1Negotiate, err error) {
	if len(msg) < smb1HeaderLen+3 || le.Uint32(msg) != ProtocolSMB1 || msg[4] != smb1ComNegotiate || msg[smb1HeaderLen] != 0 {
		return n, malformed("SMB1 message that is no negotiate")
	}
	b := msg[smb1HeaderLen+3:]
	count := int(le.Uint16(msg[smb1HeaderLen+1:]))
	if count > len(b) {
		return n, malformed("%d bytes of SMB1 dialects in %d", count, len(b))
	}
	for b = b[:count]; len(b) > 0; {
		end := bytes.IndexByte(b, 0)
		if b[0] != 2 || end < 0 {
			return n, malformed("SMB1 dialect")
		}
		switch string(b[1:end]) {
		case "SMB 2.002":
			n.SMB202 = true
		case "SMB 2.???":
			n.SMB2XX = true
		}
		b = b[end+1:]
	}
	return n, nil
}

// AppendSMB1Negotiate appends an SMB_COM_NEGOTIATE with the dialects. Clients and tests use it.
func AppendSMB1Negotiate(b []byte, dialects ...string) []byte {
	b = le.AppendUint32(b, ProtocolSMB1)
	b = append(b, smb1ComNegotiate)
	b = zeros(b, smb1HeaderLen-5+1)
	at := len(b)
	b = zeros(b, 2)
	for _, d := range dialects {
		b = append(append(append(b, 2), d...), 0)
	}
	put16(b, at, len(b)-at-2)
	return b
}
