package crypt

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// Cipher encrypts messages (MS-SMB2 2.2.3.1.2).
type Cipher uint16

// Ciphers. Dialects 3.0 and 3.0.2 use CCM128.
const (
	NoCipher Cipher = 0
	CCM128   Cipher = 1
	GCM128   Cipher = 2
	CCM256   Cipher = 3
	GCM256   Cipher = 4
)

// KeyLen returns the length of the cipher's keys, bytes; 0 if the cipher is unknown.
func (c Cipher) KeyLen() int {
	switch c {
	case CCM128, GCM128:
		return keyLen128
	case CCM256, GCM256:
		return keyLen256
	}
	return 0
}

// String names the cipher.
func (c Cipher) String() string {
	switch c {
	case NoCipher:
		return "none"
	case CCM128:
		return "AES-128-CCM"
	case GCM128:
		return "AES-128-GCM"
	case CCM256:
		return "AES-256-CCM"
	case GCM256:
		return "AES-256-GCM"
	}
	return fmt.Sprintf("cipher %d", uint16(c))
}

// The SMB2 TRANSFORM_HEADER (MS-SMB2 2.2.41): protocol identifier, signature,
// nonce, original message size, reserved, flags, session ID.
const (
	TransformLen = 52

	transformProtocol  = 0x424d53fd
	transformSignature = 4
	transformNonce     = 20
	transformSize      = 36
	transformFlags     = 42
	transformSession   = 44

	flagEncrypted = 1 // Encrypted, or with 3.0 the algorithm AES-128-CCM
	ccmNonceLen   = 11
	gcmNonceLen   = 12
)

// Errors of transforms.
var (
	ErrTransform = errors.New("smb/crypt: malformed transform header")
	ErrNoRoom    = errors.New("smb/crypt: no room behind the message for its tag")
	ErrExhausted = errors.New("smb/crypt: the session has used all its nonces")
)

// Sealer encrypts, or decrypts, with one key. It is safe for concurrent use.
type Sealer struct {
	gcm  cipher.AEAD
	ccm  ccm
	pool sync.Pool // of *sealScratch

	salt uint32        // of the nonces
	next atomic.Uint64 // counter of the nonces: no value is used twice with one key
}

type sealScratch struct {
	ccm   ccmScratch
	nonce [gcmNonceLen]byte
}

// NewSealer returns a Sealer. The length of key must be the cipher's.
func NewSealer(c Cipher, key []byte) (*Sealer, error) {
	if c.KeyLen() == 0 || len(key) != c.KeyLen() {
		return nil, fmt.Errorf("smb/crypt: %v with a key of %d bytes", c, len(key))
	}
	b, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	s := &Sealer{}
	s.pool.New = func() any { return new(sealScratch) }
	var salt [4]byte
	_, _ = rand.Read(salt[:]) // never fails
	s.salt = binary.LittleEndian.Uint32(salt[:])
	if c == CCM128 || c == CCM256 {
		s.ccm = ccm{block: b, nonce: ccmNonceLen, tag: TagLen}
		return s, nil
	}
	s.gcm, err = cipher.NewGCM(b)
	return s, err
}

// Seal encrypts b[TransformLen:] in place and writes the transform header in front of it,
// into b[:TransformLen]. b has TagLen bytes of capacity behind its length.
func (s *Sealer) Seal(b []byte, session uint64) error {
	if cap(b)-len(b) < TagLen {
		return ErrNoRoom
	}
	n := s.next.Add(1)
	if n >= 1<<48 {
		return ErrExhausted
	}
	le := binary.LittleEndian
	h, text := b[:TransformLen], b[TransformLen:]
	clear(h)
	le.PutUint32(h, transformProtocol)
	le.PutUint64(h[transformNonce:], n)
	le.PutUint16(h[transformNonce+8:], uint16(s.salt))
	h[transformNonce+10] = byte(s.salt >> 16)
	if s.gcm != nil {
		h[transformNonce+11] = byte(s.salt >> 24)
	}
	le.PutUint32(h[transformSize:], uint32(len(text)))
	le.PutUint16(h[transformFlags:], flagEncrypted)
	le.PutUint64(h[transformSession:], session)
	x := s.pool.Get().(*sealScratch)
	defer s.pool.Put(x)
	var tag []byte
	if s.gcm != nil {
		copy(x.nonce[:], h[transformNonce:])
		out := s.gcm.Seal(text[:0], x.nonce[:], text, h[transformNonce:])
		tag = out[len(text):]
	} else {
		copy(x.nonce[:], h[transformNonce:transformNonce+ccmNonceLen])
		tag = s.ccm.seal(&x.ccm, x.nonce[:ccmNonceLen], text, h[transformNonce:])
	}
	copy(h[transformSignature:], tag)
	return nil
}

// SessionOf returns the session ID of a transformed message. It checks everything that can be checked without a key
// (MS-SMB2 3.3.5.2.1.1).
func SessionOf(b []byte) (uint64, error) {
	le := binary.LittleEndian
	if len(b) < TransformLen+headerLen || le.Uint32(b) != transformProtocol {
		return 0, ErrTransform
	}
	if le.Uint16(b[transformFlags:]) != flagEncrypted || uint64(le.Uint32(b[transformSize:])) != uint64(len(b)-TransformLen) {
		return 0, ErrTransform
	}
	return le.Uint64(b[transformSession:]), nil
}

// Open decrypts, in place, a message that SessionOf has accepted. It returns the plain text, b[TransformLen:]. b has
// TagLen bytes of capacity behind its length.
func (s *Sealer) Open(b []byte) ([]byte, error) {
	if cap(b)-len(b) < TagLen {
		return nil, ErrNoRoom
	}
	h, text := b[:TransformLen], b[TransformLen:]
	x := s.pool.Get().(*sealScratch)
	defer s.pool.Put(x)
	tag := h[transformSignature:transformNonce]
	if s.gcm == nil {
		copy(x.nonce[:], h[transformNonce:transformNonce+ccmNonceLen])
		if !s.ccm.open(&x.ccm, x.nonce[:ccmNonceLen], text, h[transformNonce:], tag) {
			return nil, ErrSignature
		}
		return text, nil
	}
	copy(x.nonce[:], h[transformNonce:])
	text = append(text, tag...) // into the room behind
	out, err := s.gcm.Open(text[:0], x.nonce[:], text, h[transformNonce:])
	if err != nil {
		return nil, ErrSignature
	}
	return out, nil
}
