package wire

// CompressionLen is the length of an unchained CompressionHeader.
const CompressionLen = 16

// CompressionFlagChained is the flag of a chained compression header (MS-SMB2 2.2.42).
const CompressionFlagChained uint16 = 0x0001

// CompressionHeader is an unchained SMB2 COMPRESSION_TRANSFORM_HEADER (MS-SMB2 2.2.42.1). If Flags have
// CompressionFlagChained, the header is a chained one: its payloads begin 8 bytes after its beginning
// ([ParseCompressionPayload]).
type CompressionHeader struct {
	OriginalSize uint32 // bytes of the compressed segment when uncompressed
	Algorithm    uint16
	Flags        uint16
	Offset       uint32 // bytes after the header that are not compressed
}

// ParseCompression reads the header at the beginning of b.
func ParseCompression(b []byte) (h CompressionHeader, err error) {
	if len(b) < CompressionLen || le.Uint32(b) != ProtocolCompress {
		return h, malformed("compression header in %d bytes", len(b))
	}
	return CompressionHeader{le.Uint32(b[4:]), le.Uint16(b[8:]), le.Uint16(b[10:]), le.Uint32(b[12:])}, nil
}

// Append appends the header.
func (h *CompressionHeader) Append(b []byte) []byte {
	b = le.AppendUint32(b, ProtocolCompress)
	b = le.AppendUint32(b, h.OriginalSize)
	b = le.AppendUint16(b, h.Algorithm)
	b = le.AppendUint16(b, h.Flags)
	return le.AppendUint32(b, h.Offset)
}

// CompressionPayload is an SMB2_COMPRESSION_CHAINED_PAYLOAD_HEADER and its data (MS-SMB2 2.2.42.2.1).
type CompressionPayload struct {
	Algorithm    uint16
	Flags        uint16
	OriginalSize uint32 // bytes when uncompressed
	Data         []byte
}

// compressionSized reports whether payloads of the algorithm have the field OriginalPayloadSize.
func compressionSized(algorithm uint16) bool {
	return algorithm != CompressionNone && algorithm != CompressionPatternV1
}

// PatternV1 is the data of a payload of CompressionPatternV1 (MS-SMB2 2.2.42.2.2).
type PatternV1 struct {
	Pattern     byte
	Repetitions uint32
}

// ParsePatternV1 reads the payload's data.
func ParsePatternV1(d []byte) (p PatternV1, err error) {
	if len(d) != 8 {
		return p, malformed("pattern of %d bytes", len(d))
	}
	return PatternV1{d[0], le.Uint32(d[4:])}, nil
}

// Append appends the payload's data.
func (p *PatternV1) Append(b []byte) []byte {
	return le.AppendUint32(append(b, p.Pattern, 0, 0, 0), p.Repetitions)
}

// ParseCompressionPayload reads the payload at the beginning of b and returns the bytes after it as rest. The first
// payload is 8 bytes after the beginning of a chained header.
func ParseCompressionPayload(b []byte) (p CompressionPayload, rest []byte, err error) {
	if len(b) < 8 {
		return p, nil, malformed("compression payload in %d bytes", len(b))
	}
	p.Algorithm = le.Uint16(b)
	p.Flags = le.Uint16(b[2:])
	n := uint64(le.Uint32(b[4:]))
	if b = b[8:]; n > uint64(len(b)) {
		return p, nil, malformed("compression payload of %d bytes in %d", n, len(b))
	}
	p.Data, rest = b[:n:n], b[n:]
	switch {
	case compressionSized(p.Algorithm):
		if n < 4 {
			return p, nil, malformed("compression payload of %d bytes", n)
		}
		p.OriginalSize, p.Data = le.Uint32(p.Data), p.Data[4:]
	case p.Algorithm == CompressionNone:
		p.OriginalSize = uint32(n)
	default:
		pattern, err := ParsePatternV1(p.Data)
		if err != nil {
			return p, nil, err
		}
		p.OriginalSize = pattern.Repetitions
	}
	return p, rest, nil
}

// Append appends the payload.
func (p *CompressionPayload) Append(b []byte) []byte {
	b = le.AppendUint16(b, p.Algorithm)
	b = le.AppendUint16(b, p.Flags)
	n := len(p.Data)
	if compressionSized(p.Algorithm) {
		b = le.AppendUint32(b, uint32(n+4))
		b = le.AppendUint32(b, p.OriginalSize)
	} else {
		b = le.AppendUint32(b, uint32(n))
	}
	return append(b, p.Data...)
}
