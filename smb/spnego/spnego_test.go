package spnego

import (
	"bytes"
	"errors"
	"testing"
)

// fake is a mechanism of two steps: "hello" is answered with "who", "me" ends it.
type fake struct{ steps int }

func (f *fake) Step(token []byte) ([]byte, bool, error) {
	f.steps++
	switch string(token) {
	case "hello":
		return []byte("who"), false, nil
	case "me":
		return []byte("welcome"), true, nil
	}
	return nil, false, errors.New("fake: denied")
}

func (f *fake) MIC(msg []byte) []byte         { return append([]byte("s:"), msg...) }
func (f *fake) CheckMIC(msg, mic []byte) bool { return bytes.Equal(mic, append([]byte("c:"), msg...)) }
func offer(oid OID) Offer {
	return Offer{OID: oid, New: func() Mechanism { return new(fake) }, Raw: func(b []byte) bool { return string(b) == "hello" }}
}

func list(mechs ...OID) []byte {
	t, err := parseInit(appendInit(nil, mechs, nil, false))
	if err != nil {
		panic(err)
	}
	return t.mechList
}

func resp(t *testing.T, b []byte) respToken {
	t.Helper()
	r, err := parseResp(b)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func next(token string, mic []byte) []byte {
	r := respToken{state: noState, token: []byte(token), mic: mic}
	return r.append(nil)
}

func TestPreferredMechanism(t *testing.T) {
	a := NewAcceptor(offer(OIDNTLM))
	out, done, err := a.Step(appendInit(nil, []OID{OIDNTLM}, []byte("hello"), false))
	if r := resp(t, out); err != nil || done || r.state != acceptIncomplete || r.mech != OIDNTLM || string(r.token) != "who" {
		t.Fatalf("%+v %v %v", r, done, err)
	}
	out, done, err = a.Step(next("me", nil)) // no MIC is needed
	if r := resp(t, out); err != nil || !done || r.state != acceptCompleted || r.mech != "" || r.mic != nil {
		t.Fatalf("%+v %v %v", r, done, err)
	}
}

func TestSecondMechanismNeedsMIC(t *testing.T) {
	mechs := []OID{OIDKrb5, OIDNTLM}
	for name, tt := range map[string]struct {
		mic  []byte
		fine bool
	}{
		"right":   {append([]byte("c:"), list(mechs...)...), true},
		"wrong":   {[]byte("c:other"), false},
		"missing": {nil, false},
	} {
		a := NewAcceptor(offer(OIDNTLM))
		out, done, err := a.Step(appendInit(nil, mechs, []byte("a ticket"), false))
		if r := resp(t, out); err != nil || done || r.state != requestMIC || r.mech != OIDNTLM || r.token != nil {
			t.Fatalf("%s: %+v %v %v", name, r, done, err)
		}
		if _, done, err = a.Step(next("hello", nil)); err != nil || done {
			t.Fatal(name, done, err)
		}
		out, done, err = a.Step(next("me", tt.mic))
		if done != tt.fine || (err == nil) != tt.fine {
			t.Errorf("%s: %v %v", name, done, err)
		}
		if r := resp(t, out); tt.fine && !bytes.Equal(r.mic, append([]byte("s:"), list(mechs...)...)) || !tt.fine && r.state != reject {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestRaw(t *testing.T) {
	a := NewAcceptor(offer(OIDNTLM))
	if out, done, err := a.Step([]byte("hello")); string(out) != "who" || done || err != nil {
		t.Fatal(string(out), done, err)
	}
	if out, done, err := a.Step([]byte("me")); string(out) != "welcome" || !done || err != nil {
		t.Fatal(string(out), done, err)
	}
}

func TestRefusals(t *testing.T) {
	a := NewAcceptor(offer(OIDNTLM))
	out, _, err := a.Step(appendInit(nil, []OID{OIDKrb5}, nil, false))
	if !errors.Is(err, ErrNoMechanism) || resp(t, out).state != reject {
		t.Errorf("no common mechanism: %v", err)
	}
	a = NewAcceptor(offer(OIDNTLM))
	out, _, err = a.Step(appendInit(nil, []OID{OIDNTLM}, []byte("nonsense"), false))
	if err == nil || resp(t, out).state != reject {
		t.Errorf("denied: %v", err)
	}
	var many []OID
	for range maxMechs + 1 {
		many = append(many, OIDKrb5)
	}
	if _, err := parseInit(appendInit(nil, many, nil, false)); !errors.Is(err, ErrMalformed) {
		t.Error(err)
	}
}

func TestHint(t *testing.T) {
	m, err := parseInit(Hint(OIDKrb5, OIDNTLM))
	if err != nil || len(m.mechs) != 2 || m.mechs[1] != OIDNTLM || m.mic != nil {
		t.Errorf("%+v %v", m, err)
	}
}

func TestPrefixes(t *testing.T) {
	init := appendInit(nil, []OID{OIDKrb5, OIDNTLM}, bytes.Repeat([]byte("x"), 300), false)
	for i := range init {
		if _, err := parseInit(init[:i]); !errors.Is(err, ErrMalformed) {
			t.Errorf("init cut to %d: %v", i, err)
		}
	}
	r := respToken{state: acceptCompleted, mech: OIDNTLM, token: make([]byte, 70000), mic: []byte("mic")}
	b := r.append(nil)
	got, err := parseResp(b)
	if err != nil || got.mech != r.mech || len(got.token) != 70000 || string(got.mic) != "mic" {
		t.Fatal(err)
	}
	for i := range 200 {
		if _, err := parseResp(b[:i]); !errors.Is(err, ErrMalformed) {
			t.Errorf("response cut to %d: %v", i, err)
		}
	}
}

func FuzzStep(f *testing.F) {
	f.Add(appendInit(nil, []OID{OIDKrb5, OIDNTLM}, []byte("hello"), false), next("hello", nil))
	f.Add(Hint(OIDNTLM), next("me", []byte("c:")))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		x := NewAcceptor(offer(OIDNTLM))
		if _, done, err := x.Step(a); err != nil || done {
			return
		}
		if _, done, err := x.Step(b); done && err != nil {
			t.Fatal("done, with an error")
		}
	})
}
