package crypt

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"sync"
)

// Algorithm signs messages (MS-SMB2 2.2.3.1.7).
type Algorithm uint16

// Algorithms. The 2.x dialects use HMACSHA256. The 3.x dialects use AESCMAC, unless 3.1.1 negotiates another algorithm.
const (
	HMACSHA256 Algorithm = 0
	AESCMAC    Algorithm = 1
	AESGMAC    Algorithm = 2
)

// AlgorithmOf returns a dialect's algorithm if none has been negotiated.
func AlgorithmOf(d Dialect) Algorithm {
	if d < SMB300 {
		return HMACSHA256
	}
	return AESCMAC
}

// String names the algorithm.
func (a Algorithm) String() string {
	switch a {
	case HMACSHA256:
		return "HMAC-SHA256"
	case AESCMAC:
		return "AES-CMAC"
	case AESGMAC:
		return "AES-GMAC"
	}
	return fmt.Sprintf("algorithm %d", uint16(a))
}

// Offsets in the SMB2 header (MS-SMB2 2.2.1).
const (
	headerLen       = 64
	commandOffset   = 12
	flagsOffset     = 16
	messageIDOffset = 24
	signatureOffset = 48

	flagResponse  = 1 // SMB2_FLAGS_SERVER_TO_REDIR
	commandCancel = 12
)

// Signer signs with one key. It is safe for concurrent use.
type Signer struct {
	alg  Algorithm
	cmac cmac
	gmac cipher.AEAD
	pool sync.Pool // of *scratch
}

type scratch struct {
	hmac  hash.Hash
	sum   [sha256.Size]byte
	block [aes.BlockSize]byte
	nonce [12]byte
}

// NewSigner returns a Signer. The key has 16 bytes.
func NewSigner(alg Algorithm, key []byte) (*Signer, error) {
	s := &Signer{alg: alg}
	switch alg {
	case HMACSHA256:
		s.pool.New = func() any { return &scratch{hmac: hmac.New(sha256.New, key)} }
		return s, nil
	case AESCMAC, AESGMAC:
	default:
		return nil, fmt.Errorf("smb/crypt: unknown signing %v", alg)
	}
	b, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	s.cmac = newCMAC(b)
	s.gmac, err = cipher.NewGCM(b)
	s.pool.New = func() any { return new(scratch) }
	return s, err
}

// Sign signs msg, which begins with its header, in place (MS-SMB2 3.1.4.1).
func (s *Signer) Sign(msg []byte) {
	sig := msg[signatureOffset:headerLen]
	clear(sig)
	x := s.pool.Get().(*scratch)
	copy(sig, s.sum(x, msg, nil))
	s.pool.Put(x)
}

// SignParts is Sign for a message in two parts. The length of the first part is a multiple of 16 bytes. With AES-GMAC it
// copies the message.
func (s *Signer) SignParts(head, tail []byte) {
	sig := head[signatureOffset:headerLen]
	clear(sig)
	x := s.pool.Get().(*scratch)
	copy(sig, s.sum(x, head, tail))
	s.pool.Put(x)
}

// ErrSignature is the error of a message whose signature or tag is wrong.
var ErrSignature = errors.New("smb/crypt: wrong signature")

// Verify checks the signature of msg (MS-SMB2 3.1.5.1). The signature field is zero afterwards.
func (s *Signer) Verify(msg []byte) error {
	if len(msg) < headerLen {
		return ErrSignature
	}
	var got [TagLen]byte
	sig := msg[signatureOffset:headerLen]
	copy(got[:], sig)
	clear(sig)
	x := s.pool.Get().(*scratch)
	ok := subtle.ConstantTimeCompare(s.sum(x, msg, nil), got[:]) == 1
	s.pool.Put(x)
	if !ok {
		return ErrSignature
	}
	return nil
}

func (s *Signer) sum(x *scratch, head, tail []byte) []byte {
	switch s.alg {
	case HMACSHA256:
		x.hmac.Reset()
		x.hmac.Write(head)
		x.hmac.Write(tail)
		return x.hmac.Sum(x.sum[:0])[:TagLen]
	case AESCMAC:
		s.cmac.sum(&x.block, head, tail)
		return x.block[:]
	}
	// MS-SMB2 3.1.4.1: MessageId, then bit 0 for the server and bit 1 for CANCEL.
	copy(x.nonce[:8], head[messageIDOffset:])
	x.nonce[8] = head[flagsOffset] & flagResponse
	if binary.LittleEndian.Uint16(head[commandOffset:]) == commandCancel {
		x.nonce[8] |= 2
	}
	if len(tail) > 0 {
		head = append(append(make([]byte, 0, len(head)+len(tail)), head...), tail...)
	}
	return s.gmac.Seal(x.sum[:0], x.nonce[:], nil, head)
}
