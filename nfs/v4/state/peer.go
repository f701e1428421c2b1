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

// peerLocked finds what an address has of the tables, or creates an empty entry.
func (s *Clients) peerLocked(addr netip.Addr) *peer {
	p := s.peers[addr]
	if p == nil {
		p = &peer{addr: addr}
		s.peers[addr] = p
	}
	return p
}

// makeRoomLocked makes room for another client ID of an address, and reports whether there is room. It removes unconfirmed
// client IDs first.
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

// evictLocked removes one of the clients that match: the oldest unconfirmed one, or else the one that expired first.
// It returns false if there is neither.
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

// makeSessionRoomLocked makes room for another session of the peer. It reduces the slots in fore to what the budget of
// reply caches allows, and returns the bytes it has reserved of that budget, or 0 if there is no room. An address that has
// used up its own part gets room from its own expired clients only.
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

// evictExpiredLocked removes the client with sessions that expired first, of the peer if that is not nil. It returns false
// if there is none.
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

// oldestLocked is the client that matches and has been silent for longest, or nil.
func (s *Clients) oldestLocked(now time.Time, match func(*Client) bool) (oldest *Client) {
	for _, c := range s.byID {
		if match(c) && (oldest == nil || c.age(now) > oldest.age(now)) {
			oldest = c
		}
	}
	return oldest
}

// endSessionLocked removes a session from the tables, and returns its bytes to the budgets.
func (s *Clients) endSessionLocked(se *Session) {
	se.dead.Store(true)
	delete(s.sessions, se.ID)
	p := se.Client.peer
	p.sessions--
	p.replies -= se.replies
	s.replies -= se.replies
}

// endPeerLocked forgets an address that has no client ID any more.
func (s *Clients) endPeerLocked(p *peer) {
	if p.clients == 0 {
		delete(s.peers, p.addr)
	}
}
