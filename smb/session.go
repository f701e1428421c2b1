package smb

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fileserver/internal/slab"
	"fileserver/smb/crypt"
	"fileserver/smb/wire"
	"fileserver/vfs"
)

// Identity is who a session is.
type Identity struct {
	Name, Domain string
	Cred         vfs.Cred
	Guest        bool
	Anonymous    bool
	hash         [16]byte // of the password that has been given
}

// authenticated reports whether the client has proved who it is.
func (i *Identity) authenticated() bool { return !i.Guest && !i.Anonymous }

// Session is a session (MS-SMB2 3.3.1.8): a user, on one or more connections.
type Session struct {
	id      uint64
	srv     *Server
	dialect wire.Dialect
	client  wire.GUID
	addr    netip.Addr // where its first channel comes from
	cipher  crypt.Cipher
	signing crypt.Algorithm // of its first channel
	signed  bool            // requests must be signed, or encrypted
	encrypt bool            // requests must be encrypted
	signer  *crypt.Signer   // of its first channel; nil where there is no key
	sealOut *crypt.Sealer   // of responses; nil where there is no encryption
	sealIn  *crypt.Sealer   // of requests
	since   time.Time
	sealed  atomic.Bool              // the client has encrypted a request without having to
	ranges  atomic.Int64             // byte-range locks of its opens
	user    atomic.Pointer[Identity] // a reauthentication can change it

	mu       sync.Mutex
	channels map[*Conn]*channel
	trees    map[uint32]*Tree
	lastTree uint32
	bindings map[[16]byte]struct{} // signatures of the binding requests that have come, up to maxBindings
	opens    map[uint64]*Open      // by volatile ID
	closed   bool
}

// channel is a session on one connection (MS-SMB2 3.3.1.14). It does not change.
type channel struct {
	session *Session
	conn    *Conn
	signer  *crypt.Signer // nil where there is no key
}

// who is who the session is.
func (s *Session) who() *Identity { return s.user.Load() }

var errNoKeys = errors.New("smb: a session without keys cannot encrypt")

// seal encrypts the response of n bytes that lies in buf at headroom.
func (s *Session) seal(buf *slab.Buf, n int) error {
	if s.sealOut == nil {
		return errNoKeys
	}
	b := buf.Bytes()
	return s.sealOut.Seal(b[headroom-crypt.TransformLen:headroom+n], s.id)
}

// unseal decrypts a message in place.
func (s *Session) unseal(b []byte) ([]byte, error) {
	if s.sealIn == nil {
		return nil, errNoKeys
	}
	return s.sealIn.Open(b)
}

// maxBindings is how many binding requests of a session are remembered.
const maxBindings = 64

// newBinding reports whether a binding request with this signature comes for the first time. One that comes again may be a stranger's,
// who has captured it. What cannot be remembered any more is not new.
func (s *Session) newBinding(signature [16]byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, seen := s.bindings[signature]; seen || len(s.bindings) >= maxBindings {
		return false
	}
	if s.bindings == nil {
		s.bindings = map[[16]byte]struct{}{}
	}
	s.bindings[signature] = struct{}{}
	return true
}

// hasEnded reports whether the session has ended.
func (s *Session) hasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// tree finds a tree.
func (s *Session) tree(id uint32) *Tree {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trees[id]
}

// open finds an open and takes a reference.
func (s *Session) open(id wire.FileID) *Open {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.opens[id.Volatile]
	if o == nil || o.id != id {
		return nil
	}
	o.refs.Add(1)
	return o
}

// unbind takes the channel on c from the session, which ends with its last. On the others the client is told again of oplock breaks
// that it may not have heard of (MS-SMB2 3.3.4.6).
func (s *Session) unbind(c *Conn) {
	var again []func()
	s.mu.Lock()
	delete(s.channels, c)
	last := len(s.channels) == 0
	for _, o := range s.opens {
		if level, unheard := o.breakUnheard(c); unheard && !last {
			again = append(again, func() { o.sendBreak(level) })
		}
	}
	s.mu.Unlock()
	for _, tell := range again {
		tell()
	}
	if last {
		s.end(s.srv.ctx)
	}
}

