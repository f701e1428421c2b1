package crypt

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/subtle"
	"encoding/binary"
)

// ccm is AES-CCM (RFC 3610, SP 800-38C) in place. The tag is stored apart from the text. All nonces have the same length,
// and so do all tags.
type ccm struct {
	block cipher.Block
	nonce int // bytes: 7 to 13
	tag   int // bytes: 4 to 16, even
}

// mac begins the MAC of a message of size bytes with the associated data, which must be shorter than 65280 bytes.
func (c *ccm) mac(x *[aes.BlockSize]byte, nonce []byte, size int, ad []byte) {
	*x = [aes.BlockSize]byte{}
	x[0] = byte((c.tag-2)/2<<3 | (14 - c.nonce))
	if len(ad) > 0 {
		x[0] |= 0x40
	}
	copy(x[1:], nonce)
	n := uint64(size)
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
}

// chain adds b, padded with zeros to whole blocks, to the MAC.
func (c *ccm) chain(x *[aes.BlockSize]byte, b []byte) {
	for len(b) > 0 {
		k := subtle.XORBytes(x[:], x[:], b)
		c.block.Encrypt(x[:], x[:])
		b = b[k:]
	}
}

// ccmBatch is the number of blocks of key stream computed at once.
const ccmBatch = 64

type ccmScratch struct {
	x, a   [aes.BlockSize]byte // the MAC so far; the counter block
	stream [ccmBatch * aes.BlockSize]byte
}

// start builds the counter block of a message, and encrypts or decrypts the tag with the first block of the key stream.
func (c *ccm) start(s *ccmScratch, nonce []byte, tag *[aes.BlockSize]byte) {
	s.a = [aes.BlockSize]byte{}
	s.a[0] = byte(14 - c.nonce)
	copy(s.a[1:], nonce)
	first := (*[aes.BlockSize]byte)(s.stream[:])
	c.block.Encrypt(first[:], s.a[:])
	subtle.XORBytes(tag[:], tag[:], first[:])
}

// blocks returns the number of blocks that n bytes take, but at most ccmBatch.
func blocks(n int) int { return min((n+aes.BlockSize-1)/aes.BlockSize, ccmBatch) }

// batch computes n blocks of key stream from the counter on, and adds plain to the MAC in the same loop. plain consists of
// whole blocks, except at the end of a message. Each block of the MAC depends on the one before, so the processor computes
// the key stream while it waits. (The library's counter mode is faster by itself, but it allocates memory for each message,
// and the two loops together take as long.) The counter here is 4 bytes and never wraps.
func (c *ccm) batch(s *ccmScratch, counter uint32, n int, plain []byte) {
	for i := range n {
		k := s.stream[i*aes.BlockSize:][:aes.BlockSize]
		copy(k, s.a[:12])
		binary.BigEndian.PutUint32(k[12:], counter+uint32(i))
		if len(plain) >= aes.BlockSize {
			subtle.XORBytes(s.x[:], s.x[:], plain[:aes.BlockSize])
			c.block.Encrypt(s.x[:], s.x[:])
			plain = plain[aes.BlockSize:]
		}
		c.block.Encrypt(k, k)
	}
	c.chain(&s.x, plain)
}

// seal encrypts b in place and returns the tag, which is stored in s.
func (c *ccm) seal(s *ccmScratch, nonce, b, ad []byte) []byte {
	c.mac(&s.x, nonce, len(b), ad)
	var tag [aes.BlockSize]byte
	c.start(s, nonce, &tag)
	for counter := uint32(1); len(b) > 0; counter += ccmBatch {
		n := blocks(len(b))
		k := min(len(b), n*aes.BlockSize)
		c.batch(s, counter, n, b[:k])
		subtle.XORBytes(b, b[:k], s.stream[:])
		b = b[k:]
	}
	subtle.XORBytes(s.x[:], s.x[:], tag[:])
	return s.x[:c.tag]
}

// open decrypts b in place and reports whether the tag is right. If it is not, b must not be used.
func (c *ccm) open(s *ccmScratch, nonce, b, ad, tag []byte) bool {
	var want [aes.BlockSize]byte
	copy(want[:], tag)
	c.start(s, nonce, &want)
	c.mac(&s.x, nonce, len(b), ad)
	c.batch(s, 1, blocks(len(b)), nil)
	for rest, counter := b, uint32(1+ccmBatch); len(rest) > 0; counter += ccmBatch {
		n := subtle.XORBytes(rest, rest, s.stream[:])
		plain := rest[:n]
		rest = rest[n:]
		c.batch(s, counter, blocks(len(rest)), plain)
	}
	if subtle.ConstantTimeCompare(s.x[:c.tag], want[:c.tag]) != 1 {
		clear(b)
		return false
	}
	return true
}
