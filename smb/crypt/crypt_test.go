package crypt

import (
	"bytes"
	"crypto/aes"
	"crypto/subtle"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"testing"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// RFC 4493 4.
func TestCMACVectors(t *testing.T) {
	b, _ := aes.NewCipher(unhex(t, "2b7e151628aed2a6abf7158809cf4f3c"))
	c := newCMAC(b)
	msg := unhex(t, "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710")
	for n, want := range map[int]string{
		0: "bb1d6929e95937287fa37d129b756746", 16: "070a16b46b4d4144f79bdd9dd04a287c",
		40: "dfa66747de9ae63030ca32611497c827", 64: "51f0bebf7e3b9d92fc49741779363cfe",
	} {
		for split := 0; split <= n; split += 16 {
			var x [16]byte
			c.sum(&x, msg[:split], msg[split:n])
			if hex.EncodeToString(x[:]) != want {
				t.Errorf("%d bytes split at %d: %x", n, split, x)
			}
		}
	}
}

// SP 800-38C, examples 1 and 2.
func TestCCMVectors(t *testing.T) {
	b, _ := aes.NewCipher(unhex(t, "404142434445464748494a4b4c4d4e4f"))
	for _, v := range []struct {
		tag                int
		nonce, ad, p, want string
	}{
		{4, "10111213141516", "0001020304050607", "20212223", "7162015b4dac255d"},
		{6, "1011121314151617", "000102030405060708090a0b0c0d0e0f", "202122232425262728292a2b2c2d2e2f", "d2a1f0e051ea5f62081a7792073d593d1fc64fbfaccd"},
	} {
		nonce, ad, p := unhex(t, v.nonce), unhex(t, v.ad), unhex(t, v.p)
		c := ccm{block: b, nonce: len(nonce), tag: v.tag}
		var s ccmScratch
		got := append([]byte(nil), p...)
		tag := bytes.Clone(c.seal(&s, nonce, got, ad))
		if hex.EncodeToString(append(got, tag...)) != v.want {
			t.Errorf("sealed % x tag % x, want %s", got, tag, v.want)
		}
		if got = got[:len(p)]; !c.open(&s, nonce, got, ad, tag) || !bytes.Equal(got, p) {
			t.Errorf("opened % x", got)
		}
		tag[0] ^= 1
		if c.open(&s, nonce, got, ad, tag) {
			t.Error("a wrong tag was accepted")
		}
	}
}

// From Microsoft's "SMB 2 and SMB 3 security in Windows 10: the anatomy of signing and cryptographic keys".
func TestKeyDerivation(t *testing.T) {
	k := DeriveKeys(SMB300, unhex(t, "7cd451825d0450d235424e44ba6e78cc"), nil, CCM128)
	if got := hex.EncodeToString(k.Signing); got != "0b7e9c5cac36c0f6ea9ab275298cedce" {
		t.Errorf("3.0 signing key %s", got)
	}
	var h [64]byte
	copy(h[:], unhex(t, "0dd13628cc3ed218ef9df9772d436d0887ab9814bfae63a80aa845f36909db7928622dddad522d9751640a459762c5a9d6bb084cbb3ce6bdadef5d5bce3c6c01"))
	k = DeriveKeys(SMB311, unhex(t, "270e1ba896585eeb7af3472d3b4c75a7"), &h, CCM128)
	if got := hex.EncodeToString(k.Signing); got != "73fe7a9a77bef0bde49c650d8ccb5f76" {
		t.Errorf("3.1.1 signing key %s", got)
	}
	if k2 := DeriveKeys(SMB210, []byte("0123456789abcdefXX"), nil, NoCipher); string(k2.Signing) != "0123456789abcdef" {
		t.Errorf("2.1 signing key %q", k2.Signing)
	}
	if k = DeriveKeys(SMB311, make([]byte, 32), &h, GCM256); len(k.ToClient) != 32 || len(k.Signing) != 16 || bytes.Equal(k.ToClient, k.ToServer) {
		t.Error("256-bit keys")
	}
}

func message(n int) []byte {
	b := make([]byte, TransformLen+n, TransformLen+n+TagLen)
	for i := range b {
		b[i] = byte(i * 11)
	}
	return b
}

func TestSign(t *testing.T) {
	for _, alg := range []Algorithm{HMACSHA256, AESCMAC, AESGMAC} {
		s, err := NewSigner(alg, []byte("0123456789abcdef"))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{64, 65, 79, 80, 81, 1000, 1 << 20} {
			msg := message(n)[TransformLen:]
			s.Sign(msg)
			signed := bytes.Clone(msg)
			parts := message(n)[TransformLen:]
			s.SignParts(parts[:64:64], bytes.Clone(parts[64:]))
			if !bytes.Equal(parts[:64], signed[:64]) {
				t.Errorf("%v: %d bytes in two parts are signed otherwise", alg, n)
			}
			if err := s.Verify(msg); err != nil {
				t.Errorf("%v: %d bytes: %v", alg, n, err)
			}
			for _, at := range []int{0, 40, 50, 63, n - 1} {
				bad := bytes.Clone(signed)
				bad[at] ^= 0x40
				if s.Verify(bad) == nil {
					t.Errorf("%v: %d bytes: a change at %d went unnoticed", alg, n, at)
				}
			}
		}
		if s.Verify(make([]byte, 63)) == nil {
			t.Error("63 bytes verified")
		}
		msg := message(1000)[TransformLen:]
		if a := testing.AllocsPerRun(100, func() { s.Sign(msg) }); a > 0 && !racing {
			t.Errorf("%v: %v allocations", alg, a)
		}
	}
	if _, err := NewSigner(9, make([]byte, 16)); err == nil {
		t.Error("algorithm 9 accepted")
	}
}

func TestGMACNonceTellsRoleAndCancel(t *testing.T) {
	s, _ := NewSigner(AESGMAC, make([]byte, 16))
	seen := map[string]bool{}
	for _, response := range []byte{0, 1} {
		for _, cmd := range []uint16{0, commandCancel} {
			msg := make([]byte, 64)
			msg[flagsOffset] = response
			binary.LittleEndian.PutUint16(msg[commandOffset:], cmd)
			s.Sign(msg)
			// The nonce differs between the messages, but so do their bytes: this only
			// checks that no signatures collide.
			seen[string(msg[48:])] = true
		}
	}
	if len(seen) != 4 {
		t.Errorf("%d signatures of 4", len(seen))
	}
}

func TestSeal(t *testing.T) {
	for _, c := range []Cipher{CCM128, GCM128, CCM256, GCM256} {
		s, err := NewSealer(c, bytes.Repeat([]byte{7}, c.KeyLen()))
		if err != nil {
			t.Fatal(err)
		}
		nonces := map[string]bool{}
		for _, n := range []int{64, 65, 100, 127, 128, 5000, 1 << 20} {
			b := message(n)
			plain := bytes.Clone(b[TransformLen:])
			if err := s.Seal(b, 0x1122334455667788); err != nil {
				t.Fatal(err)
			}
			nonces[string(b[transformNonce:transformSize])] = true
			if bytes.Contains(b, plain[:32]) {
				t.Errorf("%v: not encrypted", c)
			}
			if id, err := SessionOf(b); err != nil || id != 0x1122334455667788 {
				t.Errorf("%v: session %#x, %v", c, id, err)
			}
			for _, at := range []int{5, 21, 45, 60, len(b) - 1} {
				bad := append(make([]byte, 0, len(b)+TagLen), b...)
				bad[at] ^= 4
				if _, err := s.Open(bad); !errors.Is(err, ErrSignature) {
					t.Errorf("%v: %d bytes changed at %d: %v", c, n, at, err)
				}
			}
			got, err := s.Open(b)
			if err != nil || !bytes.Equal(got, plain) {
				t.Errorf("%v: %d bytes: %v, or others", c, n, err)
			}
		}
		if len(nonces) != 7 {
			t.Errorf("%v: a nonce was used twice", c)
		}
		b := message(64 << 10)
		if a := testing.AllocsPerRun(100, func() {
			_ = s.Seal(b, 1)
			_, _ = s.Open(b)
		}); a > 0 && !racing {
			t.Errorf("%v: %v allocations", c, a)
		}
		if err := s.Seal(b[:len(b):len(b)], 1); !errors.Is(err, ErrNoRoom) {
			t.Error(err)
		}
	}
	for _, bad := range [][]byte{nil, make([]byte, 200), message(63)} {
		if _, err := SessionOf(bad); err == nil {
			t.Errorf("%d bytes accepted", len(bad))
		}
	}
}

// TestCCMBatches compares messages whose lengths are near a batch's with the block by block computation of RFC 3610.
func TestCCMBatches(t *testing.T) {
	block, err := aes.NewCipher([]byte("0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	c := ccm{block: block, nonce: ccmNonceLen, tag: TagLen}
	nonce, ad := []byte("some nonce."), message(0)[:32]
	for _, n := range []int{0, 1, 15, 16, 17, 1008, 1023, 1024, 1025, 1040, 2047, 2048, 2049, 5000, 64<<10 + 7} {
		plain := message(n)[TransformLen:][:n]
		want := make([]byte, n)
		x := [aes.BlockSize]byte{0x40 | 7<<3 | 3}
		copy(x[1:], nonce)
		binary.BigEndian.PutUint32(x[12:], uint32(n))
		block.Encrypt(x[:], x[:])
		chain := func(b []byte) {
			for ; len(b) > 0; b = b[min(aes.BlockSize, len(b)):] {
				subtle.XORBytes(x[:], x[:], b)
				block.Encrypt(x[:], x[:])
			}
		}
		chain(append([]byte{0, 32}, ad...))
		chain(plain)
		for i := 0; i <= (n+15)/16; i++ {
			k := [aes.BlockSize]byte{3}
			copy(k[1:], nonce)
			binary.BigEndian.PutUint32(k[12:], uint32(i))
			block.Encrypt(k[:], k[:])
			if i == 0 {
				subtle.XORBytes(x[:], x[:], k[:])
				continue
			}
			at := (i - 1) * 16
			subtle.XORBytes(want[at:], plain[at:], k[:])
		}
		var s ccmScratch
		got := bytes.Clone(plain)
		tag := bytes.Clone(c.seal(&s, nonce, got, ad))
		if !bytes.Equal(got, want) || !bytes.Equal(tag, x[:]) {
			t.Errorf("%d bytes are encrypted wrongly", n)
		}
		if !c.open(&s, nonce, got, ad, tag) || !bytes.Equal(got, plain) {
			t.Errorf("%d bytes are decrypted wrongly", n)
		}
		if n > 0 {
			got = bytes.Clone(want)
			got[n-1] ^= 1
			if c.open(&s, nonce, got, ad, tag) || !bytes.Equal(got, make([]byte, n)) {
				t.Errorf("%d bytes that are not right are taken, or left there", n)
			}
		}
	}
}

func TestPreauth(t *testing.T) {
	var a, b Preauth
	a.Add([]byte("one"))
	a.Add([]byte("two"))
	b.Add([]byte("onetwo"))
	if a == b || a == (Preauth{}) {
		t.Error("the hash does not chain")
	}
}

func FuzzOpen(f *testing.F) {
	s, _ := NewSealer(GCM128, make([]byte, 16))
	b := message(100)
	_ = s.Seal(b, 5)
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := SessionOf(b); err != nil {
			return
		}
		_, _ = s.Open(append(make([]byte, 0, len(b)+TagLen), b...))
	})
}

func BenchmarkMessage(b *testing.B) {
	for _, alg := range []Algorithm{HMACSHA256, AESCMAC, AESGMAC} {
		b.Run(alg.String(), func(b *testing.B) {
			s, _ := NewSigner(alg, make([]byte, 16))
			msg := message(1 << 20)[TransformLen:]
			b.SetBytes(1 << 20)
			for b.Loop() {
				s.Sign(msg)
			}
		})
	}
	for _, c := range []Cipher{CCM128, GCM128, CCM256, GCM256} {
		b.Run(c.String(), func(b *testing.B) {
			s, _ := NewSealer(c, make([]byte, c.KeyLen()))
			msg := message(1 << 20)
			b.SetBytes(1 << 20)
			for b.Loop() {
				_ = s.Seal(msg, 1)
			}
		})
	}
}
