package ntlm

import (
	"bytes"
	"time"
)

// Mechanism is an exchange inside SPNEGO. It implements spnego.Mechanism.
type Mechanism struct {
	a    *Acceptor
	hash func(Identity) ([16]byte, bool)
	// Result is the outcome after Step has returned done.
	Result  *Authenticated
	session *Session
}

// NewMechanism begins an exchange. hash is that of [Acceptor.Authenticate].
func NewMechanism(t Target, hash func(Identity) ([16]byte, bool)) *Mechanism {
	return &Mechanism{a: NewAcceptor(t), hash: hash}
}

// IsToken reports whether a token is an NTLM message.
func IsToken(b []byte) bool { return bytes.HasPrefix(b, signature) }

// Step handles the client's next message.
func (m *Mechanism) Step(token []byte) (answer []byte, done bool, err error) {
	if m.a.challenge == nil {
		answer, err = m.a.Challenge(token, time.Now())
		return answer, false, err
	}
	if m.Result, err = m.a.Authenticate(token, m.hash); err != nil {
		return nil, false, err
	}
	m.session = m.Result.NewSession()
	return nil, true, nil
}

// MIC signs with the session's key. It returns nil for an anonymous user, who has no key.
func (m *Mechanism) MIC(msg []byte) []byte {
	if m.Result.Anonymous {
		return nil
	}
	return m.session.Sign(msg)
}

// CheckMIC verifies the client's signature.
func (m *Mechanism) CheckMIC(msg, mic []byte) bool {
	return m.Result.Anonymous || m.session.Verify(msg, mic)
}
