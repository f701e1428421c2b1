package smb

import (
	"context"
	"errors"
	"time"

	"fileserver/smb/crypt"
	"fileserver/smb/ntlm"
	"fileserver/smb/spnego"
	"fileserver/smb/wire"
)

// maxSetups bounds the authentications that are being made on a connection.
const maxSetups = 16

// setup is an authentication being made: of a new session, a further channel of
// one, or a session that is there already.
type setup struct {
	id       uint64
	session  *Session // nil: a new one
	binding  bool     // session is on other connections only
	busy     bool     // a request of it is being handled; guarded by Conn.mu
	spnego   *spnego.Acceptor
	ntlm     *ntlm.Mechanism
	preauth  crypt.Preauth
	identity *Identity // whom the mechanism's look at the users has found
	known    bool      // it is one of them
}

// sessionSetupRequest is a SESSION_SETUP (MS-SMB2 3.3.5.5).
type sessionSetupRequest struct {
	needsNothing
	wire.SessionSetupRequest
	login *login // the outcome of the authentication, once it has one
}

// login is an authentication that has ended, and may not have been answered.
type login struct {
	*setup
	err    error // why it has failed, if it has
	answer []byte
}

func parseSessionSetup(r *request) (operation, error) {
	q, err := wire.ParseSessionSetupRequest(r.msg)
	return &sessionSetupRequest{SessionSetupRequest: q}, err
}

func (q *sessionSetupRequest) run(ctx context.Context, r *request) wire.Status {
	if q.login != nil { // its answer had to wait
		return q.finish(ctx, r)
	}
	n := r.conn.neg.Load()
	if r.conn.srv.cfg.Encryption == Required && n.cipher == crypt.NoCipher {
		r.conn.log.Warn("smb: a client that cannot encrypt is refused", "dialect", n.dialect)
		return wire.StatusAccessDenied
	}
	u, st := r.setup(&q.SessionSetupRequest)
	if st != wire.StatusSuccess {
		return st
	}
	r.hdr.SessionID = u.id
	if n.dialect == wire.Dialect311 {
		u.preauth.Add(r.msg)
	}
	answer, done, err := u.spnego.Step(q.SecurityBuffer)
	if err == nil && !done {
		r.sealed = func(msg []byte) {
			if n.dialect == wire.Dialect311 {
				u.preauth.Add(msg)
			}
			r.conn.release(u)
		}
		r.reply(&wire.SessionSetupResponse{SecurityBuffer: answer})
		return wire.StatusMoreProcessingRequired
	}
	r.conn.forget(u)
	if err != nil && u.guest(r.conn.srv, err) {
		answer, err = acceptCompleted, nil
	}
	q.login = &login{u, err, answer}
	if wait, ok := r.throttle(q.login); !ok {
		return wire.StatusAccountLockedOut
	} else if wait > 0 {
		return r.delay(wait)
	}
	return q.finish(ctx, r)
}

// finish answers the authentication that has ended.
func (q *sessionSetupRequest) finish(ctx context.Context, r *request) wire.Status {
	l := q.login
	if l.err != nil {
		return r.loginFailed(l.setup, l.err)
	}
	flags, st := r.complete(ctx, l.setup, &q.SessionSetupRequest)
	if st != wire.StatusSuccess {
		return st
	}
	if s := r.conn.srv.session(l.id); s != nil && !s.current() { // CheckUsers has not known of the session
		s.end(ctx)
		return wire.StatusLogonFailure
	}
	return r.reply(&wire.SessionSetupResponse{Flags: flags, SecurityBuffer: l.answer})
}

// throttle counts the login, and returns how long its answer has to wait, or that it is refused (see package throttle).
// A login without a user's name tests no password, and does not wait.
func (r *request) throttle(l *login) (wait time.Duration, ok bool) {
	c := r.conn
	if l.identity == nil {
		return 0, true
	}
	if wait, ok = c.srv.logins.Attempt(c.info.RemoteAddr.Addr(), l.identity.Name, l.err != nil, time.Now()); !ok {
		c.log.Warn("smb: login refused: too many of the user's have failed from the address", "user", l.identity.Name)
		r.observeFailure()
	}
	return wait, ok
}

