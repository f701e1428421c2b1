package smbtest

import (
	"bytes"
	"crypto/hmac"
	"crypto/md5"
	"crypto/rand"
	"crypto/rc4" //nolint:gosec // MS-NLMP wants it
	"encoding/binary"
	"strings"

	"fileserver/smb/ntlm"
	"fileserver/smb/wire"
)

var le = binary.LittleEndian

// ntlmFlags are what a client of today asks for (MS-NLMP 2.2.2.5): Unicode, signing, NTLM, extended security,
// target information, 128 bits, key exchange, 56 bits.
const ntlmFlags = 1 | 1<<4 | 1<<9 | 1<<15 | 1<<19 | 1<<23 | 1<<29 | 1<<30 | 1<<31

// ntlmNegotiate is a NEGOTIATE_MESSAGE (MS-NLMP 2.2.1.1).
func ntlmNegotiate() []byte {
	b := append([]byte("NTLMSSP\x00"), 1, 0, 0, 0)
	return append(le.AppendUint32(b, ntlmFlags), make([]byte, 16)...)
}

func hmacMD5(key []byte, parts ...[]byte) []byte {
	h := hmac.New(md5.New, key)
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}

// ntlmAuthenticate answers a CHALLENGE_MESSAGE, and returns the session key (MS-NLMP 2.2.1.3, 3.3.2).
// The user "" is anonymous.
func ntlmAuthenticate(user, password string, challenge []byte) (msg, key []byte) {
	var lm, nt, enc []byte
	if user != "" {
		hash := ntlm.NTHash(password)
		owf := hmacMD5(hash[:], wire.AppendUTF16(nil, strings.ToUpper(user)))
		n, off := int(le.Uint16(challenge[40:])), int(le.Uint32(challenge[44:]))
		blob := append([]byte{1, 1, 0, 0, 0, 0, 0, 0}, make([]byte, 8)...)
		blob = append(append(blob, bytes.Repeat([]byte{0xaa}, 8)...), 0, 0, 0, 0)
		blob = append(append(blob, challenge[off:off+n]...), 0, 0, 0, 0)
		proof := hmacMD5(owf, challenge[24:32], blob)
		base := hmacMD5(owf, proof)
		key, enc = make([]byte, 16), make([]byte, 16)
		_, _ = rand.Read(key) // never fails
		c, _ := rc4.NewCipher(base)
		c.XORKeyStream(enc, key)
		lm, nt = make([]byte, 24), append(proof, blob...)
	}
	fields := [][]byte{lm, nt, nil, wire.AppendUTF16(nil, user), nil, enc}
	b := append([]byte("NTLMSSP\x00"), 3, 0, 0, 0)
	off := 64
	for _, f := range fields {
		b = le.AppendUint16(le.AppendUint16(b, uint16(len(f))), uint16(len(f)))
		b = le.AppendUint32(b, uint32(off))
		off += len(f)
	}
	b = le.AppendUint32(b, ntlmFlags)
	for _, f := range fields {
		b = append(b, f...)
	}
	return b, key
}
