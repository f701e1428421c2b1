package smb

import (
	"bytes"
	"testing"

	"fileserver/smb/crypt"
	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
)

// answeredNothing sends a message that gets no response, and something behind it that does.
func answeredNothing(t *testing.T, c *smbtest.Client, msg []byte) {
	t.Helper()
	if err := c.W.Send(msg); err != nil {
		t.Fatal(err)
	}
	c.Send(c.Message(echo(nil)))
	if r := c.Recv()[0]; r.Command != wire.CmdEcho || r.Status != wire.StatusSuccess {
		t.Errorf("%v: %v, want the response to the ECHO behind it", r.Command, r.Status)
	}
}

// A CANCEL has no response, not even if it is refused: that would look like the response to what it is to cancel.
func TestCancelRefused(t *testing.T) {
	e := newEnv(t, nil)
	c := e.client()
	c.Connect(wire.Dialect311)
	if st, _ := c.Login("ann", "secret", smbtest.Setup{Mode: wire.NegotiateSigningRequired}); st != wire.StatusSuccess {
		t.Fatal(st)
	}
	c.Sign = true
	cancel := func() []byte { return c.Message(smbtest.Request{Command: wire.CmdCancel, Body: smbtest.Empty}) }
	unsigned := cancel()
	le.PutUint32(unsigned[flagsOffset:], le.Uint32(unsigned[flagsOffset:])&^uint32(wire.FlagSigned))
	answeredNothing(t, c, unsigned)
	wrong := cancel()
	wrong[signatureOffset]++
	answeredNothing(t, c, wrong)
	of := cancel()
	le.PutUint64(of[40:], c.SessionID+1) // of no session
	answeredNothing(t, c, of)
}

// A signed request that is sent again on a connection of somebody else is not answered with a second signature under the nonce of the
// first, which AES-GMAC does not survive.
func TestNoSecondNonce(t *testing.T) {
	for _, alg := range []crypt.Algorithm{crypt.AESGMAC, crypt.AESCMAC} {
		e := newEnv(t, nil)
		c := e.client()
		c.SignAlgs = []crypt.Algorithm{alg}
		c.Connect(wire.Dialect311)
		c.MustLogin("ann", "secret")
		key := e.srv.session(c.SessionID).signer
		c.Sign = true
		q := wire.TreeConnectRequest{Path: wire.AppendUTF16(nil, `\\server\data`)}
		msg := c.Message(smbtest.Request{Command: wire.CmdTreeConnect, Body: q.Append})
		captured := bytes.Clone(msg)
		c.Send(msg)
		if r := c.Recv()[0]; r.Status != wire.StatusSuccess || r.Flags&wire.FlagSigned == 0 {
			t.Fatalf("%v, flags %#x", r.Status, r.Flags)
		}
		evil := e.client()
		evil.Connect(wire.Dialect311)
		if err := evil.W.Send(captured); err != nil {
			t.Fatal(err)
		}
		answer, err := evil.W.Recv(smbtest.Timeout)
		if err != nil {
			t.Fatal(err)
		}
		if st := wire.Status(le.Uint32(answer[8:])); st != wire.StatusUserSessionDeleted {
			t.Errorf("%v: %v", alg, st)
		}
		// With other algorithms clients want to be sure of the refusal.
		if signed := key.Verify(answer) == nil; signed != (alg != crypt.AESGMAC) {
			t.Errorf("%v: signed with the victim's key: %v", alg, signed)
		}
	}
}

