package spnego

import "bytes"

// Mechanism is one exchange of a mechanism, on the acceptor's side.
type Mechanism interface {
	// Step handles the initiator's token and returns the answer. If done is true the initiator is authenticated, and the
	// answer may be empty.
	Step(token []byte) (answer []byte, done bool, err error)
	// MIC signs and CheckMIC verifies after the exchange is done. A mechanism that cannot sign returns nil from MIC and
	// true from CheckMIC.
	MIC(msg []byte) []byte
	CheckMIC(msg, mic []byte) bool
}

// Offer is a mechanism that the server offers.
type Offer struct {
	OID OID
	// Raw reports whether a token is one of the mechanism without SPNEGO around it; nil: never.
	Raw func(token []byte) bool
	New func() Mechanism
}

// Acceptor is one negotiation.
type Acceptor struct {
	offers []Offer
	raw    bool
	begun  bool
	mech   Mechanism
	oid    OID
	first  bool   // the mechanism chosen is the one the initiator prefers
	list   []byte // the bytes that the MIC covers
	named  bool   // an answer has stated the mechanism
}

// NewAcceptor begins a negotiation. The initiator's order of preference decides; the order of offers does not matter.
func NewAcceptor(offers ...Offer) *Acceptor { return &Acceptor{offers: offers} }

// Mechanism returns the chosen mechanism and its identifier; the mechanism is nil if none has been chosen.
func (a *Acceptor) Mechanism() (Mechanism, OID) { return a.mech, a.oid }

// Step handles the initiator's token. It returns the answer and whether the negotiation is complete. An error ends the
// negotiation; the answer, if there is one, tells the initiator.
func (a *Acceptor) Step(token []byte) (answer []byte, done bool, err error) {
	if !a.begun {
		a.begun = true
		return a.begin(token)
	}
	if a.raw {
		return a.mech.Step(token)
	}
	t, err := parseResp(token)
	if err != nil {
		return nil, false, err
	}
	if t.state == reject {
		return nil, false, ErrNoMechanism
	}
	return a.step(t.token, t.mic)
}

// begin handles the first token.
func (a *Acceptor) begin(token []byte) ([]byte, bool, error) {
	for _, o := range a.offers {
		if o.Raw != nil && o.Raw(token) {
			a.raw, a.mech, a.oid = true, o.New(), o.OID
			return a.mech.Step(token)
		}
	}
	t, err := parseInit(token)
	if err != nil {
		return nil, false, err
	}
	a.list = bytes.Clone(t.mechList)
	for i, m := range t.mechs {
		for _, o := range a.offers {
			if o.OID == m || o.OID == OIDKrb5 && m == OIDMSKrb5 {
				a.mech, a.oid, a.first = o.New(), m, i == 0
				break
			}
		}
		if a.mech != nil {
			break
		}
	}
	if a.mech == nil {
		r := respToken{state: reject}
		return r.append(nil), false, ErrNoMechanism
	}
	if !a.first || t.token == nil { // the token, if any, is of a mechanism that was not chosen
		a.named = true
		r := respToken{state: acceptIncomplete, mech: a.oid}
		if !a.first {
			r.state = requestMIC
		}
		return r.append(nil), false, nil
	}
	return a.step(t.token, t.mic)
}

// step passes a token to the mechanism.
func (a *Acceptor) step(token, mic []byte) ([]byte, bool, error) {
	answer, done, err := a.mech.Step(token)
	if err != nil {
		r := respToken{state: reject}
		return r.append(nil), false, err
	}
	if !done {
		r := respToken{state: acceptIncomplete, token: answer}
		if !a.named {
			r.mech, a.named = a.oid, true
		}
		return r.append(nil), false, nil
	}
	return a.finish(answer, mic)
}

// finish completes the negotiation. If the initiator's list began with another mechanism, the initiator must sign the
// list, because an attacker could have changed it (RFC 4178 5).
func (a *Acceptor) finish(answer, mic []byte) ([]byte, bool, error) {
	r := respToken{state: acceptCompleted, token: answer}
	if !a.named {
		r.mech, a.named = a.oid, true
	}
	switch {
	case mic != nil:
		if !a.mech.CheckMIC(a.list, mic) {
			r = respToken{state: reject}
			return r.append(nil), false, ErrMIC
		}
		r.mic = a.mech.MIC(a.list)
	case !a.first && a.mech.MIC(nil) != nil:
		r = respToken{state: reject}
		return r.append(nil), false, ErrMIC
	}
	return r.append(nil), true, nil
}
