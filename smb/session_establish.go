package smb

import (
	"context"
	"crypto/rand"
	"errors"
	"math"
	"time"

	"fileserver/internal/users"
	"fileserver/smb/crypt"
	"fileserver/smb/transport"
	"fileserver/smb/wire"
	"fileserver/vfs"
)

var errAnonymous = errors.New("smb: the client gives no name, and such are not let in")

// credOf is who a user is on the file system.
func credOf(u *users.User) vfs.Cred {
	return vfs.Cred{UID: u.UID, GID: u.GID, Groups: append([]uint32(nil), u.Groups...)}
}

// newSession makes a session of an authentication that has succeeded (MS-SMB2 3.3.5.5.3). Guests have no key. That of the anonymous
// protects nothing, as everybody may know it: it is there for clients that sign or encrypt nevertheless, as
// Samba's do.
func (r *request) newSession(ctx context.Context, u *setup, q *wire.SessionSetupRequest, key []byte) (uint16, wire.Status) {
	c, srv := r.conn, r.conn.srv
	n := c.neg.Load()
	s := &Session{
		id: u.id, srv: srv, dialect: n.dialect, client: n.clientGUID, addr: c.t.Info().RemoteAddr.Addr(), cipher: n.cipher, signing: n.signing, since: time.Now(),
		channels: map[*Conn]*channel{}, trees: map[uint32]*Tree{}, opens: map[uint64]*Open{},
	}
	s.user.Store(u.identity)
	ch := &channel{session: s, conn: c}
	if key != nil {
		if err := s.keys(n, key, &u.preauth); err != nil {
			c.log.Error("smb: session keys", "err", err)
			return 0, wire.StatusInternalError
		}
		ch.signer = s.signer
		if u.identity.authenticated() {
			s.signed = srv.cfg.Signing == Required || q.SecurityMode&wire.NegotiateSigningRequired != 0
			s.encrypt = srv.cfg.Encryption >= Desired && s.sealOut != nil
		}
	}
	if q.PreviousSessionID != s.id {
		if old := srv.session(q.PreviousSessionID); old != nil && s.replaces(old) {
			old.end(ctx) // the client has come back before we knew it was gone
		}
	}
	if st := srv.addSession(s); st != wire.StatusSuccess {
		return 0, st
	}
	if st := c.attach(ch); st != wire.StatusSuccess {
		s.end(ctx)
		return 0, st
	}
	c.log.Info("smb: session", "user", s.who().Name, "uid", s.who().Cred.UID, "dialect", n.dialect, "signing", r.signingOf(s, n),
		"encryption", encryptionOf(s), "rdma", rdmaOf(c, s.encrypt, s.signed))
	r.signer, r.sign = ch.signer, u.identity.authenticated()
	return sessionFlags(s), wire.StatusSuccess
}

// keys derives the session's keys.
func (s *Session) keys(n *negotiated, key []byte, preauth *crypt.Preauth) (err error) {
	k := crypt.DeriveKeys(crypt.Dialect(n.dialect), key, (*[64]byte)(preauth), n.cipher)
	if s.signer, err = crypt.NewSigner(n.signing, k.Signing); err != nil || n.cipher == crypt.NoCipher {
		return err
	}
	if s.sealOut, err = crypt.NewSealer(n.cipher, k.ToClient); err != nil {
		return err
	}
	s.sealIn, err = crypt.NewSealer(n.cipher, k.ToServer)
	return err
}

// bind adds this connection to a session, with a signing key of its own.
func (r *request) bind(u *setup, key []byte) wire.Status {
	c := r.conn
	n := c.neg.Load()
	k := crypt.DeriveKeys(crypt.Dialect(n.dialect), key, (*[64]byte)(&u.preauth), n.cipher)
	signer, err := crypt.NewSigner(n.signing, k.Signing)
	if err != nil {
		return wire.StatusInternalError
	}
	ch := &channel{session: u.session, conn: c, signer: signer}
	if st := c.attach(ch); st != wire.StatusSuccess {
		return st
	}
	c.log.Info("smb: channel", "user", u.session.who().Name, "dialect", n.dialect)
	r.signer, r.sign = signer, true
	return wire.StatusSuccess
}

// renew answers a successful reauthentication: the keys stay, and what is open (MS-SMB2 3.3.5.5.3). What the session does from now on
// it does as who has authenticated now.
func (r *request) renew(s *Session, i *Identity) (uint16, wire.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, wire.StatusUserSessionDeleted
	}
	if old := s.user.Swap(i); old.Name != i.Name {
		r.conn.log.Info("smb: session: another user", "was", old.Name, "user", i.Name, "uid", i.Cred.UID)
	}
	r.sign = r.sign || r.signer != nil
	return sessionFlags(s), wire.StatusSuccess
}

// maxChannels are the connections of a session, as with Windows.
const maxChannels = 32

// attach makes a channel known to its session and its connection.
func (c *Conn) attach(ch *channel) wire.Status {
	s := ch.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return wire.StatusUserSessionDeleted
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return wire.StatusUserSessionDeleted
	case len(s.channels) >= maxChannels:
		return wire.StatusInsufficientResources
	}
	s.channels[c] = ch
	c.channels[s.id] = ch
	c.proven = c.proven || s.who().authenticated()
	if !c.authenticated {
		c.authenticated = true
		if l, ok := c.t.(transport.Authenticator); ok {
			l.Authenticated()
		}
	}
	return wire.StatusSuccess
}

// replaces reports whether s may end old, which its client names as its previous session. Both must have proved that they are
// the same user (MS-SMB2 3.3.5.5.3): guests and the anonymous have not.
func (s *Session) replaces(old *Session) bool {
	a, b := s.who(), old.who()
	return a.authenticated() && b.authenticated() && a.Name == b.Name && a.Cred.UID == b.Cred.UID
}

// newSessionID returns an ID for a session that nobody can foretell (MS-SMB2 3.3.1.8). It has 32 bits, because there
// are clients that keep no more, and is neither 0 nor all ones.
func (s *Server) newSessionID() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		var b [4]byte
		_, _ = rand.Read(b[:]) // never fails
		id := uint64(le.Uint32(b[:]))
		if id != 0 && id != math.MaxUint32 && s.sessions[id] == nil {
			return id
		}
	}
}

// session finds a complete session.
func (s *Server) session(id uint64) *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id]
}

// addSession makes a session known. Another may have taken its ID since newSessionID chose it.
func (s *Server) addSession(ss *Session) wire.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing || len(s.sessions) >= s.cfg.MaxSessions || s.sessions[ss.id] != nil {
		return wire.StatusInsufficientResources
	}
	s.sessions[ss.id] = ss
	return wire.StatusSuccess
}

// signingOf, encryptionOf and rdmaOf say for the log what a session is like, and why it is slow if it is.
func (r *request) signingOf(s *Session, n *negotiated) string {
	switch {
	case s.signer == nil:
		return "none"
	case s.signed:
		return "required, " + n.signing.String()
	}
	return n.signing.String()
}

func encryptionOf(s *Session) string {
	switch {
	case s.encrypt:
		return "required, " + s.cipher.String()
	case s.sealOut != nil:
		return s.cipher.String()
	}
	return "none"
}

func rdmaOf(c *Conn, encrypted, signed bool) string {
	switch {
	case c.placer == nil:
		return "no"
	case encrypted:
		return "no: what is encrypted goes inline"
	case signed:
		return "signed clients send data inline"
	}
	return "yes"
}