// Where the client has asked to bind the session, and failed, the refusals of what it asks for in it are signed: clients insist.
func TestRefusedAfterBinding(t *testing.T) {
	for _, alg := range []crypt.Algorithm{crypt.AESGMAC, crypt.AESCMAC} {
		e := newEnv(t, nil)
		first := e.client()
		first.SignAlgs = []crypt.Algorithm{alg}
		first.Connect(wire.Dialect311)
		first.MustLogin("ann", "secret")
		key := e.srv.session(first.SessionID).signer
		c := e.client()
		c.SignAlgs = first.SignAlgs
		c.Connect(wire.Dialect311)
		if st, _ := c.Login("bob", "hidden", smbtest.Setup{Bind: first}); st != wire.StatusAccessDenied {
			t.Fatal(st)
		}
		q := wire.TreeConnectRequest{Path: wire.AppendUTF16(nil, `\\server\data`)}
		c.SessionID, c.Signer, c.Sign = first.SessionID, first.Signer, true
		if err := c.W.Send(c.Message(smbtest.Request{Command: wire.CmdTreeConnect, Body: q.Append})); err != nil {
			t.Fatal(err)
		}
		answer, err := c.W.Recv(smbtest.Timeout)
		if err != nil {
			t.Fatal(err)
		}
		if st := wire.Status(le.Uint32(answer[8:])); st != wire.StatusUserSessionDeleted || key.Verify(answer) != nil {
			t.Errorf("%v: %v, signed with the session's key: %v", alg, st, key.Verify(answer) == nil)
		}
	}
}

// Who replays a captured binding request has not asked to bind: what they replay after it gets no second signature with AES-GMAC.
func TestReplayedBinding(t *testing.T) {
	e := newEnv(t, nil)
	first := e.client()
	first.SignAlgs = []crypt.Algorithm{crypt.AESGMAC}
	first.Connect(wire.Dialect311)
	first.MustLogin("ann", "secret")
	key := e.srv.session(first.SessionID).signer
	first.Sign = true
	connect := wire.TreeConnectRequest{Path: wire.AppendUTF16(nil, `\\server\data`)}
	tree := first.Message(smbtest.Request{Command: wire.CmdTreeConnect, Body: connect.Append})
	captured := bytes.Clone(tree)
	first.Send(tree)
	first.Recv()

	channel := func() *smbtest.Client {
		c := e.client()
		c.SignAlgs = first.SignAlgs
		c.Connect(wire.Dialect311)
		return c
	}
	send := func(c *smbtest.Client, msg []byte) (wire.Status, []byte) {
		t.Helper()
		if err := c.W.Send(bytes.Clone(msg)); err != nil {
			t.Fatal(err)
		}
		answer, err := c.W.Recv(smbtest.Timeout)
		if err != nil {
			t.Fatal(err)
		}
		return wire.Status(le.Uint32(answer[8:])), answer
	}
	client := channel()
	client.SessionID, client.Signer, client.Sign = first.SessionID, first.Signer, true
	setup := wire.SessionSetupRequest{Flags: wire.SessionFlagBinding, SecurityBuffer: []byte("rubbish")}
	binding := client.Message(smbtest.Request{Command: wire.CmdSessionSetup, Body: setup.Append})
	for i, signed := range []bool{true, false} {
		c := client
		if i > 0 {
			c = channel() // a stranger's
		}
		if st, _ := send(c, binding); st != wire.StatusInvalidParameter {
			t.Errorf("binding %d: %v", i, st)
		}
		st, answer := send(c, captured)
		if got := key.Verify(answer) == nil; st != wire.StatusUserSessionDeleted || got != signed {
			t.Errorf("TREE_CONNECT behind binding %d: %v, signed with the session's key: %v, want %v", i, st, got, signed)
		}
	}
	// There is a limit to what the session remembers.
	s := e.srv.session(first.SessionID)
	for i := range maxBindings + 10 {
		s.newBinding([16]byte{byte(i), 1})
	}
	if s.newBinding([16]byte{0, 2}) || len(s.bindings) > maxBindings {
		t.Errorf("%d binding requests are remembered", len(s.bindings))
	}
}

