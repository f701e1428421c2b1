package spnego

// maxMechs bounds the mechanisms a client may list.
const maxMechs = 32

// initToken is a NegTokenInit (RFC 4178 4.2.1).
type initToken struct {
	mechs    []OID
	mechList []byte // DER of the list: what the mechListMIC covers
	token    []byte
	mic      []byte
}

func parseInit(b []byte) (t initToken, err error) {
	if b, _, err = expect(b, tagApp0); err != nil {
		return t, err
	}
	oid, b, err := expect(b, tagOID)
	if err != nil {
		return t, err
	}
	if OID(oid) != OIDSPNEGO {
		return t, malformed("a token of mechanism % x", oid)
	}
	if b, _, err = expect(b, tagContext); err != nil {
		return t, err
	}
	if b, _, err = expect(b, tagSequence); err != nil {
		return t, err
	}
	for len(b) > 0 {
		var tag byte
		var v []byte
		if tag, v, b, err = element(b); err != nil {
			return t, err
		}
		switch tag {
		case tagContext: // mechTypes
			t.mechList = v
			if t.mechs, err = parseMechs(v); err != nil {
				return t, err
			}
		case tagContext + 2: // mechToken
			if t.token, _, err = expect(v, tagOctets); err != nil {
				return t, err
			}
		case tagContext + 3: // mechListMIC; in a NegTokenInit2 of MS-SPNG the hints
			if len(v) > 0 && v[0] == tagOctets {
				if t.mic, _, err = expect(v, tagOctets); err != nil {
					return t, err
				}
			}
		}
	}
	if len(t.mechs) == 0 {
		return t, malformed("no mechanisms")
	}
	return t, nil
}

func parseMechs(b []byte) (list []OID, err error) {
	if b, _, err = expect(b, tagSequence); err != nil {
		return nil, err
	}
	for len(b) > 0 {
		var oid []byte
		if oid, b, err = expect(b, tagOID); err != nil {
			return nil, err
		}
		if len(list) == maxMechs {
			return nil, malformed("more than %d mechanisms", maxMechs)
		}
		list = append(list, OID(oid))
	}
	return list, nil
}

// negState is the state of a negotiation (RFC 4178 4.2.2).
type negState byte

const (
	acceptCompleted negState = iota
	acceptIncomplete
	reject
	requestMIC
	noState negState = 0xff
)

// respToken is a NegTokenResp (RFC 4178 4.2.2).
type respToken struct {
	state negState
	mech  OID
	token []byte
	mic   []byte
}

func parseResp(b []byte) (t respToken, err error) {
	t.state = noState
	if b, _, err = expect(b, tagContext+1); err != nil {
		return t, err
	}
	if b, _, err = expect(b, tagSequence); err != nil {
		return t, err
	}
	for len(b) > 0 {
		var tag byte
		var v []byte
		if tag, v, b, err = element(b); err != nil {
			return t, err
		}
		switch tag {
		case tagContext:
			var s []byte
			if s, _, err = expect(v, tagEnum); err == nil && len(s) != 1 {
				err = malformed("a state of %d bytes", len(s))
			}
			if err == nil {
				t.state = negState(s[0])
			}
		case tagContext + 1:
			var oid []byte
			oid, _, err = expect(v, tagOID)
			t.mech = OID(oid)
		case tagContext + 2:
			t.token, _, err = expect(v, tagOctets)
		case tagContext + 3:
			t.mic, _, err = expect(v, tagOctets)
		}
		if err != nil {
			return t, err
		}
	}
	return t, nil
}

func (t *respToken) append(b []byte) []byte {
	var s []byte
	if t.state != noState {
		s = wrap(s, tagContext, []byte{tagEnum, 1, byte(t.state)})
	}
	if t.mech != "" {
		s = wrap(s, tagContext+1, wrap(nil, tagOID, []byte(t.mech)))
	}
	if t.token != nil {
		s = wrap(s, tagContext+2, wrap(nil, tagOctets, t.token))
	}
	if t.mic != nil {
		s = wrap(s, tagContext+3, wrap(nil, tagOctets, t.mic))
	}
	return wrap(b, tagContext+1, wrap(nil, tagSequence, s))
}

// appendInit appends a NegTokenInit, or with hint a NegTokenInit2 as the server
// opens with (MS-SPNG 2.2.1).
func appendInit(b []byte, mechs []OID, token []byte, hint bool) []byte {
	var list []byte
	for _, m := range mechs {
		list = wrap(list, tagOID, []byte(m))
	}
	s := wrap(nil, tagContext, wrap(nil, tagSequence, list))
	if token != nil {
		s = wrap(s, tagContext+2, wrap(nil, tagOctets, token))
	}
	if hint {
		name := wrap(nil, tagContext, wrap(nil, tagString, []byte("not_defined_in_RFC4178@please_ignore")))
		s = wrap(s, tagContext+3, wrap(nil, tagSequence, name))
	}
	body := wrap(wrap(nil, tagOID, []byte(OIDSPNEGO)), tagContext, wrap(nil, tagSequence, s))
	return wrap(b, tagApp0, body)
}

// Hint returns the token with which a server begins: the mechanisms it offers, the preferred one first (MS-SPNG 3.2.5.2).
func Hint(mechs ...OID) []byte { return appendInit(nil, mechs, nil, true) }
