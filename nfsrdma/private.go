package nfsrdma

import "encoding/binary"

// Specification constants (RFC 8797 4).
const (
	privateMagic   = 0xf6ab0e18
	privateVersion = 1
	privateLen     = 8

	// flagInvalidate: the sender of the private data supports remote invalidation of its keys.
	flagInvalidate = 0x01

	// inlineDefault is the inline threshold, both ways, of a peer that states none (RFC 8166 3.3.2).
	inlineDefault = 1024
)

// privateData is the connection private data of RFC 8797.
type privateData struct {
	invalidate bool
	sendSize   int // the longest message its sender sends
	recvSize   int // the longest it can receive
}

func parsePrivate(b []byte) privateData {
	if len(b) < privateLen || binary.BigEndian.Uint32(b) != privateMagic || b[4] != privateVersion {
		return privateData{sendSize: inlineDefault, recvSize: inlineDefault}
	}
	return privateData{
		invalidate: b[5]&flagInvalidate != 0,
		sendSize:   (int(b[6]) + 1) << 10,
		recvSize:   (int(b[7]) + 1) << 10,
	}
}

// append appends the wire form, which rounds sizes down to multiples of 1 KiB, from 1 KiB to 256 KiB.
func (p privateData) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, privateMagic)
	var flags byte
	if p.invalidate {
		flags = flagInvalidate
	}
	return append(b, privateVersion, flags, wireSize(p.sendSize), wireSize(p.recvSize))
}

func wireSize(n int) byte { return byte(min(max(n>>10, 1), 256) - 1) }
