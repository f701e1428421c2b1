package state

import (
	"fmt"
	"net/netip"
)

// Check compares what is counted with what there is.
func (s *Clients) Check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	peers, states, sessions := map[netip.Addr]*peer{}, 0, 0
	var replies, owners int64
	for id, c := range s.byID {
		if c.ID != id || c.gone {
			return fmt.Errorf("client %x is %x, gone %v", id, c.ID, c.gone)
		}
		if r := s.byOwner[c.owner]; r == nil || (r.confirmed == c) != c.confirmed || (r.unconfirmed == c) == c.confirmed {
			return fmt.Errorf("client %x (confirmed %v) is not the one of its owner: %+v", id, c.confirmed, r)
		}
		p := peers[c.peer.addr]
		if p == nil {
			p = &peer{addr: c.peer.addr}
			peers[p.addr] = p
		}
		p.clients++
		if !c.confirmed {
			p.unconfirmed++
			if len(c.sessions) > 0 || len(c.states) > 0 {
				return fmt.Errorf("client %x is not confirmed and has %d sessions", id, len(c.sessions))
			}
		}
		for _, se := range c.sessions {
			if s.sessions[se.ID] != se || se.Client != c || se.dead.Load() {
				return fmt.Errorf("session %x of client %x is not what is known by its ID", se.ID, id)
			}
			p.sessions++
			p.replies += se.replies
			replies += se.replies
		}
		sessions += len(c.sessions)
		states += len(c.states)
		for _, st := range c.states {
			p.held.add(1, len(st.owner()))
			owners += int64(len(st.owner()))
		}
		if len(c.states) != len(c.opens)+len(c.locks) {
			return fmt.Errorf("client %x: %d states, %d opens and %d locks", id, len(c.states), len(c.opens), len(c.locks))
		}
	}
	switch {
	case len(peers) != len(s.peers):
		return fmt.Errorf("%d addresses have something, %d are known", len(peers), len(s.peers))
	case sessions != len(s.sessions) || replies != s.replies || int64(states) != s.held.states.Load():
		return fmt.Errorf("%d sessions, %d bytes of replies, %d states; counted %d, %d, %d",
			sessions, replies, states, len(s.sessions), s.replies, s.held.states.Load())
	case owners != s.held.ownerBytes.Load() || owners > s.cfg.OwnerBytes:
		return fmt.Errorf("%d bytes of owners, counted %d of at most %d", owners, s.held.ownerBytes.Load(), s.cfg.OwnerBytes)
	case replies > s.cfg.ReplyCache:
		return fmt.Errorf("%d bytes of replies are more than the budget", replies)
	}
	for a, p := range peers {
		if s.peers[a] == nil || *s.peers[a] != *p {
			return fmt.Errorf("%v has %+v; counted %+v", a, p, s.peers[a])
		}
	}
	return nil
}
