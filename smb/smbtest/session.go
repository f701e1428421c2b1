package smbtest

import (
	"fileserver/smb/crypt"
	"fileserver/smb/wire"
)

// NegotiateBody is a NEGOTIATE with what the client offers.
func (c *Client) NegotiateBody(dialects ...wire.Dialect) func([]byte, int) []byte {
	q := wire.NegotiateRequest{
		SecurityMode: wire.NegotiateSigningEnabled, Capabilities: c.Caps, ClientGUID: c.GUID, Dialects: wire.AppendUint16s(nil, dialects...),
	}
	if q.Dialects.Has(uint16(wire.Dialect311)) {
		q.Contexts.Add(wire.PreauthIntegrityCapabilities, func(b []byte) []byte {
			return (&wire.PreauthContext{Hashes: wire.AppendUint16s(nil, wire.HashSHA512), Salt: make([]byte, 32)}).Append(b)
		})
		if c.Ciphers != nil {
			q.Contexts.Add(wire.EncryptionCapabilities, func(b []byte) []byte { return wire.AppendAlgorithms(b, c.Ciphers...) })
		}
		if c.Posix {
			q.Contexts.Add(wire.PosixExtensionsAvailable, wire.AppendPosixContext)
		}
		if c.SignAlgs != nil {
			q.Contexts.Add(wire.SigningCapabilities, func(b []byte) []byte { return wire.AppendAlgorithms(b, c.SignAlgs...) })
		}
	}
	return q.Append
}

// Connect negotiates.
func (c *Client) Connect(dialects ...wire.Dialect) {
	c.T.Helper()
	msg := c.Message(Request{Command: wire.CmdNegotiate, Body: c.NegotiateBody(dialects...)})
	c.Preauth = crypt.Preauth{}
	c.Preauth.Add(msg)
	c.Send(msg)
	r := c.Recv()[0]
	if r.Status != wire.StatusSuccess {
		c.T.Fatalf("NEGOTIATE: %v", r.Status)
	}
	c.Preauth.Add(r.Msg)
	n, err := wire.ParseNegotiateResponse(r.Msg)
	if err != nil {
		c.T.Fatal(err)
	}
	c.Negotiate, c.Dialect = n, n.Dialect
	if n.Capabilities&wire.CapEncryption != 0 {
		c.Cipher = crypt.CCM128
	}
	if d, count := n.Contexts.Find(wire.EncryptionCapabilities); count == 1 {
		if list, err := wire.ParseAlgorithms(d); err == nil && list.Len() == 1 {
			c.Cipher = crypt.Cipher(list.At(0))
		}
	}
}

// signing is the algorithm negotiated.
func (c *Client) signing() crypt.Algorithm {
	if d, count := c.Negotiate.Contexts.Find(wire.SigningCapabilities); count == 1 {
		if list, err := wire.ParseAlgorithms(d); err == nil && list.Len() == 1 {
			return crypt.Algorithm(list.At(0))
		}
	}
	return crypt.AlgorithmOf(crypt.Dialect(c.Dialect))
}

// Setup is what a login may do differently.
type Setup struct {
	Mode     uint8 // SecurityMode
	Previous uint64
	// Bind is the session's other channel: its client.
	Bind *Client
}

