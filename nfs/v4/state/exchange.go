package state

import (
	"time"

	"fileserver/nfs/v4/proto"
)

// Flags of EXCHANGE_ID (RFC 8881 18.35).
const (
	FlagUseNonPNFS   = 0x00010000
	FlagUpdConfirmed = 0x40000000
	FlagConfirmed    = 0x80000000
	flagsOfArguments = 0x40070103
)

// Exchanged is the outcome of EXCHANGE_ID.
type Exchanged struct {
	ClientID uint64
	Seq      uint32 // of the CREATE_SESSION to come
	Flags    uint32
}

// ExchangeID makes, finds or updates the client ID of an owner. The numbers of the cases are those of RFC 8881 18.35.4.
func (s *Clients) ExchangeID(owner []byte, v proto.Verifier, who Caller, flags uint32, now time.Time) (Exchanged, Actions, proto.Status) {
	if flags&^flagsOfArguments != 0 {
		return Exchanged{}, Actions{}, proto.ErrInval
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.byOwner[string(owner)]
	var have *Client
	if r != nil {
		have = r.confirmed
	}
	if flags&FlagUpdConfirmed != 0 {
		e, st := have.updateLocked(v, who.Principal, now)
		return e, Actions{}, st
	}
	var a Actions
	if have != nil {
		switch {
		case have.Principal != who.Principal: // 3: client collision
			if !have.Expired(now) && (have.hasState() || len(have.sessions) > 0) {
				return Exchanged{}, Actions{}, proto.ErrClIDInuse
			}
			a.add(s.removeLocked(have))
		case have.verifier == v: // 2: non-update on an existing client ID
			have.Renew(now)
			return have.exchangedLocked(), a, proto.OK
		}
		// 5: the client has restarted. The old record serves until CREATE_SESSION confirms the new one.
	}
	if r = s.byOwner[string(owner)]; r != nil && r.unconfirmed != nil { // 4: replacement of an unconfirmed record
		a.add(s.removeLocked(r.unconfirmed))
	}
	if !s.makeRoomLocked(who.Addr, now, &a) {
		return Exchanged{}, a, proto.ErrDelay
	}
	// 1: new owner ID
	c := &Client{
		ID: s.newID(), Principal: who.Principal, owner: string(owner), verifier: v, all: s, peer: s.peerLocked(who.Addr),
		opens: map[openKey]*Open{}, states: map[uint64]ownedState{}, locks: map[openKey]*LockState{},
	}
	c.Renew(now)
	s.byID[c.ID] = c
	c.peer.clients++
	c.peer.unconfirmed++
	if r = s.byOwner[c.owner]; r == nil {
		r = &ownerRecords{}
		s.byOwner[c.owner] = r
	}
	r.unconfirmed = c
	return c.exchangedLocked(), a, proto.OK
}

// updateLocked is EXCHANGE_ID with EXCHGID4_FLAG_UPD_CONFIRMED_REC_A of the owner's confirmed client ID; c is nil if there is none.
func (c *Client) updateLocked(v proto.Verifier, p Principal, now time.Time) (Exchanged, proto.Status) {
	switch {
	case c == nil: // 7: no confirmed record
		return Exchanged{}, proto.ErrNoEnt
	case c.Principal != p: // 9: wrong principal
		return Exchanged{}, proto.ErrPerm
	case c.verifier != v: // 8: wrong verifier
		return Exchanged{}, proto.ErrNotSame
	}
	c.Renew(now) // 6: update
	return c.exchangedLocked(), proto.OK
}

// newID is a client ID that nobody can guess: the instance of the server, and a random number.
func (s *Clients) newID() uint64 {
	for {
		id := uint64(s.cfg.Instance)<<32 | s.cfg.Random()&0xffffffff
		if s.byID[id] == nil {
			return id
		}
	}
}

// exchangedLocked returns the result of EXCHANGE_ID for the client.
func (c *Client) exchangedLocked() Exchanged {
	e := Exchanged{ClientID: c.ID, Seq: c.create.seq + 1, Flags: FlagUseNonPNFS}
	if c.confirmed {
		e.Flags |= FlagConfirmed
	}
	return e
}
