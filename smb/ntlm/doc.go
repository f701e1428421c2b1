// Package ntlm is the acceptor's side of NTLMv2 (MS-NLMP): the messages, the
// verification of a response, the message integrity code, and the signatures that
// SPNEGO needs. LM, NTLMv1 and NTLM2 session responses are refused. It is pure:
// messages in, messages out.
package ntlm

import (
	"crypto/hmac"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf16"

	//lint:ignore SA1019 the protocol requires MD4
	"golang.org/x/crypto/md4"
)

var le = binary.LittleEndian

// Flags of a negotiation (MS-NLMP 2.2.2.5).
type Flags uint32

// Flags that the acceptor knows.
const (
	flagUnicode       Flags = 1 << 0
	flagRequestTarget Flags = 1 << 2
	flagSign          Flags = 1 << 4
	flagSeal          Flags = 1 << 5
	flagNTLM          Flags = 1 << 9
	flagAnonymous     Flags = 1 << 11
	flagAlwaysSign    Flags = 1 << 15
	flagTargetServer  Flags = 1 << 17
	flagExtendedSec   Flags = 1 << 19
	flagTargetInfo    Flags = 1 << 23
	flagVersion       Flags = 1 << 25
	flag128           Flags = 1 << 29
	flagKeyExch       Flags = 1 << 30
	flag56            Flags = 1 << 31
	alwaysOffered           = flagUnicode | flagRequestTarget | flagNTLM | flagTargetServer | flagExtendedSec | flagTargetInfo | flagVersion
	offeredIfAskedFor       = flagSign | flagSeal | flagAlwaysSign | flag128 | flag56 | flagKeyExch
)

var signature = []byte("NTLMSSP\x00")

// Types of messages.
const (
	typeNegotiate    = 1
	typeChallenge    = 2
	typeAuthenticate = 3
)

// Limits of messages, which come before the client is authenticated.
const (
	maxMessage = 16 << 10
	maxName    = 1024 // bytes of a name
	maxPairs   = 64
)

// Errors of the exchange.
var (
	ErrMalformed = errors.New("ntlm: malformed message")
	ErrLogon     = errors.New("ntlm: logon failure")
	ErrOldScheme = errors.New("ntlm: the client answers with LM or NTLMv1, which are refused")
	ErrMIC       = errors.New("ntlm: wrong message integrity code")
)

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
}

// NTHash returns the hash of a password that is kept for NTLM: NTOWFv1 (MS-NLMP 3.3.1). The hash alone suffices to log on.
func NTHash(password string) (h [16]byte) {
	m := md4.New()
	m.Write(encode(password))
	m.Sum(h[:0])
	return h
}

func encode(s string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = le.AppendUint16(b, u)
	}
	return b
}

func decode(b []byte) string {
	u := make([]uint16, len(b)/2)
	for i := range u {
		u[i] = le.Uint16(b[2*i:])
	}
	return string(utf16.Decode(u))
}

func hmacMD5(key []byte, parts ...[]byte) []byte {
	h := hmac.New(md5.New, key)
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}

// messageType checks the beginning of a message and returns its type.
func messageType(b []byte) (uint32, error) {
	if len(b) < 12 || len(b) > maxMessage || string(b[:8]) != string(signature) {
		return 0, malformed("no NTLMSSP message of %d bytes", len(b))
	}
	return le.Uint32(b[8:]), nil
}

// field returns the bytes that the length, maximum length and offset at b[at:] describe.
func field(b []byte, at, limit int) ([]byte, error) {
	if len(b) < at+8 {
		return nil, malformed("field at %d of a message of %d bytes", at, len(b))
	}
	n, off := int64(le.Uint16(b[at:])), int64(le.Uint32(b[at+4:]))
	if n == 0 {
		return nil, nil
	}
	if n > int64(limit) || off+n > int64(len(b)) {
		return nil, malformed("field of %d bytes at %d of a message of %d", n, off, len(b))
	}
	return b[off : off+n : off+n], nil
}
