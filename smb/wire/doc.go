// Package wire is the SMB2 and SMB3 wire format (MS-SMB2 2.2, MS-FSCC 2): headers,
// one file per command, create contexts, negotiate contexts, information classes.
//
// A parser takes the bytes of one message from its header on, because offsets on the wire count from the header.
// A parsed request aliases those bytes. Responses are appended: every body has an Append method that takes the slice
// so far and, where offsets need it, the index at which the message's header begins in it. Parsers check every length
// and offset in 64 bits before use. They never allocate an amount that the peer claims.
//
// All numbers are little-endian; names are UTF-16LE (utf16.go).
package wire

import "encoding/binary"

var le = binary.LittleEndian
