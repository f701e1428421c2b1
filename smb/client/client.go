package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"fileserver/internal/slab"
	"fileserver/smb/crypt"
	"fileserver/smb/transport"
	"fileserver/smb/wire"
)

// Options configure a [Client].
type Options struct {
	Pool *slab.Pool
	Host string // the server's name in the paths of shares
	Identity
	Dialects []wire.Dialect // to offer; nil: all
	Ciphers  []crypt.Cipher // to offer; nil: all
	SignAlgs []crypt.Algorithm
	// Sign signs and Encrypt encrypts requests even if the server does not require it.
	Sign, Encrypt bool
	// Credits is the number of credits that all outstanding requests need together; 0: 32.
	Credits int
}

// AllDialects returns the dialects that the client speaks, the oldest first.
func AllDialects() []wire.Dialect {
	return []wire.Dialect{wire.Dialect202, wire.Dialect210, wire.Dialect300, wire.Dialect302, wire.Dialect311}
}

// AllCiphers returns the ciphers of SMB 3.1.1, the fastest first.
func AllCiphers() []crypt.Cipher {
	return []crypt.Cipher{crypt.GCM128, crypt.CCM128, crypt.GCM256, crypt.CCM256}
}

// Client is a connection with one session and one share. It implements [transport.Handler].
// Its methods are safe for concurrent use once it is connected.
//
// mu guards the fields below it; no other lock is taken while it is held.
type Client struct {
	opt   Options
	tc    transport.Conn
	m     Machine        // does not change once connected; message IDs and credits are below
	login chan *slab.Buf // responses until the client is connected
	done  chan struct{}  // closed when the connection has ended

	mu          sync.Mutex
	connected   bool
	messageID   uint64
	credits     int
	busy        int // calls that have taken credits and have no response yet
	pending     map[uint64]*Call
	first, last *Call // waiting for credits
	err         error // why the connection ended
	closing     bool  // Close was called
}

// New returns a client without a connection.
func New(opt Options) *Client {
	if opt.Dialects == nil {
		opt.Dialects = AllDialects()
	}
	if opt.Ciphers == nil {
		opt.Ciphers = AllCiphers()
	}
	if opt.Credits == 0 {
		opt.Credits = 32
	}
	c := &Client{opt: opt, m: NewMachine(), login: make(chan *slab.Buf, 4), done: make(chan struct{}), pending: make(map[uint64]*Call)}
	c.m.Caps = wire.CapLargeMTU | wire.CapEncryption
	c.m.Ciphers, c.m.SignAlgs = opt.Ciphers, opt.SignAlgs
	copy(c.m.GUID[:], newGUID())
	return c
}

// Handler gives the client its connection. The dialer calls it once.
func (c *Client) Handler(tc transport.Conn) transport.Handler {
	c.tc = tc
	return c
}

// Message implements [transport.Handler].
func (c *Client) Message(buf *slab.Buf) {
	c.mu.Lock()
	connected := c.connected
	c.mu.Unlock()
	if connected {
		c.response(buf)
		return
	}
	select {
	case c.login <- buf:
	default:
		buf.Release()
		c.tc.Disconnect(broken("more messages than requests"), false)
	}
}

// response hands a response to the call it answers.
func (c *Client) response(buf *slab.Buf) {
	msg := buf.Bytes()
	var err error
	sealed := len(msg) > 4 && le.Uint32(msg) == wire.ProtocolTransform
	if sealed {
		msg, err = c.m.open(msg)
	}
	var r Response
	if err == nil {
		r, err = c.m.response(msg, sealed)
	}
	if err == nil && r.Next != 0 {
		err = broken("a compound response to a request that was not compounded")
	}
	if err != nil {
		buf.Release()
		c.tc.Disconnect(err, false)
		return
	}
	c.mu.Lock()
	c.credits += int(r.Credits)
	call := c.pending[r.MessageID]
	if r.Status == wire.StatusPending && r.Flags&wire.FlagAsyncCommand != 0 {
		call = nil // the final response follows
	}
	if call != nil {
		delete(c.pending, r.MessageID)
		c.busy--
		call.buf, call.resp = buf, r
		call.done <- struct{}{}
	}
	c.serveLocked()
	c.mu.Unlock()
	if call == nil { // an interim response, or an oplock break although the client has no oplocks
		buf.Release()
	}
}

// Closed implements [transport.Handler].
func (c *Client) Closed(err error) {
	c.mu.Lock()
	switch {
	case c.closing:
		err = net.ErrClosed
	case err == nil:
		err = errors.New("the server closed the connection")
	}
	c.err = err
	for id, call := range c.pending {
		delete(c.pending, id)
		call.err = err
		call.done <- struct{}{}
	}
	c.serveLocked()
	c.mu.Unlock()
	for {
		select {
		case b := <-c.login:
			b.Release()
			continue
		default:
		}
		break
	}
	close(c.done)
}

