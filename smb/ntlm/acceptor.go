package ntlm

import (
	"bytes"
	"crypto/rand"
	"crypto/rc4" //nolint:gosec // MS-NLMP requires it
	"crypto/subtle"
	"strings"
	"time"
)

// Target describes the server to clients (MS-NLMP 2.2.2.1).
type Target struct {
	Computer    string // NetBIOS name
	Domain      string // NetBIOS name of the domain or workgroup
	DNSComputer string
	DNSDomain   string
}

// Acceptor is one exchange: Challenge, then Authenticate.
type Acceptor struct {
	target    Target
	negotiate []byte
	challenge []byte
	nonce     [8]byte
	flags     Flags
}

// NewAcceptor begins an exchange.
func NewAcceptor(t Target) *Acceptor {
	a := &Acceptor{target: t}
	_, _ = rand.Read(a.nonce[:]) // never fails
	return a
}

// Challenge answers a NEGOTIATE_MESSAGE (MS-NLMP 2.2.1.1) with a CHALLENGE_MESSAGE (2.2.1.2).
func (a *Acceptor) Challenge(msg []byte, now time.Time) ([]byte, error) {
	t, err := messageType(msg)
	if err != nil {
		return nil, err
	}
	if t != typeNegotiate || len(msg) < 16 || a.challenge != nil {
		return nil, malformed("message of type %d where a NEGOTIATE_MESSAGE is due", t)
	}
	asked := Flags(le.Uint32(msg[12:]))
	if asked&flagUnicode == 0 {
		return nil, malformed("a client without Unicode")
	}
	a.negotiate = bytes.Clone(msg)
	a.flags = alwaysOffered | asked&offeredIfAskedFor
	name := encode(a.target.Computer)
	var info []byte
	info = appendPair(info, avNbDomainName, encode(a.target.Domain))
	info = appendPair(info, avNbComputerName, name)
	info = appendPair(info, avDNSDomainName, encode(a.target.DNSDomain))
	info = appendPair(info, avDNSComputerName, encode(a.target.DNSComputer))
	info = appendPair(info, avTimestamp, le.AppendUint64(nil, filetime(now)))
	info = appendPair(info, avEOL, nil)

	const fixed = 56
	b := append([]byte(nil), signature...)
	b = le.AppendUint32(b, typeChallenge)
	b = appendField(b, len(name), fixed)
	b = le.AppendUint32(b, uint32(a.flags))
	b = append(b, a.nonce[:]...)
	b = append(b, make([]byte, 8)...)
	b = appendField(b, len(info), fixed+len(name))
	b = append(b, 6, 1, 0, 0, 0, 0, 0, 15) // VERSION (2.2.2.10): for debugging only
	b = append(append(b, name...), info...)
	a.challenge = b
	return b, nil
}

func appendField(b []byte, n, off int) []byte {
	return le.AppendUint32(le.AppendUint16(le.AppendUint16(b, uint16(n)), uint16(n)), uint32(off))
}

// filetime is t in units of 100 ns since 1601 (MS-DTYP 2.3.3).
func filetime(t time.Time) uint64 {
	return uint64(t.Unix()+11644473600)*1e7 + uint64(t.Nanosecond()/100)
}

// Identity is what an AUTHENTICATE_MESSAGE claims.
type Identity struct {
	User, Domain, Workstation string
	Anonymous                 bool
}

// Authenticated is an exchange that has succeeded.
type Authenticated struct {
	Identity
	SessionKey [16]byte // ExportedSessionKey
	TargetName string   // the name the client connected to, if the client sent it
	// ChannelBindings is the client's MD5 of the channel bindings, or nil.
	ChannelBindings []byte
	Flags           Flags
}

// fixedAuthenticate is the length of an AUTHENTICATE_MESSAGE without version and MIC.
const (
	fixedAuthenticate = 64
	micOffset         = 72
	micLen            = 16
)

