package spnego

import "bytes"

// Mechanism is one exchange of a mechanism, on the acceptor's side.
type Mechanism interface {
	// Step handles the initiator's token and returns the answer. done says that
	// the initiator is authenticated; the answer may be empty then.
	Step(token []byte) (answer []byte, done bool, err error)
	// MIC signs, and CheckMIC verifies, once the exchange is done. Nil and true
	// come from a mechanism that cannot sign.
	MIC(msg []byte) []byte
	CheckMIC(msg, mic []byte) bool
}

// Offer is a mechanism the server has.
type Offer struct {
	OID OID
	// Raw tells a token of the mechanism without SPNEGO around; nil: never.
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
	list   []byte // what the MIC covers
	named  bool   // an answer has stated the mechanism
}

// NewAcceptor begins a negotiation; offers in the order of our preference do not count, the initiator's order does.
func NewAcceptor(offers ...Offer) *Acceptor { return &Acceptor{offers: offers} }

// Mechanism is the mechanism chosen, or nil, and its identifier.
func (a *Acceptor) Mechanism() (Mechanism, OID) { return a.mech, a.oid }

// Step handles the initiator's token and returns the answer, and whether the
// negotiation is complete. After an error it is over; the answer, if there is one, says so to the initiator.
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

// step lets the mechanism go on.
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

// finish completes the negotiation. Where the initiator prefers another mechanism
// it must sign its list: somebody could have put that mechanism there (RFC 4178 5).
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
