package state

import (
	"net/netip"
	"time"

	"fileserver/nfs/v4/proto"
)

// Caller is who sends a request, and from where.
type Caller struct {
	Principal Principal
	Addr      netip.Addr
	Conn      uint64 // the connection, by a number unique in the process
}

// addressShare is the part of a table that one address may have: a quarter.
const addressShare = 4

// slotOverhead is what a slot takes beside its cached reply, bytes.
const slotOverhead = 128

// peer is what one address has of the tables. Guarded by Clients.mu.
type peer struct {
	addr        netip.Addr
	clients     int // client IDs, those below included
	unconfirmed int
	sessions    int
	replies     int64 // bytes promised to the reply caches of its sessions

	held stateCount // changed under Client.mu, by each of its clients
}

// peer finds the account of an address, or opens it. Clients.mu is held.
func (s *Clients) peerLocked(addr netip.Addr) *peer {
	p := s.peers[addr]
	if p == nil {
		p = &peer{addr: addr}
		s.peers[addr] = p
	}
	return p
}

// makeRoom sees to it that an address can have another client ID; otherwise it returns false. Client IDs that nobody has
// confirmed go first. Clients.mu is held.
func (s *Clients) makeRoomLocked(addr netip.Addr, now time.Time, a *Actions) bool {
	of := func(c *Client) bool { return c.peer.addr == addr }
	if p := s.peers[addr]; p != nil {
		if p.unconfirmed >= s.cfg.MaxUnconfirmed {
			a.add(s.removeLocked(s.oldestLocked(now, func(c *Client) bool { return of(c) && !c.confirmed })))
		}
		if p.clients >= max(1, s.cfg.MaxClients/addressShare) && !s.evictLocked(now, a, of) {
			return false
		}
	}
	return len(s.byID) < s.cfg.MaxClients || s.evictLocked(now, a, func(*Client) bool { return true })
}

// evict removes one of the clients that match: the oldest unconfirmed one, or else the one that has been expired for longest.
// It returns false if there is neither. Clients.mu is held.
func (s *Clients) evictLocked(now time.Time, a *Actions, match func(*Client) bool) bool {
	c := s.oldestLocked(now, func(c *Client) bool { return match(c) && !c.confirmed })
	if c == nil {
		c = s.oldestLocked(now, func(c *Client) bool { return match(c) && c.Expired(now) })
	}
	if c == nil {
		return false
	}
	a.add(s.removeLocked(c))
	return true
}

// makeSessionRoom sees to it that the peer can have another session with these attributes, of which it reduces the slots to
// what the budget of reply caches has, and returns what is reserved of that. It returns 0 if there is no room.
// What an address has too much of, only its own expired clients make room for. Clients.mu is held.
func (s *Clients) makeSessionRoomLocked(p *peer, fore *proto.ChannelAttrs, now time.Time, a *Actions) int64 {
	per := int64(fore.MaxResponseCached) + slotOverhead
	for p.sessions >= max(1, s.cfg.MaxAllSessions/addressShare) || s.cfg.ReplyCache/addressShare-p.replies < per {
		if !s.evictExpiredLocked(now, a, p) {
			return 0
		}
	}
	for len(s.sessions) >= s.cfg.MaxAllSessions || s.cfg.ReplyCache-s.replies < per {
		if !s.evictExpiredLocked(now, a, nil) {
			return 0
		}
	}
	free := min(s.cfg.ReplyCache-s.replies, s.cfg.ReplyCache/addressShare-p.replies)
	// A part of what is free only, so that there is something left for the next.
	fore.MaxRequests = uint32(min(int64(fore.MaxRequests), max(1, free/32/per)))
	n := int64(fore.MaxRequests) * per
	s.replies += n
	p.replies += n
	return n
}

// evictExpired removes the client with sessions that has been expired for longest, of the peer if that is not nil. It returns
// false if there is none. Clients.mu is held.
func (s *Clients) evictExpiredLocked(now time.Time, a *Actions, of *peer) bool {
	c := s.oldestLocked(now, func(c *Client) bool {
		return (of == nil || c.peer == of) && len(c.sessions) > 0 && c.Expired(now)
	})
	if c == nil {
		return false
	}
	a.add(s.removeLocked(c))
	return true
}

// oldest is the client that matches and has been silent for longest, or nil. Clients.mu is held.
func (s *Clients) oldestLocked(now time.Time, match func(*Client) bool) (oldest *Client) {
	for _, c := range s.byID {
		if match(c) && (oldest == nil || c.age(now) > oldest.age(now)) {
			oldest = c
		}
	}
	return oldest
}

// endSession takes a session out of the tables, and gives back what it had of the budgets. Clients.mu is held.
func (s *Clients) endSessionLocked(se *Session) {
	se.dead.Store(true)
	delete(s.sessions, se.ID)
	p := se.Client.peer
	p.sessions--
	p.replies -= se.replies
	s.replies -= se.replies
}

// endPeer closes the account of an address that has nothing any more. Clients.mu is held.
func (s *Clients) endPeerLocked(p *peer) {
	if p.clients == 0 {
		delete(s.peers, p.addr)
	}
}
