package xdr

import "encoding/binary"

var zeros [4]byte

// Pad is how many zero bytes follow n bytes of opaque data (RFC 4506 4.9).
func Pad(n int) int { return -n & 3 }

// AppendUint32 appends an unsigned integer, an enumeration or a length (RFC 4506 4.2).
func AppendUint32(b []byte, v uint32) []byte { return binary.BigEndian.AppendUint32(b, v) }

// AppendUint64 appends an unsigned hyper integer (RFC 4506 4.5).
func AppendUint64(b []byte, v uint64) []byte { return binary.BigEndian.AppendUint64(b, v) }

// AppendBool appends a boolean (RFC 4506 4.4).
func AppendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 0, 0, 0, 1)
	}
	return append(b, 0, 0, 0, 0)
}

// AppendFixed appends fixed-length opaque data, padded (RFC 4506 4.9).
func AppendFixed(b, data []byte) []byte {
	b = append(b, data...)
	return append(b, zeros[:Pad(len(data))]...)
}

// AppendOpaque appends variable-length opaque data, padded (RFC 4506 4.10).
func AppendOpaque(b, data []byte) []byte {
	return AppendFixed(AppendUint32(b, uint32(len(data))), data)
}

// AppendString appends a string, padded (RFC 4506 4.11).
func AppendString(b []byte, s string) []byte {
	b = AppendUint32(b, uint32(len(s)))
	b = append(b, s...)
	return append(b, zeros[:Pad(len(s))]...)
}

// PutUint32 overwrites the word at b[at:], reserved earlier by an append.
func PutUint32(b []byte, at int, v uint32) { binary.BigEndian.PutUint32(b[at:], v) }
