package crypt

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/subtle"
	"encoding/binary"
)

// ccm is AES-CCM (RFC 3610, SP 800-38C) in place, with the tag apart. Nonces are
// of one length, tags of one length.
type ccm struct {
	block cipher.Block
	nonce int // bytes: 7 to 13
	tag   int // bytes: 4 to 16, even
}

// mac computes the tag, not yet encrypted, of the plaintext and the associated
// data, of less than 65280 bytes.
func (c *ccm) mac(x *[aes.BlockSize]byte, nonce, plain, ad []byte) {
	*x = [aes.BlockSize]byte{}
	x[0] = byte((c.tag-2)/2<<3 | (14 - c.nonce))
	if len(ad) > 0 {
		x[0] |= 0x40
	}
	copy(x[1:], nonce)
	n := uint64(len(plain))
	for i := 15; i > c.nonce; i-- {
		x[i] = byte(n)
		n >>= 8
	}
	c.block.Encrypt(x[:], x[:])
	if len(ad) > 0 {
		x[0] ^= byte(len(ad) >> 8)
		x[1] ^= byte(len(ad))
		k := subtle.XORBytes(x[2:], x[2:], ad)
		c.block.Encrypt(x[:], x[:])
		c.chain(x, ad[k:])
	}
	c.chain(x, plain)
}

func (c *ccm) chain(x *[aes.BlockSize]byte, b []byte) {
	for len(b) > 0 {
		k := subtle.XORBytes(x[:], x[:], b)
		c.block.Encrypt(x[:], x[:])
		b = b[k:]
	}
}

// longMessage is from where on, in bytes, messages are worth the allocation of the
// library's counter mode, which takes several blocks at a time.
const longMessage = 16 << 10

// ctr encrypts or decrypts b in place, and the tag in x with the first counter.
func (c *ccm) ctr(x *[aes.BlockSize]byte, s *ccmScratch, nonce, b []byte) {
	s.a = [aes.BlockSize]byte{}
	s.a[0] = byte(14 - c.nonce)
	copy(s.a[1:], nonce)
	c.block.Encrypt(s.s[0][:], s.a[:])
	subtle.XORBytes(x[:], x[:], s.s[0][:])
	if len(b) >= longMessage {
		s.a[15] = 1
		cipher.NewCTR(c.block, s.a[:]).XORKeyStream(b, b)
		return
	}
	// Several counters at once keep the processor's AES unit busy. The counter
	// field is at least 4 bytes here, and never wraps.
	for i := uint32(1); len(b) > 0; {
		k := 0
		for ; k < len(s.s) && k*aes.BlockSize < len(b); k++ {
			binary.BigEndian.PutUint32(s.a[12:], i)
			i++
			c.block.Encrypt(s.s[k][:], s.a[:])
		}
		for j := range k {
			n := subtle.XORBytes(b, b, s.s[j][:])
			b = b[n:]
		}
	}
}

type ccmScratch struct {
	x, a [aes.BlockSize]byte
	s    [8][aes.BlockSize]byte
}

// seal encrypts b in place and returns the tag, which lies in s.
func (c *ccm) seal(s *ccmScratch, nonce, b, ad []byte) []byte {
	c.mac(&s.x, nonce, b, ad)
	c.ctr(&s.x, s, nonce, b)
	return s.x[:c.tag]
}

// open decrypts b in place. When the tag is wrong b holds nothing of use.
func (c *ccm) open(s *ccmScratch, nonce, b, ad, tag []byte) bool {
	s.x = [aes.BlockSize]byte{}
	copy(s.x[:], tag)
	c.ctr(&s.x, s, nonce, b)
	got := s.x
	c.mac(&s.x, nonce, b, ad)
	if subtle.ConstantTimeCompare(s.x[:c.tag], got[:c.tag]) != 1 {
		clear(b)
		return false
	}
	return true
}
