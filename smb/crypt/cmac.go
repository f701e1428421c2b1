package crypt

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/subtle"
)

// cmac is AES-CMAC (RFC 4493) with the subkeys of one key.
type cmac struct {
	block  cipher.Block
	k1, k2 [aes.BlockSize]byte
}

func newCMAC(b cipher.Block) cmac {
	c := cmac{block: b}
	b.Encrypt(c.k1[:], c.k1[:])
	double(&c.k1)
	c.k2 = c.k1
	double(&c.k2)
	return c
}

// double multiplies by x in GF(2^128).
func double(b *[aes.BlockSize]byte) {
	carry := b[0] >> 7
	for i := range aes.BlockSize - 1 {
		b[i] = b[i]<<1 | b[i+1]>>7
	}
	b[15] = b[15]<<1 ^ carry*0x87
}

// sum computes the MAC of head followed by tail. The length of head is a multiple of the block size. x is scratch.
func (c *cmac) sum(x *[aes.BlockSize]byte, head, tail []byte) {
	*x = [aes.BlockSize]byte{}
	if len(tail) == 0 {
		head, tail = nil, head
	}
	for len(head) > 0 {
		subtle.XORBytes(x[:], x[:], head[:aes.BlockSize])
		c.block.Encrypt(x[:], x[:])
		head = head[aes.BlockSize:]
	}
	for len(tail) > aes.BlockSize {
		subtle.XORBytes(x[:], x[:], tail[:aes.BlockSize])
		c.block.Encrypt(x[:], x[:])
		tail = tail[aes.BlockSize:]
	}
	subtle.XORBytes(x[:], x[:], tail)
	if len(tail) == aes.BlockSize {
		subtle.XORBytes(x[:], x[:], c.k1[:])
	} else {
		x[len(tail)] ^= 0x80
		subtle.XORBytes(x[:], x[:], c.k2[:])
	}
	c.block.Encrypt(x[:], x[:])
}