// observeFailure tells the observer of a login that has failed.
func (r *request) observeFailure() {
	if o := r.conn.srv.cfg.Observer; o != nil {
		o.LoginFailed(r.conn.info)
	}
}

// setup finds the authentication that the request goes on with, or begins one.
func (r *request) setup(q *wire.SessionSetupRequest) (*setup, wire.Status) {
	c := r.conn
	id := r.hdr.SessionID
	var bind *Session
	if q.Flags&wire.SessionFlagBinding != 0 {
		var st wire.Status
		if bind, st = r.bindable(id); st != wire.StatusSuccess {
			return nil, st
		}
	}
	if id == 0 {
		id = c.srv.newSessionID()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	u := c.setups[id]
	switch {
	case u != nil && u.busy, u != nil && u.binding != (bind != nil):
		return nil, wire.StatusInvalidParameter
	case u != nil:
		u.busy = true
		return u, wire.StatusSuccess
	case len(c.setups) >= maxSetups:
		return nil, wire.StatusInsufficientResources
	case r.session == nil && bind == nil && r.hdr.SessionID != 0:
		return nil, wire.StatusUserSessionDeleted
	}
	u = &setup{id: id, busy: true, session: r.session, preauth: c.preauth}
	if bind != nil {
		u.session, u.binding = bind, true
	}
	u.spnego = spnego.NewAcceptor(spnego.Offer{OID: spnego.OIDNTLM, Raw: ntlm.IsToken, New: func() spnego.Mechanism {
		u.ntlm = ntlm.NewMechanism(c.srv.target, u.lookup(c.srv))
		return u.ntlm
	}})
	c.setups[id] = u
	return u, wire.StatusSuccess
}

// release lets the next request of an authentication in.
func (c *Conn) release(u *setup) {
	c.mu.Lock()
	defer c.mu.Unlock()
	u.busy = false
}

// forget ends an authentication.
func (c *Conn) forget(u *setup) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.setups[u.id] == u {
		delete(c.setups, u.id)
	}
}

// bindable is the session that a further channel is asked for, if that may be (MS-SMB2 3.3.5.5, 3.3.5.2.4). Its key signs the refusal, too.
func (r *request) bindable(id uint64) (*Session, wire.Status) {
	n := r.conn.neg.Load()
	s := r.conn.srv.session(id)
	signed := r.hdr.Flags&wire.FlagSigned != 0
	authentic := s != nil && signed && r.verify(s.signer)
	if authentic {
		if s.newBinding(r.hdr.Signature) {
			r.conn.mu.Lock()
			r.conn.binding = s.id
			r.conn.mu.Unlock()
		}
		// The responses to a binding that is not complete, or fails, are signed with the session's key: the protocol wants it so, also with
		// AES-GMAC, whose nonces may repeat on this connection (MS-SMB2 3.3.4.1.1).
		r.signer, r.sign = s.signer, true
	}
	switch {
	case s != nil && s.signing != crypt.AESGMAC && n.signing == crypt.AESGMAC:
		return nil, wire.StatusNotSupported
	case s != nil && s.signing == crypt.AESGMAC && n.signing != crypt.AESGMAC:
		return nil, wire.StatusRequestOutOfSequence
	case n.dialect < wire.Dialect300 || n.serverCaps&wire.CapMultiChannel == 0:
		return nil, wire.StatusRequestNotAccepted
	case s == nil:
		return nil, wire.StatusUserSessionDeleted
	case r.session != nil:
		return nil, wire.StatusRequestNotAccepted // it is on this connection
	case n.dialect != s.dialect || n.cipher != s.cipher || !signed:
		return nil, wire.StatusInvalidParameter
	case !s.who().authenticated():
		return nil, wire.StatusNotSupported
	case !authentic:
		return nil, wire.StatusAccessDenied
	}
	return s, wire.StatusSuccess
}

