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

// Options are what a [Client] needs, and wants.
type Options struct {
	Pool *slab.Pool
	Host string // of the server's name in paths of shares
	Identity
	Dialects []wire.Dialect // offered; nil: all
	Ciphers  []crypt.Cipher // offered; nil: all
	SignAlgs []crypt.Algorithm
	// Sign signs requests, and Encrypt encrypts them, also where the server does not ask for it.
	Sign, Encrypt bool
	// Credits are what all requests outstanding will need; 0: 32.
	Credits int
}

// AllDialects are the dialects there are.
func AllDialects() []wire.Dialect {
	return []wire.Dialect{wire.Dialect202, wire.Dialect210, wire.Dialect300, wire.Dialect302, wire.Dialect311}
}

// AllCiphers are the ciphers there are, the fastest first.
func AllCiphers() []crypt.Cipher {
	return []crypt.Cipher{crypt.GCM128, crypt.CCM128, crypt.GCM256, crypt.CCM256}
}

// Client is a connection with one session and one share. It implements [transport.Handler].
// Its methods are safe for concurrent use once it is connected.
//
// mu guards what is below it; no other lock is taken while it is held.
type Client struct {
	opt   Options
	tc    transport.Conn
	m     Machine        // does not change once connected; message IDs and credits are below
	early chan *slab.Buf // messages before that
	done  chan struct{}  // closed when the connection has ended

	mu          sync.Mutex
	connected   bool
	messageID   uint64
	credits     int
	busy        int // calls that have taken credits and have not their response yet
	pending     map[uint64]*Call
	first, last *Call // waiting for credits
	err         error // why the connection ended
	closing     bool  // by us
}

// New makes a client without connection.
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
	c := &Client{opt: opt, m: NewMachine(), early: make(chan *slab.Buf, 4), done: make(chan struct{}), pending: make(map[uint64]*Call)}
	c.m.Caps = wire.CapLargeMTU | wire.CapEncryption
	c.m.Ciphers, c.m.SignAlgs = opt.Ciphers, opt.SignAlgs
	copy(c.m.GUID[:], newGUID())
	return c
}

// Handler gives the client its connection; who dials calls it, once.
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
	case c.early <- buf:
	default:
		buf.Release()
		c.tc.Disconnect(broken("messages that nobody asked for"), false)
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
		err = broken("responses in one message, to requests that were not")
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
		call = nil // the response proper follows
	}
	if call != nil {
		delete(c.pending, r.MessageID)
		c.busy--
		call.buf, call.resp = buf, r
		call.done <- struct{}{}
	}
	c.serveLocked()
	c.mu.Unlock()
	if call == nil { // or an oplock break, of oplocks that were not asked for
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
		case b := <-c.early:
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
	case buf := <-c.early:
		defer buf.Release()
		return append([]byte(nil), buf.Bytes()...), nil
	case <-c.done:
		return nil, c.Err()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Connect negotiates, logs on and connects to the share. When it fails the client is closed. A refusal of the server's is a *[StatusError].
func (c *Client) Connect(ctx context.Context, share string) error {
	err := c.connect(ctx)
	if err == nil {
		err = c.mount(ctx, share)
	}
	if err == nil {
		err = c.fill(ctx)
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
	// Many servers sign the last response of old dialects only if they sign everything.
	st, flags, err := c.m.Login(x, c.opt.Identity, Setup{Mode: wire.NegotiateSigningEnabled, Unsigned: !c.opt.Sign})
	switch {
	case err != nil:
		return err
	case st != wire.StatusSuccess:
		return &StatusError{wire.CmdSessionSetup, st}
	case c.m.Signer == nil && (c.opt.Sign || c.opt.Encrypt):
		return fmt.Errorf("the server took %q for a guest: there is nothing to sign or encrypt with", c.opt.User)
	case c.opt.Encrypt && c.m.Out == nil:
		return fmt.Errorf("the server encrypts nothing with dialect %v", c.m.Dialect)
	}
	if flags&(wire.SessionFlagIsGuest|wire.SessionFlagIsNull) == 0 {
		c.m.Sign = c.opt.Sign || c.m.Negotiate.SecurityMode&wire.NegotiateSigningRequired != 0
	}
	c.m.Encrypt = c.m.Encrypt || c.opt.Encrypt
	if c.m.Encrypt && c.m.Out == nil {
		return broken("encryption without a cipher")
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
	call.sign = c.m.Signer != nil // 3.1.1 wants it
	if err := call.do(ctx, wire.CmdTreeConnect, 1, transport.Piece{}); err != nil {
		return err
	}
	call.sign = false
	resp, err := wire.ParseTreeConnectResponse(call.resp.Msg)
	if err != nil {
		return err
	}
	if resp.ShareType != wire.ShareTypeDisk {
		return fmt.Errorf("%s is not a share of files", share)
	}
	c.m.TreeID = call.resp.TreeID
	if resp.ShareFlags&wire.ShareFlagEncryptData != 0 && !c.m.Encrypt {
		if c.m.Out == nil {
			return fmt.Errorf("the share %s wants encryption, and dialect %v has none", share, c.m.Dialect)
		}
		c.m.Encrypt = true
	}
	return nil
}

// fill asks for credits until there are as many as wanted, or the server gives no more.
func (c *Client) fill(ctx context.Context) error {
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

// Machine is what was negotiated: to be looked at.
func (c *Client) Machine() *Machine { return &c.m }

// Credits are those held at the moment.
func (c *Client) Credits() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.credits
}

// Err is why the connection has ended, or nil.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends the connection, and with it the session, and waits until all memory is the caller's again.
func (c *Client) Close() {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	c.tc.Disconnect(nil, false)
	<-c.done
}

// Info describes the connection.
func (c *Client) Info() *transport.Info { return c.tc.Info() }
