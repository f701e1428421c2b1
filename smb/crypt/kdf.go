package crypt

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
)

// Dialect is an SMB2 dialect (MS-SMB2 2.2.3).
type Dialect uint16

// Dialects.
const (
	SMB202 Dialect = 0x0202
	SMB210 Dialect = 0x0210
	SMB300 Dialect = 0x0300
	SMB302 Dialect = 0x0302
	SMB311 Dialect = 0x0311
)

// Labels and contexts of the key derivation, each with its terminating zero (MS-SMB2 3.1.4.2, 3.3.5.5.3).
const (
	labelSign30, contextSign30 = "SMB2AESCMAC\x00", "SmbSign\x00"
	labelCrypt30               = "SMB2AESCCM\x00"
	contextToServer30          = "ServerIn \x00"
	contextToClient30          = "ServerOut\x00"
	labelApp30, contextApp30   = "SMB2APP\x00", "SmbRpc\x00"
	labelSign311               = "SMBSigningKey\x00"
	labelToServer311           = "SMBC2SCipherKey\x00"
	labelToClient311           = "SMBS2CCipherKey\x00"
	labelApp311                = "SMBAppKey\x00"
	keyLen128, keyLen256       = 16, 32
)

// kdf is the key derivation of SP 800-108 in counter mode with HMAC-SHA256, r and
// L of 32 bits (MS-SMB2 3.1.4.2). n is 16 or 32 bytes: one block.
func kdf(key []byte, label string, context []byte, n int) []byte {
	h := hmac.New(sha256.New, key)
	var word [4]byte
	binary.BigEndian.PutUint32(word[:], 1)
	h.Write(word[:])
	h.Write([]byte(label))
	h.Write([]byte{0})
	h.Write(context)
	binary.BigEndian.PutUint32(word[:], uint32(n*8))
	h.Write(word[:])
	return h.Sum(nil)[:n]
}

// Keys are the keys of a session, or of one of its channels (MS-SMB2 3.3.1.8, 3.3.1.14).
type Keys struct {
	Signing     []byte
	ToServer    []byte // the client encrypts with it
	ToClient    []byte // the server encrypts with it
	Application []byte
}

// DeriveKeys derives the keys of a session from the key of its authentication, which may have any length. Only its first
// 16 bytes count, but the 256-bit ciphers use all of it. preauth is the hash of the exchange, with 3.1.1. cipher is 0 if
// none was negotiated.
func DeriveKeys(d Dialect, session []byte, preauth *[64]byte, cipher Cipher) Keys {
	short := make([]byte, keyLen128)
	copy(short, session)
	if d < SMB300 {
		return Keys{Signing: short, Application: short}
	}
	from, n := short, keyLen128
	if cipher.KeyLen() == keyLen256 {
		from, n = session, keyLen256
	}
	if d < SMB311 {
		return Keys{
			Signing:     kdf(short, labelSign30, []byte(contextSign30), keyLen128),
			ToServer:    kdf(from, labelCrypt30, []byte(contextToServer30), n),
			ToClient:    kdf(from, labelCrypt30, []byte(contextToClient30), n),
			Application: kdf(short, labelApp30, []byte(contextApp30), keyLen128),
		}
	}
	return Keys{
		Signing:     kdf(short, labelSign311, preauth[:], keyLen128),
		ToServer:    kdf(from, labelToServer311, preauth[:], n),
		ToClient:    kdf(from, labelToClient311, preauth[:], n),
		Application: kdf(short, labelApp311, preauth[:], keyLen128),
	}
}