// exchange implements [Exchange] before the client is connected.
func (c *Client) exchange(ctx context.Context, msg []byte) ([]byte, error) {
	buf, err := c.opt.Pool.Get(ctx, len(msg))
	if err != nil {
		return nil, err
	}
	copy(buf.Bytes(), msg)
	if err := c.tc.Send(&transport.Outgoing{Pieces: []transport.Piece{{Buf: buf, Len: len(msg)}}}); err != nil {
		return nil, err
	}
	select {
	case buf := <-c.login:
		defer buf.Release()
		return append([]byte(nil), buf.Bytes()...), nil
	case <-c.done:
		return nil, c.Err()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Connect negotiates, logs on and connects to the share. If it fails it closes the client.
// If the server refuses, the error is a *[StatusError].
func (c *Client) Connect(ctx context.Context, share string) error {
	err := c.connect(ctx)
	if err == nil {
		err = c.mount(ctx, share)
	}
	if err == nil {
		err = c.requestCredits(ctx)
	}
	if err != nil {
		c.Close()
	}
	return err
}

func (c *Client) connect(ctx context.Context) error {
	x := func(msg []byte) ([]byte, error) { return c.exchange(ctx, msg) }
	if err := c.m.Connect(x, c.opt.Dialects...); err != nil {
		return err
	}
	// With old dialects many servers sign the last response only if they sign everything.
	st, flags, err := c.m.Login(x, c.opt.Identity, Setup{Mode: wire.NegotiateSigningEnabled, Unsigned: !c.opt.Sign})
	switch {
	case err != nil:
		return err
	case st != wire.StatusSuccess:
		return &StatusError{wire.CmdSessionSetup, st}
	case c.m.Signer == nil && (c.opt.Sign || c.opt.Encrypt):
		return fmt.Errorf("the server logged %q on as a guest, and guests have no key for signing or encryption", c.opt.User)
	case c.opt.Encrypt && c.m.Out == nil:
		return fmt.Errorf("the server does not encrypt with dialect %v", c.m.Dialect)
	}
	if flags&(wire.SessionFlagIsGuest|wire.SessionFlagIsNull) == 0 {
		c.m.Sign = c.opt.Sign || c.m.Negotiate.SecurityMode&wire.NegotiateSigningRequired != 0
	}
	c.m.Encrypt = c.m.Encrypt || c.opt.Encrypt
	if c.m.Encrypt && c.m.Out == nil {
		return broken("it requires encryption but negotiated no cipher")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.messageID, c.credits, c.connected = c.m.MessageID, c.m.Credits, true
	return c.err
}

// mount connects to the share (MS-SMB2 3.2.4.2.4).
func (c *Client) mount(ctx context.Context, share string) error {
	call := c.NewCall()
	defer call.Release()
	q := wire.TreeConnectRequest{Path: wire.AppendUTF16(nil, `\\`+c.opt.Host+`\`+share)}
	call.head = q.Append(call.head[:wire.HeaderLen], 0)
	call.sign = c.m.Signer != nil // 3.1.1 requires it (MS-SMB2 3.2.4.1.1)
	if err := call.do(ctx, wire.CmdTreeConnect, 1, transport.Piece{}); err != nil {
		return err
	}
	call.sign = false
	resp, err := wire.ParseTreeConnectResponse(call.resp.Msg)
	if err != nil {
		return err
	}
	if resp.ShareType != wire.ShareTypeDisk {
		return fmt.Errorf("%s is not a disk share", share)
	}
	c.m.TreeID = call.resp.TreeID
	if resp.ShareFlags&wire.ShareFlagEncryptData != 0 && !c.m.Encrypt {
		if c.m.Out == nil {
			return fmt.Errorf("the share %s requires encryption, which dialect %v does not have", share, c.m.Dialect)
		}
		c.m.Encrypt = true
	}
	return nil
}

// requestCredits asks for credits until the client has Options.Credits of them or the server grants no more.
func (c *Client) requestCredits(ctx context.Context) error {
	call := c.NewCall()
	defer call.Release()
	for had := 0; ; {
		c.mu.Lock()
		have := c.credits
		c.mu.Unlock()
		if have >= c.opt.Credits || have <= had {
			return nil
		}
		had = have
		call.head = wire.AppendEmpty(call.head[:wire.HeaderLen])
		call.ask = min(c.opt.Credits-have+1, 8192)
		if err := call.do(ctx, wire.CmdEcho, 1, transport.Piece{}); err != nil {
			return err
		}
	}
}

// Machine returns the state that was negotiated, for reading only.
func (c *Client) Machine() *Machine { return &c.m }

// Credits returns the number of credits that the client holds now.
func (c *Client) Credits() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.credits
}

// Err returns why the connection has ended, or nil while it is up.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends the connection and its session. When it returns, the server no longer reaches the caller's memory.
func (c *Client) Close() {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	c.tc.Disconnect(nil, false)
	<-c.done
}

// Info returns a description of the connection.
func (c *Client) Info() *transport.Info { return c.tc.Info() }
