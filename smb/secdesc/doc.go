// Package secdesc is Windows' access control as far as a server of POSIX files needs
// it: SIDs, access control lists and self-relative security descriptors (MS-DTYP 2.4), their
// text form for logs (2.5.1), and how they stand for owner, group and mode of a file.
//
// It is pure: bytes and numbers in, bytes and numbers out. Parsers check every length and
// offset, allocate in proportion to the bytes there are, and keep what they do not understand, such as
// the SIDs of virtual machines, as it is.
package secdesc

import (
	"encoding/binary"
	"errors"
	"fmt"
)

var le = binary.LittleEndian

// ErrMalformed is the error of every parser.
var ErrMalformed = errors.New("smb/secdesc: malformed security descriptor")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
}
