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
