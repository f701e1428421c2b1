// Package spnego is the acceptor's side of the negotiation of authentication mechanisms (RFC 4178, MS-SPNG): the tokens,
// and the exchange of the integrity code over the list of mechanisms. Mechanisms implement [Mechanism]. The acceptor also
// takes raw tokens of a mechanism, without SPNEGO around them.
package spnego

import (
	"errors"
	"fmt"
)

// Mechanism identifiers, as DER object identifiers without tag and length.
var (
	OIDSPNEGO = OID("\x2b\x06\x01\x05\x05\x02")                 // 1.3.6.1.5.5.2
	OIDNTLM   = OID("\x2b\x06\x01\x04\x01\x82\x37\x02\x02\x0a") // 1.3.6.1.4.1.311.2.2.10
	OIDKrb5   = OID("\x2a\x86\x48\x86\xf7\x12\x01\x02\x02")     // 1.2.840.113554.1.2.2
	OIDMSKrb5 = OID("\x2a\x86\x48\x82\xf7\x12\x01\x02\x02")     // 1.2.840.48018.1.2.2
)

// OID is an object identifier.
type OID string

// Errors of the negotiation.
var (
	ErrMalformed   = errors.New("spnego: malformed token")
	ErrNoMechanism = errors.New("spnego: no common mechanism")
	ErrMIC         = errors.New("spnego: wrong mechListMIC")
)

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
}
