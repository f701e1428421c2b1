package ntlm

import (
	"bytes"
	"crypto/rc4"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"
)

func unhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

var testTarget = Target{Computer: "SERVER", Domain: "DOMAIN", DNSComputer: "server.example", DNSDomain: "example"}

// negotiate is a NEGOTIATE_MESSAGE with the flags of current clients.
func negotiate(f Flags) []byte {
	b := append(bytes.Clone(signature), typeNegotiate, 0, 0, 0)
	return append(le.AppendUint32(b, uint32(f)), make([]byte, 16)...)
}

const usual = flagUnicode | flagSign | flagAlwaysSign | flagNTLM | flagExtendedSec | flagKeyExch | flag128 | flag56 | flagTargetInfo

// client builds AUTHENTICATE_MESSAGEs as a client does.
type client struct {
	user, domain, password string
	flags                  Flags
	pairs                  []byte // in the client's challenge
	mic                    bool
	session                []byte // random session key
}

func (c *client) authenticate(neg, chal []byte) []byte {
	h := NTHash(c.password)
	owf := hmacMD5(h[:], encode(strings.ToUpper(c.user)), encode(c.domain))
	blob := append([]byte{1, 1, 0, 0, 0, 0, 0, 0}, make([]byte, 8)...)
	blob = append(append(blob, bytes.Repeat([]byte{0xaa}, 8)...), 0, 0, 0, 0)
	blob = append(append(blob, c.pairs...), 0, 0, 0, 0)
	proof := hmacMD5(owf, chal[24:32], blob)
	base := hmacMD5(owf, proof)
	key, enc := base, []byte(nil)
	if c.flags&flagKeyExch != 0 {
		key, enc = c.session, make([]byte, 16)
		k, _ := rc4.NewCipher(base)
		k.XORKeyStream(enc, c.session)
	}
	fields := [][]byte{make([]byte, 24), append(proof, blob...), encode(c.domain), encode(c.user), encode("WS"), enc}
	b := append(bytes.Clone(signature), typeAuthenticate, 0, 0, 0)
	off := micOffset + micLen
	for _, f := range fields {
		b = appendField(b, len(f), off)
		off += len(f)
	}
	b = le.AppendUint32(b, uint32(c.flags))
	b = append(b, make([]byte, 8+micLen)...)
	for _, f := range fields {
		b = append(b, f...)
	}
	if c.mic {
		copy(b[micOffset:], hmacMD5(key, neg, chal, b))
	}
	return b
}

func store(users map[string]string) func(Identity) ([16]byte, bool) {
	return func(id Identity) ([16]byte, bool) {
		p, ok := users[strings.ToLower(id.User)]
		return NTHash(p), ok
	}
}

var users = store(map[string]string{"user": "Password"})

func micPairs() []byte {
	p := appendPair(nil, avFlags, []byte{avFlagMIC, 0, 0, 0})
	p = appendPair(p, avTargetName, encode("cifs/server"))
	p = appendPair(p, avChannelBindings, make([]byte, 16))
	return appendPair(p, avEOL, nil)
}

// MS-NLMP 4.2.4.
func TestVectors(t *testing.T) {
	if h := NTHash("Password"); hex.EncodeToString(h[:]) != "a4f49c406510bdcab6824ee7c30fd852" {
		t.Errorf("NT hash %x", h)
	}
	a := NewAcceptor(testTarget)
	if _, err := a.Challenge(negotiate(usual), time.Now()); err != nil {
		t.Fatal(err)
	}
	copy(a.nonce[:], unhex("0123456789abcdef"))
	copy(a.challenge[24:], a.nonce[:])
	pairs := appendPair(nil, avNbDomainName, encode("Domain"))
	pairs = appendPair(pairs, avNbComputerName, encode("Server"))
	pairs = appendPair(pairs, avEOL, nil)
	c := client{user: "User", domain: "Domain", password: "Password", flags: usual, pairs: pairs, session: bytes.Repeat([]byte{0x55}, 16)}
	msg := c.authenticate(a.negotiate, a.challenge)
	nt, _ := field(msg, 20, 8192)
	if got := hex.EncodeToString(nt[:16]); got != "68cd0ab851e51c96aabc927bebef6a1c" {
		t.Errorf("proof %s", got)
	}
	if enc, _ := field(msg, 52, 16); hex.EncodeToString(enc) != "c5dad2544fc9799094ce1ce90bc9d03e" {
		t.Errorf("encrypted session key %x", enc)
	}
	out, err := a.Authenticate(msg, users)
	if err != nil || !bytes.Equal(out.SessionKey[:], c.session) {
		t.Fatalf("%+v %v", out, err)
	}
	c.flags &^= flagKeyExch
	if out, err = a.Authenticate(c.authenticate(a.negotiate, a.challenge), users); err != nil || hex.EncodeToString(out.SessionKey[:]) != "8de40ccadbc14a82f15cb0ad0de95ca3" {
		t.Fatalf("%+v %v", out, err)
	}
}