// end ends the session on all its connections (MS-SMB2 3.3.7.1, 3.3.5.6). It may be called again.
func (s *Session) end(ctx context.Context) {
	srv := s.srv
	srv.mu.Lock()
	delete(srv.sessions, s.id)
	srv.mu.Unlock()
	s.mu.Lock()
	s.closed = true
	channels, opens := s.channels, s.opens
	s.channels, s.opens, s.trees = nil, nil, nil
	s.mu.Unlock()
	for c := range channels {
		c.mu.Lock()
		if ch := c.channels[s.id]; ch != nil {
			delete(c.channels, s.id)
			c.past = ch
		}
		c.mu.Unlock()
	}
	s.endOpens(ctx, slices.Collect(maps.Values(opens)))
}

// endOpens ends opens that are out of the session's table. The oldest is first, as with Windows: a LOCK of a later one
// that waits for it is granted before its own open ends.
func (s *Session) endOpens(ctx context.Context, opens []*Open) {
	s.srv.cfg.Files.Give(s.addr, len(opens))
	slices.SortFunc(opens, func(a, b *Open) int { return cmp.Compare(a.serial, b.serial) })
	for _, o := range opens {
		o.end(ctx)
	}
}

// addTree connects a tree; nil if the session has ended, or has too many.
func (s *Session) addTree(sh *Share) *Tree {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.trees) >= maxTrees {
		return nil
	}
	for {
		s.lastTree++
		if id := s.lastTree; id != 0 && id != ^uint32(0) && s.trees[id] == nil {
			t := &Tree{id: id, session: s, share: sh}
			s.trees[id] = t
			return t
		}
	}
}

// removeTree disconnects a tree and ends its opens (MS-SMB2 3.3.5.8).
func (s *Session) removeTree(ctx context.Context, t *Tree) {
	s.mu.Lock()
	delete(s.trees, t.id)
	var opens []*Open
	for id, o := range s.opens {
		if o.home.tree == t {
			opens = append(opens, o)
			delete(s.opens, id)
		}
	}
	s.mu.Unlock()
	s.endOpens(ctx, opens)
}

// removeShare disconnects the trees of a share that is not served any more (MS-SMB2 3.3.4.13).
func (s *Session) removeShare(ctx context.Context, sh *Share) {
	s.mu.Lock()
	var trees []*Tree
	for _, t := range s.trees {
		if t.share == sh {
			trees = append(trees, t)
		}
	}
	s.mu.Unlock()
	for _, t := range trees {
		s.removeTree(ctx, t)
	}
}

// full reports whether the client has as many files open as it may. A CREATE asks before it makes or overwrites a file; only
// publish decides.
func (s *Session) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.opens) >= maxOpens || s.srv.cfg.Files.Spent(s.addr)
}

// publish gives a complete open its ID and makes it known; the caller keeps a
// reference of its own. It fails if tree or session have ended meanwhile: then the open is the caller's to end.
func (s *Session) publish(o *Open) wire.Status {
	n := s.srv.lastFile.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return wire.StatusUserSessionDeleted
	case s.trees[o.home.tree.id] != o.home.tree:
		return wire.StatusNetworkNameDeleted
	case len(s.opens) >= maxOpens, !s.srv.cfg.Files.Take(s.addr):
		return wire.StatusTooManyOpenedFiles
	}
	o.id = wire.FileID{Persistent: n, Volatile: n ^ s.id<<32}
	o.refs.Add(1)
	s.opens[o.id.Volatile] = o
	return wire.StatusSuccess
}

// take removes an open from the session: who gets true ends it, once.
func (s *Session) take(o *Open) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opens[o.id.Volatile] != o {
		return false
	}
	delete(s.opens, o.id.Volatile)
	s.srv.cfg.Files.Give(s.addr, 1)
	return true
}
