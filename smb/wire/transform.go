package wire

// TransformLen is the length of a TransformHeader.
const TransformLen = 52

// TransformEncrypted is the flag of a TransformHeader: the message is encrypted (MS-SMB2 2.2.41).
const TransformEncrypted uint16 = 0x0001

// TransformHeader is an SMB2 TRANSFORM_HEADER (MS-SMB2 2.2.41).
type TransformHeader struct {
	Signature    [16]byte
	Nonce        [16]byte
	OriginalSize uint32 // bytes of the message
	Flags        uint16
	SessionID    uint64
}

// ParseTransform reads the header at the beginning of b.
func ParseTransform(b []byte) (h TransformHeader, err error) {
	if len(b) < TransformLen || le.Uint32(b) != ProtocolTransform {
		return h, malformed("transform header in %d bytes", len(b))
	}
	copy(h.Signature[:], b[4:])
	copy(h.Nonce[:], b[20:])
	h.OriginalSize = le.Uint32(b[36:])
	h.Flags = le.Uint16(b[42:])
	h.SessionID = le.Uint64(b[44:])
	return h, nil
}

// Append appends the header.
func (h *TransformHeader) Append(b []byte) []byte {
	b = le.AppendUint32(b, ProtocolTransform)
	b = append(b, h.Signature[:]...)
	b = append(b, h.Nonce[:]...)
	b = le.AppendUint32(b, h.OriginalSize)
	b = le.AppendUint16(b, 0)
	b = le.AppendUint16(b, h.Flags)
	return le.AppendUint64(b, h.SessionID)
}

// Put overwrites the header at the beginning of b, which has room for it.
func (h *TransformHeader) Put(b []byte) { h.Append(b[:0:TransformLen]) }

// TransformAuthenticated is the part of a transform header at the beginning of b that the
// signature protects beside the message: from the nonce to the end of the header (MS-SMB2 3.1.4.3).
func TransformAuthenticated(b []byte) []byte { return b[20:TransformLen:TransformLen] }
