package client

import (
	"bytes"
	"crypto/hmac"
	"crypto/md5"
	"crypto/rand"
	"crypto/rc4" //nolint:gosec // MS-NLMP requires it
	"strings"

	"fileserver/smb/ntlm"
	"fileserver/smb/wire"
)

// ntlmFlags are the flags that current clients request (MS-NLMP 2.2.2.5): Unicode, signing, NTLM, extended security,
// target information, 128 bits, key exchange, 56 bits.
const ntlmFlags = 1 | 1<<4 | 1<<9 | 1<<15 | 1<<19 | 1<<23 | 1<<29 | 1<<30 | 1<<31

// ntlmNegotiate returns a NEGOTIATE_MESSAGE (MS-NLMP 2.2.1.1).
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

// challengeLen is the fixed part of a CHALLENGE_MESSAGE up to its target information (MS-NLMP 2.2.1.2).
const challengeLen = 48

// challengeOf returns the server's challenge and target information from a CHALLENGE_MESSAGE, which may be inside a
// SPNEGO token.
func challengeOf(token []byte) (challenge, info []byte, err error) {
	i := bytes.Index(token, []byte("NTLMSSP\x00\x02\x00\x00\x00"))
	if i < 0 || len(token)-i < challengeLen {
		return nil, nil, broken("no NTLM challenge in the response to SESSION_SETUP")
	}
	m := token[i:]
	n, off := uint64(le.Uint16(m[40:])), uint64(le.Uint32(m[44:]))
	if off+n > uint64(len(m)) {
		return nil, nil, broken("an NTLM challenge that is too short for its target information")
	}
	return m[24:32], m[off : off+n], nil
}

// ntlmAuthenticate returns the AUTHENTICATE_MESSAGE that answers a CHALLENGE_MESSAGE, and the session key
// (MS-NLMP 2.2.1.3, 3.3.2).
func ntlmAuthenticate(who Identity, token []byte) (msg, key []byte, err error) {
	server, info, err := challengeOf(token)
	if err != nil {
		return nil, nil, err
	}
	var lm, nt, enc []byte
	domain := wire.AppendUTF16(nil, who.Domain)
	if who.User != "" {
		hash := ntlm.NTHash(who.Password)
		owf := hmacMD5(hash[:], wire.AppendUTF16(nil, strings.ToUpper(who.User)), domain)
		challenge := make([]byte, 8)
		_, _ = rand.Read(challenge) // never fails
		blob := append([]byte{1, 1, 0, 0, 0, 0, 0, 0}, timestamp(info)...)
		blob = append(append(blob, challenge...), 0, 0, 0, 0)
		blob = append(append(blob, info...), 0, 0, 0, 0)
		proof := hmacMD5(owf, server, blob)
		base := hmacMD5(owf, proof)
		key, enc = make([]byte, 16), make([]byte, 16)
		_, _ = rand.Read(key)
		c, _ := rc4.NewCipher(base)
		c.XORKeyStream(enc, key)
		lm, nt = make([]byte, 24), append(proof, blob...)
	}
	fields := [][]byte{lm, nt, domain, wire.AppendUTF16(nil, who.User), nil, enc}
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
	return b, key, nil
}

// timestamp returns the server's time from the target information (MsvAvTimestamp), so that the clocks need not
// agree. It is zero if the server sent none.
func timestamp(info []byte) []byte {
	const msvAvEOL, msvAvTimestamp = 0, 7
	for len(info) >= 4 {
		id, n := le.Uint16(info), int(le.Uint16(info[2:]))
		if id == msvAvEOL || len(info) < 4+n {
			break
		}
		if id == msvAvTimestamp && n == 8 {
			return info[4:12]
		}
		info = info[4+n:]
	}
	return make([]byte, 8)
}
