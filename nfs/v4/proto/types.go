package proto

import (
	"fmt"

	"fileserver/nfs/xdr"
)

// Limits of the protocol (RFC 8881 3.1).
const (
	FHSize      = 128  // bytes of a file handle
	OpaqueLimit = 1024 // bytes of an owner, a scope
	// MaxName is the longest component decoded, bytes: anything longer is an XDR error, anything longer than the
	// file system allows is ErrNameTooLong.
	MaxName = 4096
)

// Other is the part of a stateid that names the state (RFC 8881 8.2.1).
type Other [12]byte

// StateID is a stateid4 (RFC 8881 3.3.12).
type StateID struct {
	Seq   uint32
	Other Other
}

// Special stateids (RFC 8881 8.2.3).
var (
	AnonymousStateID = StateID{}
	BypassStateID    = StateID{Seq: ^uint32(0), Other: Other{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}}
	CurrentStateID   = StateID{Seq: 1}
	InvalidStateID   = StateID{Seq: ^uint32(0)}
)

// IsSpecial reports whether the other field is one that no state has.
func (s *StateID) IsSpecial() bool {
	return s.Other == AnonymousStateID.Other || s.Other == BypassStateID.Other
}

// String is for logs.
func (s StateID) String() string { return fmt.Sprintf("%d:%x", s.Seq, s.Other) }

// DecodeStateID consumes a stateid4.
func DecodeStateID(d *xdr.Decoder) (s StateID) {
	s.Seq = d.Uint32()
	copy(s.Other[:], d.Fixed(len(s.Other)))
	return s
}

// Append appends a stateid4.
func (s *StateID) Append(b []byte) []byte {
	return append(xdr.AppendUint32(b, s.Seq), s.Other[:]...)
}

// SessionID is a sessionid4.
type SessionID [16]byte

// DecodeSessionID consumes a sessionid4.
func DecodeSessionID(d *xdr.Decoder) (s SessionID) {
	copy(s[:], d.Fixed(len(s)))
	return s
}

// Verifier is a verifier4.
type Verifier [8]byte

// DecodeVerifier consumes a verifier4.
func DecodeVerifier(d *xdr.Decoder) (v Verifier) {
	copy(v[:], d.Fixed(len(v)))
	return v
}

// ChannelAttrs are the properties of a channel of a session (RFC 8881 18.36.1).
type ChannelAttrs struct {
	HeaderPad         uint32
	MaxRequest        uint32 // bytes of a request, RPC header included
	MaxResponse       uint32
	MaxResponseCached uint32
	MaxOps            uint32
	MaxRequests       uint32 // slots
	IRD               []uint32
}

// DecodeChannelAttrs consumes a channel_attrs4.
func DecodeChannelAttrs(d *xdr.Decoder) (a ChannelAttrs) {
	a.HeaderPad, a.MaxRequest, a.MaxResponse = d.Uint32(), d.Uint32(), d.Uint32()
	a.MaxResponseCached, a.MaxOps, a.MaxRequests = d.Uint32(), d.Uint32(), d.Uint32()
	if d.Count(1, 4) == 1 {
		a.IRD = []uint32{d.Uint32()}
	}
	return a
}

// Append appends a channel_attrs4.
func (a *ChannelAttrs) Append(b []byte) []byte {
	for _, v := range [...]uint32{a.HeaderPad, a.MaxRequest, a.MaxResponse, a.MaxResponseCached, a.MaxOps, a.MaxRequests, uint32(len(a.IRD))} {
		b = xdr.AppendUint32(b, v)
	}
	for _, v := range a.IRD {
		b = xdr.AppendUint32(b, v)
	}
	return b
}