// Login authenticates, and returns the status and flags of the response. With StatusSuccess the client has a session.
func (c *Client) Login(user, password string, s Setup) (wire.Status, uint16) {
	c.T.Helper()
	var flags uint8
	if s.Bind != nil {
		c.SessionID, c.Signer, c.Sign, flags = s.Bind.SessionID, s.Bind.Signer, true, wire.SessionFlagBinding
		defer func() { c.Sign = false }()
	}
	hash := c.Preauth
	step := func(token []byte) Response {
		q := wire.SessionSetupRequest{Flags: flags, SecurityMode: s.Mode, PreviousSessionID: s.Previous, SecurityBuffer: token}
		msg := c.Message(Request{Command: wire.CmdSessionSetup, Body: q.Append, Ask: 64})
		hash.Add(msg)
		c.Send(msg)
		raw, err := c.W.Recv(Timeout)
		if err != nil {
			c.T.Fatal(err)
		}
		h, err := wire.ParseHeader(raw)
		if err != nil {
			c.T.Fatal(err)
		}
		c.Credits += int(h.Credits)
		if h.Status == wire.StatusMoreProcessingRequired {
			hash.Add(raw)
		}
		return Response{Header: h, Msg: raw}
	}
	r := step(ntlmNegotiate())
	if r.Status != wire.StatusMoreProcessingRequired {
		return r.Status, 0
	}
	c.SessionID = r.SessionID
	resp, err := wire.ParseSessionSetupResponse(r.Msg)
	if err != nil {
		c.T.Fatal(err)
	}
	token, key := ntlmAuthenticate(user, password, resp.SecurityBuffer)
	if r = step(token); r.Status != wire.StatusSuccess {
		return r.Status, 0
	}
	if resp, err = wire.ParseSessionSetupResponse(r.Msg); err != nil {
		c.T.Fatal(err)
	}
	if resp.Flags&(wire.SessionFlagIsGuest|wire.SessionFlagIsNull) == 0 {
		c.keys(key, &hash, s.Bind)
		if r.Flags&wire.FlagSigned == 0 {
			c.T.Fatal("the response to SESSION_SETUP is not signed")
		}
		if err := c.Signer.Verify(r.Msg); err != nil {
			c.T.Fatalf("SESSION_SETUP: %v", err)
		}
	}
	c.Encrypt = resp.Flags&wire.SessionFlagEncryptData != 0
	return r.Status, resp.Flags
}

// keys derives the keys.
func (c *Client) keys(key []byte, hash *crypt.Preauth, bind *Client) {
	c.T.Helper()
	k := crypt.DeriveKeys(crypt.Dialect(c.Dialect), key, (*[64]byte)(hash), c.Cipher)
	var err error
	if c.Signer, err = crypt.NewSigner(c.signing(), k.Signing); err != nil {
		c.T.Fatal(err)
	}
	c.Key = key
	if bind != nil {
		c.Out, c.In = bind.Out, bind.In
		return
	}
	if c.Cipher == crypt.NoCipher {
		return
	}
	if c.Out, err = crypt.NewSealer(c.Cipher, k.ToServer); err != nil {
		c.T.Fatal(err)
	}
	if c.In, err = crypt.NewSealer(c.Cipher, k.ToClient); err != nil {
		c.T.Fatal(err)
	}
}

// MustLogin is Login that must succeed.
func (c *Client) MustLogin(user, password string) {
	c.T.Helper()
	if st, _ := c.Login(user, password, Setup{}); st != wire.StatusSuccess {
		c.T.Fatalf("SESSION_SETUP: %v", st)
	}
}

// Tree connects to a share, signed as 3.1.1 wants it, and returns the response.
func (c *Client) Tree(path string, want wire.Status) wire.TreeConnectResponse {
	c.T.Helper()
	q := wire.TreeConnectRequest{Path: wire.AppendUTF16(nil, path)}
	sign := c.Sign
	c.Sign = c.Signer != nil
	r := c.Call(wire.CmdTreeConnect, q.Append, want)
	c.Sign = sign
	if want != wire.StatusSuccess {
		return wire.TreeConnectResponse{}
	}
	c.TreeID = r.TreeID
	resp, err := wire.ParseTreeConnectResponse(r.Msg)
	if err != nil {
		c.T.Fatal(err)
	}
	return resp
}

// LoginAgain authenticates the session's user anew. The keys stay (MS-SMB2 3.3.5.5.3).
func (c *Client) LoginAgain(user, password string) (wire.Status, uint16) {
	c.T.Helper()
	step := func(token []byte) Response {
		q := wire.SessionSetupRequest{SecurityBuffer: token}
		return c.Do(Request{Command: wire.CmdSessionSetup, Body: q.Append})[0]
	}
	r := step(ntlmNegotiate())
	resp, err := wire.ParseSessionSetupResponse(r.Msg)
	if r.Status != wire.StatusMoreProcessingRequired || err != nil {
		return r.Status, 0
	}
	token, _ := ntlmAuthenticate(user, password, resp.SecurityBuffer)
	r = step(token)
	if r.Status != wire.StatusSuccess {
		return r.Status, 0
	}
	if resp, err = wire.ParseSessionSetupResponse(r.Msg); err != nil {
		c.T.Fatal(err)
	}
	return r.Status, resp.Flags
}
