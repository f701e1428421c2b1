package client

import (
	"encoding/binary"
	"errors"
	"fmt"

	"fileserver/smb/crypt"
	"fileserver/smb/wire"
)

var le = binary.LittleEndian

// ErrProtocol says that a server sent what the protocol forbids.
var ErrProtocol = errors.New("smb/client: the server breaks the protocol")

func broken(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrProtocol}, args...)...)
}

// Machine is the client's state of one connection with at most one session. Tests may
// change its fields at any time, to send what no client sends. One goroutine uses it.
type Machine struct {
	Dialect  wire.Dialect
	Cipher   crypt.Cipher
	Ciphers  []crypt.Cipher // to offer; nil: no context
	SignAlgs []crypt.Algorithm
	GUID     wire.GUID
	Caps     wire.Capabilities // to offer
	Posix    bool              // offer the POSIX extensions, as only Linux does

	MessageID uint64 // of the next request
	Credits   int    // that the client holds
	SessionID uint64
	TreeID    uint32
	Sign      bool // sign requests
	Encrypt   bool // encrypt requests
	NoVerify  bool // do not check signatures

	Key       []byte // the session key of the authentication
	Signer    *crypt.Signer
	Out, In   *crypt.Sealer
	Preauth   crypt.Preauth // of the connection
	Negotiate wire.NegotiateResponse
}

// NewMachine returns the state of a new connection. It offers encryption with 3.1.1 if Ciphers is set.
func NewMachine() Machine {
	return Machine{Credits: 1, Caps: wire.CapEncryption | wire.CapLargeMTU | wire.CapMultiChannel}
}

// Request is a request to send. Edit may change the header that the client has filled in.
type Request struct {
	Command wire.Command
	Body    func(b []byte, at int) []byte
	Charge  uint16 // 0: 1
	Ask     uint16 // credits to request; 0: 1
	Edit    func(*wire.Header)
}

// Response is a response. Msg begins with its header.
type Response struct {
	wire.Header
	Msg []byte
	// Sealed reports whether the response was encrypted.
	Sealed bool
}

// Empty appends the body of requests without parameters, such as ECHO.
func Empty(b []byte, _ int) []byte { return wire.AppendEmpty(b) }

// Message builds one message from requests. Each one after the first is related to it (MS-SMB2 3.2.4.1.4).
func (c *Machine) Message(reqs ...Request) []byte { return c.build(true, reqs) }

// Unrelated builds one message from requests that are not related.
func (c *Machine) Unrelated(reqs ...Request) []byte { return c.build(false, reqs) }

func (c *Machine) build(related bool, reqs []Request) []byte {
	var all []byte
	for i, q := range reqs {
		h := wire.Header{
			CreditCharge: max(q.Charge, 1), Command: q.Command, Credits: max(q.Ask, 1), MessageID: c.MessageID,
			TreeID: c.TreeID, SessionID: c.SessionID,
		}
		if i > 0 && related {
			h.Flags |= wire.FlagRelated
		}
		if q.Command != wire.CmdCancel {
			c.MessageID += uint64(h.CreditCharge)
			c.Credits -= int(h.CreditCharge)
		}
		if c.Sign && c.Signer != nil && !c.Encrypt {
			h.Flags |= wire.FlagSigned
		}
		if q.Edit != nil {
			q.Edit(&h)
		}
		msg := q.Body(h.Append(nil), 0)
		if i < len(reqs)-1 {
			for len(msg)%8 != 0 {
				msg = append(msg, 0)
			}
			h.Next = uint32(len(msg))
			h.Put(msg)
		}
		if h.Flags&wire.FlagSigned != 0 {
			c.Signer.Sign(msg)
		}
		all = append(all, msg...)
	}
	return all
}

// Seal returns the message encrypted.
func (c *Machine) Seal(msg []byte) ([]byte, error) {
	b := make([]byte, crypt.TransformLen+len(msg), crypt.TransformLen+len(msg)+crypt.TagLen)
	copy(b[crypt.TransformLen:], msg)
	return b, c.Out.Seal(b, c.SessionID)
}

// Take parses a received message: it decrypts it, checks signatures and counts credits.
func (c *Machine) Take(msg []byte) (list []Response, err error) {
	sealed := false
	if len(msg) > 4 && le.Uint32(msg) == wire.ProtocolTransform {
		sealed = true
		msg = append(msg, make([]byte, crypt.TagLen)...)[:len(msg)]
		if msg, err = c.open(msg); err != nil {
			return nil, err
		}
	}
	for {
		r, err := c.response(msg, sealed)
		if err != nil {
			return nil, err
		}
		if r.Next != 0 {
			if uint64(r.Next) > uint64(len(msg)) {
				return nil, broken("a response extends beyond its message")
			}
			r.Msg, msg = msg[:r.Next], msg[r.Next:]
		}
		if err := c.check(&r); err != nil {
			return nil, err
		}
		c.Credits += int(r.Credits)
		list = append(list, r)
		if r.Next == 0 {
			return list, nil
		}
	}
}

// open decrypts a message in place. The slice has capacity for a tag behind it.
func (c *Machine) open(msg []byte) ([]byte, error) {
	if c.In == nil {
		return nil, broken("an encrypted message although the session has no keys")
	}
	if _, err := crypt.SessionOf(msg); err != nil {
		return nil, err
	}
	return c.In.Open(msg)
}

// response reads the header of a response.
func (c *Machine) response(msg []byte, sealed bool) (Response, error) {
	h, err := wire.ParseHeader(msg)
	if err != nil {
		return Response{}, err
	}
	if h.Flags&wire.FlagServerToRedir == 0 {
		return Response{}, broken("%v is not a response", h.Command)
	}
	return Response{Header: h, Msg: msg, Sealed: sealed}, nil
}

// check verifies the signature of a response (MS-SMB2 3.2.5.1.3).
func (c *Machine) check(r *Response) error {
	switch {
	case c.NoVerify || r.Sealed || c.Signer == nil || r.Status == wire.StatusPending:
	case r.Flags&wire.FlagSigned != 0:
		if err := c.Signer.Verify(r.Msg); err != nil {
			return fmt.Errorf("%v: %w", r.Command, err)
		}
	case c.Sign && r.MessageID != ^uint64(0) && r.Status != wire.StatusUserSessionDeleted && r.Status != wire.StatusAccessDenied:
		return broken("%v: the response to a signed request is not signed", r.Command)
	}
	return nil
}
