package ntlm

import (
	"bytes"
	"time"
)

// Mechanism is an exchange as SPNEGO's acceptor drives it: it implements
// spnego.Mechanism.
type Mechanism struct {
	a    *Acceptor
	hash func(Identity) ([16]byte, bool)
	// Result is the outcome, once Step has said that it is done.
	Result  *Authenticated
	session *Session
}

// NewMechanism begins an exchange; hash as for [Acceptor.Authenticate].
func NewMechanism(t Target, hash func(Identity) ([16]byte, bool)) *Mechanism {
	return &Mechanism{a: NewAcceptor(t), hash: hash}
}

// IsToken tells a message of NTLM.
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

// MIC signs with the session's key; nil for the anonymous, who has none.
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