// lookup finds the hash of a user for NTLM, and notes who that would be.
func (u *setup) lookup(s *Server) func(ntlm.Identity) ([16]byte, bool) {
	return func(id ntlm.Identity) (none [16]byte, ok bool) {
		user, ok, err := s.cfg.Users.Lookup(id.User)
		if err != nil {
			s.cfg.Logger.Error("smb: the users cannot be read", "err", err)
		}
		if !ok {
			u.identity = &Identity{Name: id.User, Domain: id.Domain}
			return none, false
		}
		u.identity = &Identity{Name: user.Name, Domain: id.Domain, Cred: credOf(&user), hash: user.NTHash}
		u.known = true
		return user.NTHash, true
	}
}

// acceptCompleted is a NegTokenResp that says no more than that (RFC 4178 4.2.2).
var acceptCompleted = []byte{0xa1, 0x07, 0x30, 0x05, 0xa0, 0x03, 0x0a, 0x01, 0x00}

// guest reports whether a failed login is let in as the guest: a user whom we do not know, where that is configured. What
// has a session is not for guests, which complete tells who would bind one.
func (u *setup) guest(s *Server, err error) bool {
	if s.cfg.Guest == nil || u.identity == nil || u.known || u.session != nil && !u.binding || !errors.Is(err, ntlm.ErrLogon) {
		return false
	}
	u.identity.Cred, u.identity.Guest = *s.cfg.Guest.Clone(), true
	return true
}

// loginFailed says why an authentication has failed, and ends the session that it was to renew.
func (r *request) loginFailed(u *setup, err error) wire.Status {
	c := r.conn
	if u.session != nil && !u.binding {
		u.session.end(c.srv.ctx) // it has not been renewed (MS-SMB2 3.3.5.5.3)
	}
	name := ""
	if u.identity != nil {
		name = u.identity.Name
	}
	c.log.Warn("smb: login failed", "user", name, "reason", err)
	r.observeFailure()
	if errors.Is(err, spnego.ErrMalformed) || errors.Is(err, ntlm.ErrMalformed) {
		return wire.StatusInvalidParameter
	}
	return wire.StatusLogonFailure
}

// complete makes the session, or the channel, or renews the session, and returns the flags of the response.
func (r *request) complete(ctx context.Context, u *setup, q *wire.SessionSetupRequest) (uint16, wire.Status) {
	c, srv := r.conn, r.conn.srv
	var key []byte // nil: there is none
	switch {
	case u.identity != nil && u.identity.Guest:
	case u.ntlm.Result.Anonymous:
		if srv.cfg.Anonymous == nil {
			return 0, r.loginFailed(u, errAnonymous)
		}
		u.identity = &Identity{Anonymous: true, Cred: *srv.cfg.Anonymous.Clone()}
		key = u.ntlm.Result.SessionKey[:]
	default:
		key = u.ntlm.Result.SessionKey[:]
	}
	if !u.identity.authenticated() && (srv.cfg.Signing == Required || srv.cfg.Encryption == Required) {
		return 0, wire.StatusAccessDenied
	}
	if i := u.identity; i.authenticated() {
		srv.logins.Succeeded(c.info.RemoteAddr.Addr(), i.Name, time.Now())
	}
	if s := u.session; s != nil {
		switch {
		case !u.binding:
			return r.renew(s, u.identity)
		case s.who().Name != u.identity.Name || !u.identity.authenticated():
			return 0, wire.StatusAccessDenied
		}
		return 0, r.bind(u, key)
	}
	return r.newSession(ctx, u, q, key)
}

// sessionFlags are the flags of the response (MS-SMB2 2.2.6).
func sessionFlags(s *Session) (flags uint16) {
	switch {
	case s.who().Guest:
		flags |= wire.SessionFlagIsGuest
	case s.who().Anonymous:
		flags |= wire.SessionFlagIsNull
	}
	if s.encrypt {
		flags |= wire.SessionFlagEncryptData
	}
	return flags
}
