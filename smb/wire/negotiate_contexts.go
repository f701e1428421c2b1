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

// NegotiateContexts are negotiate contexts as they are on the wire, one after
// the other, checked (MS-SMB2 2.2.3.1). What is appended to them is aligned by Add.
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

// All yields type and data of every context.
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

// Len is how many contexts there are.
func (c NegotiateContexts) Len() int {
	n := 0
	for range c.All() {
		n++
	}
	return n
}

// Find is the data of the first context of type t, and how many of that type there are.
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

// algorithms reads a list of count 16-bit numbers from b, which has what follows it too.
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

// AppendAlgorithms appends the data of such a context.
func AppendAlgorithms[T ~uint16](b []byte, list ...T) []byte {
	return AppendUint16s(le.AppendUint16(b, uint16(len(list))), list...)
}
