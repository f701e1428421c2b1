package wire

// Compression algorithms (MS-SMB2 2.2.3.1.3).
const (
	CompressionNone        uint16 = 0x0000
	CompressionLZNT1       uint16 = 0x0001
	CompressionLZ77        uint16 = 0x0002
	CompressionLZ77Huffman uint16 = 0x0003
	CompressionPatternV1   uint16 = 0x0004
	CompressionLZ4         uint16 = 0x0005
)

// CompressionChained is the flag of a CompressionContext for chained compression (MS-SMB2 2.2.3.1.3).
const CompressionChained uint32 = 0x00000001

// CompressionContext is SMB2_COMPRESSION_CAPABILITIES (MS-SMB2 2.2.3.1.3).
type CompressionContext struct {
	Flags      uint32
	Algorithms Uint16s
}

// ParseCompressionContext reads the context's data.
func ParseCompressionContext(d []byte) (c CompressionContext, err error) {
	if len(d) < 8 {
		return c, malformed("compression context of %d bytes", len(d))
	}
	c.Flags = le.Uint32(d[4:])
	c.Algorithms, _, err = algorithms(d[8:], le.Uint16(d))
	return c, err
}

// Append appends the context's data.
func (c *CompressionContext) Append(b []byte) []byte {
	b = le.AppendUint16(b, uint16(c.Algorithms.Len()))
	b = le.AppendUint16(b, 0)
	b = le.AppendUint32(b, c.Flags)
	return append(b, c.Algorithms...)
}

// RDMA transforms (MS-SMB2 2.2.3.1.6).
const (
	RDMATransformNone       uint16 = 0x0000
	RDMATransformEncryption uint16 = 0x0001
	RDMATransformSigning    uint16 = 0x0002
)

// ParseRDMATransformContext reads the data of SMB2_RDMA_TRANSFORM_CAPABILITIES: the transforms (MS-SMB2 2.2.3.1.6).
func ParseRDMATransformContext(d []byte) (Uint16s, error) {
	if len(d) < 8 {
		return nil, malformed("RDMA transform context of %d bytes", len(d))
	}
	list, _, err := algorithms(d[8:], le.Uint16(d))
	return list, err
}

// AppendRDMATransformContext appends the data of that context.
func AppendRDMATransformContext(b []byte, transforms ...uint16) []byte {
	return AppendUint16s(zeros(le.AppendUint16(b, uint16(len(transforms))), 6), transforms...)
}

// AcceptTransportLevelSecurity is the flag of SMB2_TRANSPORT_CAPABILITIES (MS-SMB2 2.2.3.1.5).
const AcceptTransportLevelSecurity uint32 = 0x00000001

// ParseTransportContext reads the data of SMB2_TRANSPORT_CAPABILITIES: its flags (MS-SMB2 2.2.3.1.5).
func ParseTransportContext(d []byte) (flags uint32, err error) {
	if len(d) < 4 {
		return 0, malformed("transport context of %d bytes", len(d))
	}
	return le.Uint32(d), nil
}

// AppendTransportContext appends the data of that context.
func AppendTransportContext(b []byte, flags uint32) []byte { return le.AppendUint32(b, flags) }

// ParseNetnameContext reads the data of SMB2_NETNAME_NEGOTIATE_CONTEXT_ID: the server's name (MS-SMB2 2.2.3.1.4).
func ParseNetnameContext(d []byte) (string, error) { return UTF16(d) }

// PosixGUID identifies the SMB 3.1.1 POSIX extensions: it is what the negotiate context
// holds and what the create context is called (SMB 3.1.1 POSIX Extensions 2.2.3.1, 2.2.13.2.16).
var PosixGUID = GUID{0x93, 0xad, 0x25, 0x50, 0x9c, 0xb4, 0x11, 0xe7, 0xb4, 0x23, 0x83, 0xde, 0x96, 0x8b, 0xcd, 0x7c}

// ParsePosixContext reports whether the data of a PosixExtensionsAvailable context names
// the version of the extensions that PosixGUID is. The data is a list of versions.
func ParsePosixContext(d []byte) (bool, error) {
	if len(d) == 0 || len(d)%16 != 0 {
		return false, malformed("posix context of %d bytes", len(d))
	}
	for ; len(d) > 0; d = d[16:] {
		if getGUID(d) == PosixGUID {
			return true, nil
		}
	}
	return false, nil
}

// AppendPosixContext appends the data of that context.
func AppendPosixContext(b []byte) []byte { return append(b, PosixGUID[:]...) }
