package wire

import "iter"

// NegotiateContextType is the type of a negotiate context (MS-SMB2 2.2.3.1).
type NegotiateContextType uint16

// Negotiate context types.
const (
	PreauthIntegrityCapabilities NegotiateContextType = 0x0001
	EncryptionCapabilities       NegotiateContextType = 0x0002
	CompressionCapabilities      NegotiateContextType = 0x0003
	NetnameNegotiateContextID    NegotiateContextType = 0x0005
	TransportCapabilities        NegotiateContextType = 0x0006
	RDMATransformCapabilities    NegotiateContextType = 0x0007
	SigningCapabilities          NegotiateContextType = 0x0008
	PosixExtensionsAvailable     NegotiateContextType = 0x0100 // SMB 3.1.1 POSIX extensions
)

// NegotiateContexts is a list of negotiate contexts in wire form that has been checked (MS-SMB2 2.2.3.1). Add aligns
// each new context.
type NegotiateContexts []byte

// contextHeaderLen is the length of a context's type, length and reserved fields.
const contextHeaderLen = 8

func parseNegotiateContexts(msg []byte, off uint32, count uint16) (NegotiateContexts, error) {
	if count == 0 {
		return nil, nil
	}
	if off%8 != 0 || off < HeaderLen || uint64(off) > uint64(len(msg)) {
		return nil, malformed("negotiate contexts at offset %d", off)
	}
	b := msg[off:]
	end := uint64(0)
	for i := range count {
		if i > 0 {
			end = align(end, 8)
		}
		if end+contextHeaderLen > uint64(len(b)) {
			return nil, malformed("%d negotiate contexts in %d bytes", count, len(b))
		}
		end += contextHeaderLen + uint64(le.Uint16(b[end+2:]))
		if end > uint64(len(b)) {
			return nil, malformed("negotiate context ends at %d of %d", end, len(b))
		}
	}
	return NegotiateContexts(b[:end:end]), nil
}

// All yields the type and the data of every context.
func (c NegotiateContexts) All() iter.Seq2[NegotiateContextType, []byte] {
	return func(yield func(NegotiateContextType, []byte) bool) {
		for b := []byte(c); len(b) >= contextHeaderLen; {
			end := contextHeaderLen + uint64(le.Uint16(b[2:]))
			if end > uint64(len(b)) || !yield(NegotiateContextType(le.Uint16(b)), b[contextHeaderLen:end:end]) {
				return
			}
			b = b[min(align(end, 8), uint64(len(b))):]
		}
	}
}

// Len returns the number of contexts.
func (c NegotiateContexts) Len() int {
	n := 0
	for range c.All() {
		n++
	}
	return n
}

// Find returns the data of the first context of type t, and the number of contexts of that type.
func (c NegotiateContexts) Find(t NegotiateContextType) (data []byte, count int) {
	for typ, d := range c.All() {
		if typ == t {
			if count++; count == 1 {
				data = d
			}
		}
	}
	return data, count
}

// Add appends a context with the data that body appends.
func (c *NegotiateContexts) Add(t NegotiateContextType, body func([]byte) []byte) {
	b := pad(*c, 0, 8)
	b = le.AppendUint16(b, uint16(t))
	at := len(b)
	b = zeros(b, 6)
	b = body(b)
	put16(b, at, len(b)-at-6)
	*c = b
}

// algorithms reads a list of count 16-bit numbers at the beginning of b; more bytes may follow it.
func algorithms(b []byte, count uint16) (list Uint16s, rest []byte, err error) {
	n := 2 * int(count)
	if n > len(b) {
		return nil, nil, malformed("%d algorithms in %d bytes", count, len(b))
	}
	return Uint16s(b[:n:n]), b[n:], nil
}

// HashSHA512 is the only hash for preauthentication integrity (MS-SMB2 2.2.3.1.1).
const HashSHA512 uint16 = 0x0001

