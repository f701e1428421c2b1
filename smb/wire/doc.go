// Package wire is the SMB2 and SMB3 wire format (MS-SMB2 2.2, MS-FSCC 2): headers,
// one file per command, create contexts, negotiate contexts, information classes.
//
// Requests are parsed from the bytes of one message that begin with its header,
// because offsets on the wire count from there; what a parsed request holds
// aliases those bytes. Responses are appended: every body has an Append method
// that takes the slice so far and the index at which the message's header
// begins in it. Parsers check every length and offset in 64 bits before use, and
// allocate nothing by a number that the peer claims.
//
// All numbers are little-endian; names are UTF-16LE (utf16.go).
package wire

import "encoding/binary"

var le = binary.LittleEndian
