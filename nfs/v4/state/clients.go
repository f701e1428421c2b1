package state

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"fileserver/nfs/v4/proto"
)

// Clients are all clients of a server.
type Clients struct {
	cfg   Config
	grace *Grace

	lastState atomic.Uint64
	held      stateCount // by all clients

	mu       sync.RWMutex
	byID     map[uint64]*Client
	byOwner  map[string]*ownerRecords
	sessions map[proto.SessionID]*Session
	peers    map[netip.Addr]*peer
	replies  int64 // bytes promised to the reply caches of all sessions
}

// ownerRecords are the client IDs of one client owner: there may be one that is in use, and one
// that has yet to be confirmed by CREATE_SESSION and will replace it (RFC 8881 18.35.4).
type ownerRecords struct{ confirmed, unconfirmed *Client }

// New makes the state of a server. known are the records of a former run: if there are any the grace period begins
// now and lasts grace.
func New(cfg Config, known []string, now time.Time, grace time.Duration) *Clients {
	return &Clients{
		cfg: cfg.withDefaults(), grace: newGrace(known, now, grace),
		byID: map[uint64]*Client{}, byOwner: map[string]*ownerRecords{}, sessions: map[proto.SessionID]*Session{},
		peers: map[netip.Addr]*peer{},
	}
}

// Grace is the grace period.
func (s *Clients) Grace() *Grace { return s.grace }

// Lease is the lease time.
func (s *Clients) Lease() time.Duration { return s.cfg.Lease }

// Session finds a session.
func (s *Clients) Session(id *proto.SessionID) *Session {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.sessions[*id]
}

// Stats are the current figures.
type Stats struct {
	Clients, Sessions, States int
	ReplyCache                int64 // bytes promised to the reply caches of sessions
}

// Stats counts the clients, their sessions and their state.
func (s *Clients) Stats() (st Stats) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	st.Clients, st.Sessions, st.ReplyCache = len(s.byID), len(s.sessions), s.replies
	for _, c := range s.byID {
		c.mu.Lock()
		st.States += len(c.states)
		c.mu.Unlock()
	}
	return st
}

// Tick removes clients that expired unconfirmed or without state, and those whose courtesy is over. It ends the grace
// period when its time is up.
func (s *Clients) Tick(now time.Time) (a Actions) {
	s.mu.Lock()
	for _, c := range s.byID {
		if c.Expired(now) && (!c.confirmed || !c.hasState() || c.age(now) > s.cfg.Lease+s.cfg.Courtesy) {
			a.add(s.removeLocked(c))
		}
	}
	s.mu.Unlock()
	if s.grace.expire(now) {
		a.add(s.endGrace())
	}
	return a
}

// Close ends the state of all clients when the server stops. Their records stay, so that they can reclaim after a restart
// (RFC 8881 8.4.2).
func (s *Clients) Close() (a Actions) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.byID {
		a.add(s.removeLocked(c))
	}
	a.Forget = nil
	return a
}

// Expire removes the client with the ID, which a conflicting lock names, if its lease has expired; otherwise it returns false.
func (s *Clients) Expire(id uint64, now time.Time) (Actions, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.byID[id]
	if c == nil || !c.Expired(now) {
		return Actions{}, false
	}
	return s.removeLocked(c), true
}

// ExpireHolders removes all clients that have the file open and whose lease has expired. It returns false if there are none.
func (s *Clients) ExpireHolders(file FileKey, now time.Time) (a Actions, any bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.byID {
		if c.Expired(now) && c.hasOpen(file) {
			a.add(s.removeLocked(c))
			any = true
		}
	}
	return a, any
}

// removeLocked ends a client ID, its sessions and its state.
func (s *Clients) removeLocked(c *Client) Actions {
	for _, se := range c.sessions {
		s.endSessionLocked(se)
	}
	c.sessions = nil
	delete(s.byID, c.ID)
	c.peer.clients--
	if !c.confirmed {
		c.peer.unconfirmed--
	}
	s.endPeerLocked(c.peer)
	if r := s.byOwner[c.owner]; r != nil {
		if r.confirmed == c {
			r.confirmed = nil
		}
		if r.unconfirmed == c {
			r.unconfirmed = nil
		}
		if r.confirmed == nil && r.unconfirmed == nil {
			delete(s.byOwner, c.owner)
		}
	}
	return c.purge()
}

// endGrace forgets the records of clients that did not come back, or came back and did not reclaim:
// what they held may now be given to others. It takes mu.
func (s *Clients) endGrace() Actions {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.endGraceLocked()
}

// endGraceLocked is endGrace for a caller that holds mu.
func (s *Clients) endGraceLocked() (a Actions) {
	a.GraceOver = true
	alive := map[string]bool{}
	for _, c := range s.byID {
		if c.confirmed && (c.done.Load() || c.hasState()) {
			alive[c.Record()] = true
		}
	}
	for _, k := range s.grace.missing() {
		if !alive[k] {
			a.Forget = append(a.Forget, k)
		}
	}
	for _, c := range s.byID {
		if !alive[c.Record()] {
			c.recorded.Store(false)
		}
	}
	return a
}

// DestroyClientID ends a client ID that has neither sessions nor state (RFC 8881 18.50).
func (s *Clients) DestroyClientID(id uint64) (Actions, proto.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.byID[id]
	switch {
	case c == nil:
		return Actions{}, proto.ErrStaleClientID
	case len(c.sessions) > 0 || c.hasState():
		return Actions{}, proto.ErrClientIDBusy
	}
	a := s.removeLocked(c)
	if s.grace.done(c.Record()) {
		a.add(s.endGraceLocked())
	}
	return a, proto.OK
}

// ReclaimComplete ends a client's reclaiming (RFC 8881 18.51).
func (s *Clients) ReclaimComplete(c *Client) (Actions, proto.Status) {
	if c.done.Swap(true) {
		return Actions{}, proto.ErrCompleteAlready
	}
	if s.grace.done(c.Record()) {
		return s.endGrace(), proto.OK
	}
	return Actions{}, proto.OK
}