// The anonymous have keys, which everybody may know. They may sign and encrypt with them, but need not; encrypted messages are
// read only where somebody has proved who they are, and encrypted shares are not for them.
func TestKeysOfAnonymous(t *testing.T) {
	e := newEnv(t, func(c *Config) { c.Anonymous = new(credOf(new(testUsers["bob"]))) })
	e.srv.SetShares([]*Share{{Name: "data", FS: e.fs}, {Name: "secret", FS: e.fs, Encrypt: true}})
	anonymous := func(c *smbtest.Client) *Session {
		t.Helper()
		c.SessionID, c.Signer = 0, nil
		if st, flags := c.Login("", "", smbtest.Setup{}); st != wire.StatusSuccess || flags != wire.SessionFlagIsNull {
			t.Fatalf("%v, flags %#x", st, flags)
		}
		s := e.srv.session(c.SessionID)
		c.Signer, c.Out, c.In = s.signer, s.sealIn, s.sealOut
		return s
	}
	connect := func() *smbtest.Client {
		c := e.client()
		c.Ciphers = []crypt.Cipher{crypt.GCM128}
		c.Connect(wire.Dialect311)
		return c
	}
	c := connect()
	s := anonymous(c)
	c.Tree(`\\server\data`, wire.StatusSuccess) // signed
	q := wire.TreeConnectRequest{Path: wire.AppendUTF16(nil, `\\server\data`)}
	c.Call(wire.CmdTreeConnect, q.Append, wire.StatusSuccess) // not signed
	c.Tree(`\\server\secret`, wire.StatusAccessDenied)
	wrong, err := crypt.NewSigner(s.signing, make([]byte, 16))
	if err != nil {
		t.Fatal(err)
	}
	c.Signer, c.NoVerify = wrong, true
	c.Tree(`\\server\data`, wire.StatusAccessDenied)
	if err := c.W.Send(c.Seal(c.Message(smbtest.Request{Command: wire.CmdEcho, Body: smbtest.Empty}))); err == nil {
		if m, err := c.W.Recv(smbtest.Timeout); err == nil {
			t.Errorf("an encrypted message on a connection of nobody is answered with %d bytes", len(m))
		}
	}

	c = connect()
	c.MustLogin("ann", "secret")
	anonymous(c)
	c.Encrypt = true
	c.Tree(`\\server\data`, wire.StatusSuccess)
}

// An authentication that fails ends the session. Where the client encrypts nobody else can have it do so.
func TestInjectedSessionSetup(t *testing.T) {
	e := newEnv(t, func(c *Config) { c.Encryption = Required })
	c := e.client()
	c.Ciphers = []crypt.Cipher{crypt.GCM128}
	c.Connect(wire.Dialect311)
	c.MustLogin("ann", "secret")
	c.Encrypt = true
	for _, sign := range []bool{false, true} {
		c.Encrypt = false
		q := wire.SessionSetupRequest{SecurityBuffer: []byte("rubbish")}
		msg := c.Message(smbtest.Request{Command: wire.CmdSessionSetup, Body: q.Append})
		if sign {
			le.PutUint32(msg[flagsOffset:], le.Uint32(msg[flagsOffset:])|uint32(wire.FlagSigned))
			msg[signatureOffset]++
		}
		if err := c.W.Send(msg); err != nil {
			t.Fatal(err)
		}
		answer, err := c.W.Recv(smbtest.Timeout)
		if err != nil {
			t.Fatal(err)
		}
		if st := wire.Status(le.Uint32(answer[8:])); st != wire.StatusAccessDenied {
			t.Errorf("signed wrongly %v: %v", sign, st)
		}
		c.Encrypt = true
		c.Call(wire.CmdEcho, smbtest.Empty, wire.StatusSuccess)
	}
	// The client itself may.
	if st, _ := c.LoginAgain("ann", "secret"); st != wire.StatusSuccess {
		t.Error(st)
	}
	c.Call(wire.CmdEcho, smbtest.Empty, wire.StatusSuccess)
}