// PreauthContext is SMB2_PREAUTH_INTEGRITY_CAPABILITIES (MS-SMB2 2.2.3.1.1).
type PreauthContext struct {
	Hashes Uint16s
	Salt   []byte
}

// ParsePreauthContext reads the context's data.
func ParsePreauthContext(d []byte) (c PreauthContext, err error) {
	if len(d) < 4 {
		return c, malformed("preauth context of %d bytes", len(d))
	}
	salt := int(le.Uint16(d[2:]))
	hashes, rest, err := algorithms(d[4:], le.Uint16(d))
	if err != nil {
		return c, err
	}
	if salt > len(rest) {
		return c, malformed("salt of %d bytes in %d", salt, len(rest))
	}
	return PreauthContext{Hashes: hashes, Salt: rest[:salt:salt]}, nil
}

// Append appends the context's data.
func (c *PreauthContext) Append(b []byte) []byte {
	b = le.AppendUint16(b, uint16(c.Hashes.Len()))
	b = le.AppendUint16(b, uint16(len(c.Salt)))
	return append(append(b, c.Hashes...), c.Salt...)
}

// Cipher identifies an encryption algorithm (MS-SMB2 2.2.3.1.2).
type Cipher uint16

// Ciphers.
const (
	CipherAES128CCM Cipher = 0x0001
	CipherAES128GCM Cipher = 0x0002
	CipherAES256CCM Cipher = 0x0003
	CipherAES256GCM Cipher = 0x0004
)

// SigningAlgorithm identifies a signing algorithm (MS-SMB2 2.2.3.1.7).
type SigningAlgorithm uint16

// Signing algorithms.
const (
	SigningHMACSHA256 SigningAlgorithm = 0x0000
	SigningAESCMAC    SigningAlgorithm = 0x0001
	SigningAESGMAC    SigningAlgorithm = 0x0002
)

// ParseAlgorithms reads the data of an SMB2_ENCRYPTION_CAPABILITIES or SMB2_SIGNING_CAPABILITIES
// context: a counted list (MS-SMB2 2.2.3.1.2, 2.2.3.1.7).
func ParseAlgorithms(d []byte) (Uint16s, error) {
	if len(d) < 2 {
		return nil, malformed("context of %d bytes", len(d))
	}
	list, _, err := algorithms(d[2:], le.Uint16(d))
	return list, err
}

// AppendAlgorithms appends the data of a context that ParseAlgorithms reads.
func AppendAlgorithms[T ~uint16](b []byte, list ...T) []byte {
	return AppendUint16s(le.AppendUint16(b, uint16(len(list))), list...)
}

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

// AppendRDMATransformContext appends the data of SMB2_RDMA_TRANSFORM_CAPABILITIES.
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

// AppendTransportContext appends the data of SMB2_TRANSPORT_CAPABILITIES.
func AppendTransportContext(b []byte, flags uint32) []byte { return le.AppendUint32(b, flags) }

// ParseNetnameContext reads the data of SMB2_NETNAME_NEGOTIATE_CONTEXT_ID: the server's name (MS-SMB2 2.2.3.1.4).
func ParseNetnameContext(d []byte) (string, error) { return UTF16(d) }

// PosixGUID identifies the SMB 3.1.1 POSIX extensions: it is the data of the negotiate context and the name of the
// create context (SMB 3.1.1 POSIX Extensions 2.2.3.1, 2.2.13.2.16).
var PosixGUID = GUID{0x93, 0xad, 0x25, 0x50, 0x9c, 0xb4, 0x11, 0xe7, 0xb4, 0x23, 0x83, 0xde, 0x96, 0x8b, 0xcd, 0x7c}

// ParsePosixContext reports whether the data of a PosixExtensionsAvailable context, a list of versions of the
// extensions, includes PosixGUID.
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

// AppendPosixContext appends the data of a PosixExtensionsAvailable context.
func AppendPosixContext(b []byte) []byte { return append(b, PosixGUID[:]...) }
