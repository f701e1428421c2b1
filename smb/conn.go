package smb

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"fileserver/internal/admission"
	"fileserver/smb/crypt"
	"fileserver/smb/transport"
	"fileserver/smb/wire"
)

// setupTimeout is how long a connection may take to authenticate somebody, and how long one may be without a session.
const setupTimeout = 45 * time.Second

var errSetupTimeout = errors.New("smb: nobody has authenticated in time")

// Conn is a connection (MS-SMB2 3.3.1.7). It implements [transport.Handler].
type Conn struct {
	srv    *Server
	t      transport.Conn
	info   *transport.Info
	placer transport.Placer // nil without RDMA
	log    *slog.Logger
	ctx    context.Context // ends with the connection
	cancel context.CancelFunc
	neg    atomic.Pointer[negotiated] // nil until then
	budget *admission.Budget

	mu            sync.Mutex
	window        *window
	first, last   *request // outstanding
	asyncs        int      // of them asynchronous
	lastAsync     uint64
	channels      map[uint64]*channel // by session
	past          *channel            // of the session that has ended last: its key signs that it has
	setups        map[uint64]*setup   // authentications being made, by session
	binding       uint64              // the session that the client has asked for last to be bound, with its key
	negotiating   bool                // a NEGOTIATE has come
	again         bool                // it was a multi-protocol one, and one more may come
	preauth       crypt.Preauth       // of the negotiation
	authenticated bool                // there has been a session
	proven        bool                // and one of a user who has proved who they are
	closed        bool
	stopping      bool // what is asked from now on is not answered
	busy          int  // compounds, and one until Closed has been handled
	timer         *time.Timer
}

// negotiated is what NEGOTIATE has settled (MS-SMB2 3.3.1.7). It does not change.
type negotiated struct {
	dialect           wire.Dialect
	clientGUID        wire.GUID
	clientCaps        wire.Capabilities
	clientSecurity    uint16
	serverCaps        wire.Capabilities
	serverSecurity    uint16
	cipher            crypt.Cipher // NoCipher: no encryption
	signing           crypt.Algorithm
	signingAsked      bool // the client has sent a signing context
	maxTransact       uint32
	maxRead, maxWrite uint32
	posix             bool         // both have the POSIX extensions
	leasesOnly        bool         // the client has a use for leases, and not for oplocks
	dialects          wire.Uint16s // as offered, for FSCTL_VALIDATE_NEGOTIATE_INFO
}

// Handler makes the server's side of a connection.
func (s *Server) Handler(t transport.Conn) transport.Handler {
	info := t.Info()
	c := &Conn{
		srv: s, t: t, info: info, placer: t.Placer(), window: newWindow(), busy: 1, budget: admission.New(int64(s.cfg.MaxHeld)),
		log:      s.cfg.Logger.With("remote", info.RemoteAddr, "transport", info.Transport),
		channels: map[uint64]*channel{}, setups: map[uint64]*setup{},
	}
	c.ctx, c.cancel = context.WithCancel(s.ctx)
	s.mu.Lock()
	s.conns[c] = struct{}{}
	s.wg.Add(1)
	closing := s.closing
	s.mu.Unlock()
	if s.cfg.Observer != nil {
		s.cfg.Observer.Opened(info)
	}
	c.mu.Lock()
	c.timer = time.AfterFunc(setupTimeout, c.timeout)
	c.mu.Unlock()
	if closing {
		go c.drop(errShutdown) // not from here: the transport may hold its lock
	}
	return c
}

// timeout ends a connection without sessions.
func (c *Conn) timeout() {
	c.mu.Lock()
	idle := len(c.channels) == 0 && !c.closed
	if !idle && !c.closed {
		c.timer.Reset(setupTimeout)
	}
	c.mu.Unlock()
	if idle {
		c.drop(errSetupTimeout)
	}
}

// dialect is the dialect negotiated, or 0.
func (c *Conn) dialect() wire.Dialect {
	if n := c.neg.Load(); n != nil {
		return n.dialect
	}
	return 0
}

// largeMTU reports whether requests of more than 64 KiB are paid for by CreditCharge.
func (c *Conn) largeMTU() bool {
	n := c.neg.Load()
	return n != nil && n.serverCaps&wire.CapLargeMTU != 0
}

// channel is the session's channel on this connection, or nil.
func (c *Conn) channel(session uint64) *channel {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.channels[session]
}

// pastChannel is the channel that has ended last, or nil.
func (c *Conn) pastChannel() *channel {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.past
}

// hasProvenUser reports whether a user has proved on this connection who they are. Before that nothing is decrypted, as with
// Windows and Samba: everybody may know the keys of the anonymous.
func (c *Conn) hasProvenUser() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.proven
}

// askedToBind reports whether the client has asked, with the session's key, to bind the session to this connection.
func (c *Conn) askedToBind(s *Session) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.binding == s.id
}

// drop ends the connection.
func (c *Conn) drop(err error) {
	c.log.Debug("smb: connection dropped", "reason", err)
	c.t.Disconnect(err, false)
}

// Closed implements [transport.Handler].
func (c *Conn) Closed(err error) {
	c.cancel()
	c.mu.Lock()
	c.closed = true
	c.timer.Stop()
	c.mu.Unlock()
	if c.srv.cfg.Observer != nil {
		c.srv.cfg.Observer.Closed(c.info, err)
	}
	c.srv.workers.Submit((*connEnd)(c)) // ending sessions closes files
}

// stop ends the connection when all that it has asked for is answered; what waits does not any longer.
func (c *Conn) stop() {
	c.mu.Lock()
	c.stopping = true
	drained := c.busy == 1 && !c.closed
	c.mu.Unlock()
	c.cancelAll()
	if drained {
		c.t.Disconnect(errShutdown, true)
	}
}

// connEnd is the end of a connection, as a workers.Task.
type connEnd Conn

// Run implements workers.Task: nobody waits any more, and the sessions that have no other channel end.
func (e *connEnd) Run() {
	c := (*Conn)(e)
	c.mu.Lock()
	channels := c.channels
	c.channels, c.setups = map[uint64]*channel{}, map[uint64]*setup{}
	c.mu.Unlock()
	c.cancelAll()
	for _, ch := range channels {
		ch.session.unbind(c)
	}
	c.done()
}

// done counts a compound as ended; with the last, after Closed, the connection is no more.
func (c *Conn) done() {
	c.mu.Lock()
	c.busy--
	last, drained := c.busy == 0, c.stopping && c.busy == 1 && !c.closed
	c.mu.Unlock()
	if drained {
		c.t.Disconnect(errShutdown, true)
	}
	if !last {
		return
	}
	s := c.srv
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	s.wg.Done()
}
