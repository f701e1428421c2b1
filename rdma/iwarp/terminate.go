package iwarp

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// TerminateCode is the cause in a Terminate message: layer (0 RDMAP, 1 DDP, 2
// MPA), error type and error code, RFC 5040 4.8 and the IANA registry "rddp".
type TerminateCode struct{ Layer, EType, Code uint8 }

// String is the code as layer/type/code.
func (c TerminateCode) String() string {
	return fmt.Sprintf("%d/%d/%#02x", c.Layer, c.EType, c.Code)
}

const (
	termM = 0x80 // the DDP segment length is present
	termD = 0x40 // the DDP header of the offending segment is present
	termR = 0x20 // its RDMAP header is present: a Read Request
)

// terminate is the Terminate message, RFC 5040 4.8.
type terminate struct {
	TerminateCode
	// offender is the ULPDU that caused it, or its headers at least; none if empty.
	offender []byte
	// length is the offender's ULPDU length.
	length int
}

var errTerminateShort = errors.New("truncated Terminate message")

// append writes the message's payload.
func (t *terminate) append(b []byte) []byte {
	b = append(b, t.Layer<<4|t.EType, t.Code)
	h := t.offender
	if len(h) < 2 {
		return append(b, 0, 0)
	}
	var s segment
	s.parseControl(h)
	n, bits := s.headerLen(), byte(termM|termD)
	if len(h) < n {
		return append(b, 0, 0)
	}
	if s.op == opReadRequest && !s.tagged && len(h) >= untaggedLen+readReqLen {
		n, bits = untaggedLen+readReqLen, bits|termR
	}
	b = append(b, bits, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(t.length))
	return append(b, h[:n]...)
}

// parseTerminate reads the payload of a Terminate message. offender aliases b.
func parseTerminate(b []byte) (t terminate, err error) {
	if len(b) < 4 {
		return t, errTerminateShort
	}
	t.TerminateCode = TerminateCode{Layer: b[0] >> 4, EType: b[0] & 0x0f, Code: b[1]}
	bits, b := b[2], b[4:]
	if bits&termM == 0 {
		return t, nil
	}
	if len(b) < 2 {
		return t, errTerminateShort
	}
	t.length, t.offender = int(binary.BigEndian.Uint16(b)), b[2:]
	return t, nil
}

// swapped is the code as Linux siw on little-endian machines means it: it writes
// layer and type with their nibbles exchanged.
func (c TerminateCode) swapped() TerminateCode {
	return TerminateCode{Layer: c.EType, EType: c.Layer, Code: c.Code}
}