// Authenticate checks an AUTHENTICATE_MESSAGE (MS-NLMP 2.2.1.3, 3.2.5.1.2, 3.3.2).
// hash returns the NT hash of the claimed user; ok is false if the user does not exist. The time that Authenticate takes does not
// depend on whether there is. Of anonymous users only Identity.Anonymous and the session key are known; anybody who has seen the exchange
// has that key, too.
func (a *Acceptor) Authenticate(msg []byte, hash func(Identity) (h [16]byte, ok bool)) (*Authenticated, error) {
	t, err := messageType(msg)
	if err != nil {
		return nil, err
	}
	if t != typeAuthenticate || a.challenge == nil || len(msg) < fixedAuthenticate {
		return nil, malformed("message of type %d where an AUTHENTICATE_MESSAGE is due", t)
	}
	var fields [6][]byte // LM, NT, domain, user, workstation, session key
	for i, limit := range []int{maxName, 8192, maxName, maxName, maxName, 16} {
		if fields[i], err = field(msg, 12+8*i, limit); err != nil {
			return nil, err
		}
	}
	nt, key := fields[1], fields[5]
	out := &Authenticated{Flags: Flags(le.Uint32(msg[60:]))}
	if out.Flags&flagUnicode == 0 {
		return nil, malformed("names that are not Unicode")
	}
	out.Domain, out.User, out.Workstation = decode(fields[2]), decode(fields[3]), decode(fields[4])
	if len(nt) == 0 && out.User == "" {
		out.Anonymous = true
		if a.flags&out.Flags&flagKeyExch != 0 && len(key) == 16 { // the KeyExchangeKey is zeros (3.3.2)
			c, _ := rc4.NewCipher(make([]byte, 16))
			c.XORKeyStream(out.SessionKey[:], key)
		}
		return out, nil
	}
	// An NTLMv2 response is a proof of 16 bytes and a client challenge of at least 28 (2.2.2.8).
	if len(nt) < 16+28 {
		return nil, ErrOldScheme
	}
	proof, blob := nt[:16], nt[16:]
	if blob[0] != 1 || blob[1] != 1 {
		return nil, malformed("client challenge of version %d.%d", blob[0], blob[1])
	}
	p, err := parsePairs(blob[28:])
	if err != nil {
		return nil, err
	}
	ntHash, known := hash(out.Identity)
	owf := hmacMD5(ntHash[:], encode(strings.ToUpper(out.User)), fields[2])
	right := subtle.ConstantTimeCompare(hmacMD5(owf, a.nonce[:], blob), proof) == 1
	if !right || !known {
		return nil, ErrLogon
	}
	base := hmacMD5(owf, proof) // for NTLMv2 also the KeyExchangeKey (3.4.5.1)
	copy(out.SessionKey[:], base)
	if a.flags&out.Flags&flagKeyExch != 0 {
		if len(key) != 16 {
			return nil, malformed("session key of %d bytes", len(key))
		}
		c, _ := rc4.NewCipher(base) // a key of 16 bytes is valid
		c.XORKeyStream(out.SessionKey[:], key)
	}
	if p.flags&avFlagMIC != 0 {
		if err := a.checkMIC(msg, out.SessionKey[:]); err != nil {
			return nil, err
		}
	}
	out.Flags &= a.flags
	out.TargetName, out.ChannelBindings = p.targetName, bytes.Clone(p.channelBindings)
	return out, nil
}

// checkMIC verifies that the messages of the exchange have not been changed on the way (MS-NLMP 3.2.5.1.2).
func (a *Acceptor) checkMIC(msg, key []byte) error {
	if len(msg) < micOffset+micLen {
		return malformed("no room for the MIC it announces")
	}
	zero := make([]byte, micLen)
	want := hmacMD5(key, a.negotiate, a.challenge, msg[:micOffset], zero, msg[micOffset+micLen:])
	if subtle.ConstantTimeCompare(want, msg[micOffset:micOffset+micLen]) != 1 {
		return ErrMIC
	}
	return nil
}
