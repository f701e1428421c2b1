package smbtest

import (
	"errors"
	"testing"

	"fileserver/smb/crypt"
	"fileserver/smb/wire"
)

// Client is a client with at most one session. Its fields may be changed at any time, to do what no client does.
type Client struct {
	T testing.TB
	W Wire

	Dialect  wire.Dialect
	Cipher   crypt.Cipher
	Ciphers  []crypt.Cipher // to be offered; nil: no context
	SignAlgs []crypt.Algorithm
	GUID     wire.GUID
	Caps     wire.Capabilities // to be offered
	Posix    bool              // offer the POSIX extensions, as only Linux does

	MessageID uint64 // next
	Credits   int    // held
	SessionID uint64
	TreeID    uint32
	Sign      bool // sign requests
	Encrypt   bool // encrypt requests
	NoVerify  bool // do not check signatures

	Key       []byte // of the authentication
	Signer    *crypt.Signer
	Out, In   *crypt.Sealer
	Preauth   crypt.Preauth // of the connection
	Negotiate wire.NegotiateResponse
}

// NewClient makes a client of a connection.
func NewClient(t testing.TB, w Wire) *Client {
	return &Client{T: t, W: w, GUID: wire.GUID{1, 2, 3}, Credits: 1, Caps: wire.CapEncryption | wire.CapLargeMTU | wire.CapMultiChannel}
}

// Request is a request to be sent: what the client fills in can be changed by Edit.
type Request struct {
	Command wire.Command
	Body    func(b []byte, at int) []byte
	Charge  uint16 // 0: 1
	Ask     uint16 // credits; 0: 1
	Edit    func(*wire.Header)
}

// Response is a response. Msg begins with its header.
type Response struct {
	wire.Header
	Msg []byte
	// Sealed tells that it came encrypted.
	Sealed bool
}

// Empty is the body of requests that say nothing.
func Empty(b []byte, _ int) []byte { return wire.AppendEmpty(b) }

// Message builds one message of requests; those after the first are related to it.
func (c *Client) Message(reqs ...Request) []byte { return c.build(true, reqs) }

// Unrelated builds one message of requests of their own.
func (c *Client) Unrelated(reqs ...Request) []byte { return c.build(false, reqs) }

func (c *Client) build(related bool, reqs []Request) []byte {
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

// Seal encrypts a message.
func (c *Client) Seal(msg []byte) []byte {
	b := make([]byte, crypt.TransformLen+len(msg), crypt.TransformLen+len(msg)+crypt.TagLen)
	copy(b[crypt.TransformLen:], msg)
	if err := c.Out.Seal(b, c.SessionID); err != nil {
		c.T.Fatal(err)
	}
	return b
}

// Send sends a message, encrypted if Encrypt is set.
func (c *Client) Send(msg []byte) {
	c.T.Helper()
	if c.Encrypt {
		msg = c.Seal(msg)
	}
	if err := c.W.Send(msg); err != nil {
		c.T.Fatal(err)
	}
}

// Recv receives the responses of one message, and checks signatures.
func (c *Client) Recv() []Response {
	c.T.Helper()
	msg, err := c.W.Recv(Timeout)
	if err != nil {
		c.T.Fatalf("no response: %v", err)
	}
	return c.Take(msg)
}

// Take takes a received message apart.
func (c *Client) Take(msg []byte) (list []Response) {
	c.T.Helper()
	sealed := false
	if len(msg) > 4 && le.Uint32(msg) == wire.ProtocolTransform {
		sealed = true
		if _, err := crypt.SessionOf(msg); err != nil {
			c.T.Fatal(err)
		}
		var err error
		if msg, err = c.In.Open(append(msg, make([]byte, crypt.TagLen)...)[:len(msg)]); err != nil {
			c.T.Fatal(err)
		}
	}
	for {
		h, err := wire.ParseHeader(msg)
		if err != nil || h.Flags&wire.FlagServerToRedir == 0 {
			c.T.Fatalf("not a response: %+v %v", h, err)
		}
		r := Response{Header: h, Msg: msg, Sealed: sealed}
		if h.Next != 0 {
			r.Msg, msg = msg[:h.Next], msg[h.Next:]
		}
		c.check(&r)
		c.Credits += int(h.Credits)
		list = append(list, r)
		if h.Next == 0 {
			return list
		}
	}
}

func (c *Client) check(r *Response) {
	c.T.Helper()
	switch {
	case c.NoVerify || r.Sealed || c.Signer == nil || r.Status == wire.StatusPending:
	case r.Flags&wire.FlagSigned != 0:
		if err := c.Signer.Verify(r.Msg); err != nil {
			c.T.Fatalf("%v: %v", r.Command, err)
		}
	case c.Sign && r.MessageID != ^uint64(0) && r.Status != wire.StatusUserSessionDeleted && r.Status != wire.StatusAccessDenied:
		c.T.Fatalf("%v: the response to a signed request is not signed", r.Command)
	}
}

// Do sends requests as one message of related ones and returns the responses, which must come as one message, too.
func (c *Client) Do(reqs ...Request) []Response {
	c.T.Helper()
	c.Send(c.Message(reqs...))
	list := c.Recv()
	if len(list) != len(reqs) {
		c.T.Fatalf("%d responses to %d requests", len(list), len(reqs))
	}
	return list
}

// Call sends one request and wants the status.
func (c *Client) Call(cmd wire.Command, body func(b []byte, at int) []byte, want wire.Status) Response {
	c.T.Helper()
	r := c.Do(Request{Command: cmd, Body: body})[0]
	if r.Status != want {
		c.T.Fatalf("%v: %v, want %v", cmd, r.Status, want)
	}
	return r
}

// Dropped waits for the server to end the connection; other messages may come before.
func (c *Client) Dropped() {
	c.T.Helper()
	for {
		if _, err := c.W.Recv(Timeout); err != nil {
			if errors.Is(err, ErrTimeout) {
				c.T.Fatal("the connection goes on")
			}
			return
		}
	}
}
