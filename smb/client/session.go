package client

import (
	"fmt"

	"fileserver/smb/crypt"
	"fileserver/smb/wire"
)

// Exchange sends a message unchanged and returns the next message of the server.
type Exchange func(msg []byte) ([]byte, error)

// NegotiateBody returns the body of a NEGOTIATE request that offers dialects and what c has set (MS-SMB2 2.2.3).
func (c *Machine) NegotiateBody(dialects ...wire.Dialect) func([]byte, int) []byte {
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

// StatusError says that the server answered a request with a status other than success.
type StatusError struct {
	Command wire.Command
	Status  wire.Status
}

// Error implements error.
func (e *StatusError) Error() string { return fmt.Sprintf("%v: %v", e.Command, e.Status) }

// Connect negotiates (MS-SMB2 3.2.4.2.2). A refusal is a *[StatusError].
func (c *Machine) Connect(x Exchange, dialects ...wire.Dialect) error {
	msg := c.Message(Request{Command: wire.CmdNegotiate, Body: c.NegotiateBody(dialects...)})
	c.Preauth = crypt.Preauth{}
	c.Preauth.Add(msg)
	raw, err := x(msg)
	if err != nil {
		return err
	}
	list, err := c.Take(raw)
	if err != nil {
		return err
	}
	r := list[0]
	if r.Command != wire.CmdNegotiate {
		return broken("%v was answered by %v", wire.CmdNegotiate, r.Command)
	}
	if r.Status != wire.StatusSuccess {
		return &StatusError{r.Command, r.Status}
	}
	c.Preauth.Add(r.Msg)
	n, err := wire.ParseNegotiateResponse(r.Msg)
	if err != nil {
		return err
	}
	c.Negotiate, c.Dialect = n, n.Dialect
	if n.Capabilities&wire.CapEncryption != 0 && n.Dialect < wire.Dialect311 {
		c.Cipher = crypt.CCM128
	}
	if d, count := n.Contexts.Find(wire.EncryptionCapabilities); count == 1 {
		if list, err := wire.ParseAlgorithms(d); err == nil && list.Len() == 1 {
			c.Cipher = crypt.Cipher(list.At(0))
		}
	}
	return nil
}

// Signing returns the signing algorithm that was negotiated.
func (c *Machine) Signing() crypt.Algorithm {
	if d, count := c.Negotiate.Contexts.Find(wire.SigningCapabilities); count == 1 {
		if list, err := wire.ParseAlgorithms(d); err == nil && list.Len() == 1 {
			return crypt.Algorithm(list.At(0))
		}
	}
	return crypt.AlgorithmOf(crypt.Dialect(c.Dialect))
}

// Identity is the user that logs on. The empty User is anonymous.
type Identity struct{ User, Domain, Password string }

// Setup holds the optional parts of a login.
type Setup struct {
	Mode     uint8  // SecurityMode
	Previous uint64 // PreviousSessionId
	// Bind is another channel of the session; with it the login binds this connection to the session.
	Bind *Machine
	// Unsigned accepts an unsigned last response with dialects before 3.0.
	Unsigned bool
}

// Login authenticates and returns the status and flags of the last response. After StatusSuccess the client has a session.
func (c *Machine) Login(x Exchange, who Identity, s Setup) (wire.Status, uint16, error) {
	var flags uint8
	if s.Bind != nil {
		c.SessionID, c.Signer, c.Sign, flags = s.Bind.SessionID, s.Bind.Signer, true, wire.SessionFlagBinding
		defer func() { c.Sign = false }()
	}
	hash := c.Preauth
	step := func(token []byte) (r Response, err error) {
		q := wire.SessionSetupRequest{Flags: flags, SecurityMode: s.Mode, PreviousSessionID: s.Previous, SecurityBuffer: token}
		msg := c.Message(Request{Command: wire.CmdSessionSetup, Body: q.Append, Ask: 64})
		hash.Add(msg)
		raw, err := x(msg)
		if err != nil {
			return r, err
		}
		if r, err = c.response(raw, false); err != nil {
			return r, err
		}
		if r.Command != wire.CmdSessionSetup {
			return r, broken("%v was answered by %v", wire.CmdSessionSetup, r.Command)
		}
		c.Credits += int(r.Credits)
		if r.Status == wire.StatusMoreProcessingRequired {
			hash.Add(raw)
		}
		return r, nil
	}
	r, err := step(ntlmNegotiate())
	if err != nil || r.Status != wire.StatusMoreProcessingRequired {
		return r.Status, 0, err
	}
	c.SessionID = r.SessionID
	resp, err := wire.ParseSessionSetupResponse(r.Msg)
	if err != nil {
		return 0, 0, err
	}
	token, key, err := ntlmAuthenticate(who, resp.SecurityBuffer)
	if err != nil {
		return 0, 0, err
	}
	if r, err = step(token); err != nil || r.Status != wire.StatusSuccess {
		return r.Status, 0, err
	}
	if resp, err = wire.ParseSessionSetupResponse(r.Msg); err != nil {
		return 0, 0, err
	}
	if resp.Flags&(wire.SessionFlagIsGuest|wire.SessionFlagIsNull) == 0 {
		if err := c.keys(key, &hash, s.Bind); err != nil {
			return 0, 0, err
		}
		switch {
		case r.Flags&wire.FlagSigned != 0:
			if err := c.Signer.Verify(r.Msg); err != nil {
				return 0, 0, fmt.Errorf("SESSION_SETUP: %w", err)
			}
		case !s.Unsigned || c.Dialect >= wire.Dialect300:
			return 0, 0, broken("the response to SESSION_SETUP is not signed")
		}
	}
	c.Encrypt = resp.Flags&wire.SessionFlagEncryptData != 0
	return r.Status, resp.Flags, nil
}

// LoginAgain authenticates the session's user again. The keys do not change (MS-SMB2 3.3.5.5.3).
func (c *Machine) LoginAgain(do func(Request) (Response, error), who Identity) (wire.Status, uint16, error) {
	step := func(token []byte) (r Response, resp wire.SessionSetupResponse, err error) {
		q := wire.SessionSetupRequest{SecurityBuffer: token}
		if r, err = do(Request{Command: wire.CmdSessionSetup, Body: q.Append}); err != nil {
			return r, resp, err
		}
		if r.Status == wire.StatusSuccess || r.Status == wire.StatusMoreProcessingRequired {
			resp, err = wire.ParseSessionSetupResponse(r.Msg)
		}
		return r, resp, err
	}
	r, resp, err := step(ntlmNegotiate())
	if err != nil || r.Status != wire.StatusMoreProcessingRequired {
		return r.Status, 0, err
	}
	token, _, err := ntlmAuthenticate(who, resp.SecurityBuffer)
	if err != nil {
		return 0, 0, err
	}
	r, resp, err = step(token)
	return r.Status, resp.Flags, err
}

// keys derives the session's keys (MS-SMB2 3.2.5.3).
func (c *Machine) keys(key []byte, hash *crypt.Preauth, bind *Machine) error {
	k := crypt.DeriveKeys(crypt.Dialect(c.Dialect), key, (*[64]byte)(hash), c.Cipher)
	var err error
	if c.Signer, err = crypt.NewSigner(c.Signing(), k.Signing); err != nil {
		return err
	}
	c.Key = key
	if bind != nil {
		c.Out, c.In = bind.Out, bind.In
		return nil
	}
	if c.Cipher == crypt.NoCipher {
		return nil
	}
	if c.Out, err = crypt.NewSealer(c.Cipher, k.ToServer); err != nil {
		return err
	}
	c.In, err = crypt.NewSealer(c.Cipher, k.ToClient)
	return err
}