func TestExchange(t *testing.T) {
	for name, tt := range map[string]struct {
		c    client
		harm func(msg []byte) []byte
		want error
	}{
		"right":          {client{user: "uSer", domain: "any", password: "Password", mic: true}, nil, nil},
		"wrong password": {client{user: "user", password: "password", mic: true}, nil, ErrLogon},
		"unknown user":   {client{user: "nobody", password: "", mic: true}, nil, ErrLogon},
		"no MIC":         {client{user: "user", password: "Password"}, nil, ErrMIC},
		"changed flags": {client{user: "user", password: "Password", mic: true}, func(m []byte) []byte {
			m[62] ^= 0x08
			return m
		}, ErrMIC},
		"NTLMv1": {client{user: "user", password: "Password"}, func(m []byte) []byte {
			le.PutUint16(m[20:], 24)
			return m
		}, ErrOldScheme},
		"without unicode": {client{user: "user", password: "Password"}, func(m []byte) []byte { m[60] &^= 1; return m }, ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			a := NewAcceptor(testTarget)
			neg := negotiate(usual)
			chal, err := a.Challenge(neg, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			tt.c.flags, tt.c.pairs, tt.c.session = usual, micPairs(), bytes.Repeat([]byte{7}, 16)
			msg := tt.c.authenticate(neg, chal)
			if tt.harm != nil {
				msg = tt.harm(msg)
			}
			out, err := a.Authenticate(msg, users)
			if !errors.Is(err, tt.want) {
				t.Fatalf("%v, want %v", err, tt.want)
			}
			if err == nil && (out.TargetName != "cifs/server" || len(out.ChannelBindings) != 16 || out.Workstation != "WS") {
				t.Errorf("%+v", out)
			}
		})
	}
}

func TestAnonymous(t *testing.T) {
	a := NewAcceptor(testTarget)
	if _, err := a.Challenge(negotiate(usual), time.Now()); err != nil {
		t.Fatal(err)
	}
	b := append(bytes.Clone(signature), typeAuthenticate, 0, 0, 0)
	b = append(b, make([]byte, 48)...)
	b = le.AppendUint32(b, uint32(usual|flagAnonymous))
	out, err := a.Authenticate(b, users)
	if err != nil || !out.Anonymous || out.SessionKey != [16]byte{} {
		t.Errorf("%+v %v", out, err)
	}
}

func TestOrderOfMessages(t *testing.T) {
	a := NewAcceptor(testTarget)
	if _, err := a.Authenticate(make([]byte, 100), users); !errors.Is(err, ErrMalformed) {
		t.Error(err)
	}
	if _, err := a.Challenge(negotiate(usual), time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Challenge(negotiate(usual), time.Now()); !errors.Is(err, ErrMalformed) {
		t.Errorf("a second challenge: %v", err)
	}
}

func TestPrefixes(t *testing.T) {
	a := NewAcceptor(testTarget)
	neg := negotiate(usual)
	chal, err := a.Challenge(neg, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	c := client{user: "user", password: "Password", flags: usual, pairs: micPairs(), mic: true, session: make([]byte, 16)}
	msg := c.authenticate(neg, chal)
	for i := range msg {
		if _, err := a.Authenticate(msg[:i], users); err == nil {
			t.Fatalf("cut to %d bytes of %d: accepted", i, len(msg))
		}
	}
	if _, err := a.Authenticate(msg, users); err != nil {
		t.Fatal(err)
	}
}

// One side verifies the messages that the other has signed: in order, and each only once.
func TestSession(t *testing.T) {
	for _, f := range []Flags{usual, usual &^ flagKeyExch, usual &^ flag128, usual &^ (flag128 | flag56)} {
		a := Authenticated{SessionKey: [16]byte{1, 2, 3}, Flags: f}
		s := a.NewSession()
		c := &Session{in: a.direction(magicSignServer, magicSealServer), out: a.direction(magicSignClient, magicSealClient)}
		for i := range 3 {
			msg := []byte{byte(i), 1, 2}
			mac := c.Sign(msg)
			if len(mac) != 16 || !s.Verify(msg, mac) {
				t.Fatalf("flags %#x: message %d is not verified", f, i)
			}
			if !c.Verify(msg, s.Sign(msg)) {
				t.Fatalf("flags %#x: the server's message %d is not verified", f, i)
			}
		}
		if s.Verify([]byte("x"), make([]byte, 16)) {
			t.Error("anything is verified")
		}
	}
}

func FuzzAuthenticate(f *testing.F) {
	neg := negotiate(usual)
	seed := NewAcceptor(testTarget)
	chal, _ := seed.Challenge(neg, time.Unix(0, 0))
	c := client{user: "user", password: "Password", flags: usual, pairs: micPairs(), mic: true, session: make([]byte, 16)}
	f.Add(neg, c.authenticate(neg, chal))
	f.Fuzz(func(t *testing.T, n, m []byte) {
		a := NewAcceptor(testTarget)
		if _, err := a.Challenge(n, time.Unix(0, 0)); err != nil {
			if _, err := a.Challenge(neg, time.Unix(0, 0)); err != nil {
				t.Fatal(err)
			}
		}
		// The input cannot contain the NT hash, so whatever it is, only an anonymous user may succeed.
		if out, err := a.Authenticate(m, func(Identity) ([16]byte, bool) { return [16]byte{9}, true }); err == nil && !out.Anonymous {
			t.Fatal("logged on without a password")
		}
	})
}
