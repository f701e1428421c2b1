package ntlm

import (
	"crypto/md5"
	"crypto/rc4" //nolint:gosec // MS-NLMP requires it
	"crypto/subtle"
)

// Magic constants of the keys (MS-NLMP 3.4.5.2, 3.4.5.3).
const (
	magicSignClient = "session key to client-to-server signing key magic constant\x00"
	magicSignServer = "session key to server-to-client signing key magic constant\x00"
	magicSealClient = "session key to client-to-server sealing key magic constant\x00"
	magicSealServer = "session key to server-to-client sealing key magic constant\x00"
)

// Session signs messages after an exchange. SPNEGO uses it for its mechListMIC
// (MS-NLMP 3.4.4.2, with extended session security). Each direction counts its messages.
type Session struct {
	in, out direction
}

type direction struct {
	sign   []byte
	handle *rc4.Cipher // nil without key exchange
	seq    uint32
}

// NewSession returns the signing state of an exchange.
func (a *Authenticated) NewSession() *Session {
	return &Session{
		in:  a.direction(magicSignClient, magicSealClient),
		out: a.direction(magicSignServer, magicSealServer),
	}
}

func (a *Authenticated) direction(sign, seal string) direction {
	h := md5.Sum(append(append([]byte(nil), a.SessionKey[:]...), sign...))
	d := direction{sign: h[:]}
	if a.Flags&flagKeyExch == 0 {
		return d
	}
	n := 5
	switch {
	case a.Flags&flag128 != 0:
		n = 16
	case a.Flags&flag56 != 0:
		n = 7
	}
	k := md5.Sum(append(append([]byte(nil), a.SessionKey[:n]...), seal...))
	d.handle, _ = rc4.NewCipher(k[:]) // a key of 16 bytes is valid
	return d
}

// mac is the signature of the next message.
func (d *direction) mac(msg []byte) []byte {
	seq := le.AppendUint32(nil, d.seq)
	d.seq++
	sum := hmacMD5(d.sign, seq, msg)[:8]
	if d.handle != nil {
		d.handle.XORKeyStream(sum, sum)
	}
	return append(append([]byte{1, 0, 0, 0}, sum...), seq...)
}

// Sign signs the server's next message.
func (s *Session) Sign(msg []byte) []byte { return s.out.mac(msg) }

// Verify checks the signature of the client's next message.
func (s *Session) Verify(msg, mac []byte) bool {
	return subtle.ConstantTimeCompare(s.in.mac(msg), mac) == 1
}
