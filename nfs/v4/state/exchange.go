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
func (s *Clients) ExchangeID(owner []byte, v proto.Verifier, p Principal, flags uint32, now time.Time) (Exchanged, Actions, proto.Status) {
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
		switch {
		case have == nil: // 7: no confirmed record
			return Exchanged{}, Actions{}, proto.ErrNoEnt
		case have.Principal != p: // 9: wrong principal
			return Exchanged{}, Actions{}, proto.ErrPerm
		case have.verifier != v: // 8: wrong verifier
			return Exchanged{}, Actions{}, proto.ErrNotSame
		}
		have.Renew(now) // 6: update
		return have.exchanged(), Actions{}, proto.OK
	}
	var a Actions
	if have != nil {
		switch {
		case have.Principal != p: // 3: client collision
			if !have.Expired(now) && (have.hasState() || len(have.sessions) > 0) {
				return Exchanged{}, Actions{}, proto.ErrClIDInuse
			}
			a.add(s.remove(have))
		case have.verifier == v: // 2: non-update on an existing client ID
			have.Renew(now)
			return have.exchanged(), a, proto.OK
		}
		// 5: the client has restarted. The old record serves until CREATE_SESSION confirms the new one.
	}
	if r = s.byOwner[string(owner)]; r != nil && r.unconfirmed != nil { // 4: replacement of an unconfirmed record
		a.add(s.remove(r.unconfirmed))
	}
	if len(s.byID) >= s.cfg.MaxClients && !s.evict(now, &a) {
		return Exchanged{}, a, proto.ErrDelay
	}
	// 1: new owner ID
	s.lastID++
	c := &Client{
		ID: uint64(s.cfg.Instance)<<32 | uint64(s.lastID), Principal: p, owner: string(owner), verifier: v, all: s,
		opens: map[openKey]*Open{}, states: map[uint64]stated{}, locks: map[openKey]*LockState{},
	}
	c.Renew(now)
	s.byID[c.ID] = c
	if r = s.byOwner[c.owner]; r == nil {
		r = &ownerRecords{}
		s.byOwner[c.owner] = r
	}
	r.unconfirmed = c
	return c.exchanged(), a, proto.OK
}

// evict removes the client that has been expired for longest, if there is one. Called with mu held.
func (s *Clients) evict(now time.Time, a *Actions) bool {
	var oldest *Client
	for _, c := range s.byID {
		if c.Expired(now) && (oldest == nil || c.age(now) > oldest.age(now)) {
			oldest = c
		}
	}
	if oldest == nil {
		return false
	}
	a.add(s.remove(oldest))
	return true
}

// exchanged is EXCHANGE_ID's view of the client. Called with Clients.mu held.
func (c *Client) exchanged() Exchanged {
	e := Exchanged{ClientID: c.ID, Seq: c.create.seq + 1, Flags: FlagUseNonPNFS}
	if c.confirmed {
		e.Flags |= FlagConfirmed
	}
	return e
}
