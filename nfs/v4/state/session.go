package state

import (
	"encoding/binary"
	"sync/atomic"
	"time"

	"fileserver/nfs/v4/proto"
)

// Session is a session of a client (RFC 8881 2.10).
type Session struct {
	ID     proto.SessionID
	Client *Client
	Fore   proto.ChannelAttrs

	slots    []slot
	replies  int64 // bytes reserved for the replies in its slots
	inFlight atomic.Int32
	dead     atomic.Bool
	conns    connSet
}

// SessionArgs are the arguments of CREATE_SESSION that concern the state.
type SessionArgs struct {
	ClientID   uint64
	Seq        uint32
	Flags      uint32
	Fore, Back proto.ChannelAttrs
}

// NewSession is the outcome of CREATE_SESSION.
type NewSession struct {
	ID         proto.SessionID
	Seq        uint32
	Flags      uint32
	Fore, Back proto.ChannelAttrs
}

// createSlot is the slot of a client's CREATE_SESSIONs (RFC 8881 18.36.4): the last that succeeded.
type createSlot struct {
	seq    uint32 // 0: none yet
	used   bool
	result NewSession
}

const flagsOfCreateSession = 0x7

// CreateSession makes a session, and confirms the client ID if it is new (RFC 8881 18.36.4).
func (s *Clients) CreateSession(args SessionArgs, who Caller, now time.Time) (NewSession, Actions, proto.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.byID[args.ClientID]
	if c == nil {
		return NewSession{}, Actions{}, proto.ErrStaleClientID
	}
	switch {
	case args.Seq == c.create.seq && c.create.used:
		// The result names a session, which is no other host's business.
		if c.Principal != who.Principal && c.peer.addr != who.Addr {
			return NewSession{}, Actions{}, proto.ErrSeqMisordered
		}
		return c.create.result, Actions{}, proto.OK
	case args.Seq != c.create.seq+1:
		return NewSession{}, Actions{}, proto.ErrSeqMisordered
	}
	if !c.confirmed && c.Principal != who.Principal {
		return NewSession{}, Actions{}, proto.ErrClIDInuse
	}
	n, a, status := s.createSessionLocked(c, &args, who.Conn, now)
	if status == proto.OK { // whatever failed may be tried again with the same number
		n.Seq = args.Seq
		c.create = createSlot{seq: args.Seq, used: true, result: n}
	}
	return n, a, status
}

// createSessionLocked is CreateSession of a client ID that may have one.
func (s *Clients) createSessionLocked(c *Client, args *SessionArgs, conn uint64, now time.Time) (n NewSession, a Actions, st proto.Status) {
	if args.Flags&^flagsOfCreateSession != 0 {
		return n, a, proto.ErrInval
	}
	fore, st := s.cfg.clamp(args.Fore)
	if st != proto.OK {
		return n, a, st
	}
	if b := &args.Back; b.MaxOps != 0 && (b.MaxRequest < minMessage || b.MaxResponse < minMessage || b.MaxOps < 2) {
		return n, a, proto.ErrTooSmall // no callback fits (RFC 8881 18.36.3); a client that wants none may say 0
	}
	if len(c.sessions) >= s.cfg.MaxSessions {
		return n, a, proto.ErrNoSpc
	}
	c.Renew(now)      // from here on it is not evicted
	if !c.confirmed { // before there must be room: the client's former self makes some
		a.add(s.confirmLocked(c))
	}
	replies := s.makeSessionRoomLocked(c.peer, &fore, now, &a)
	if replies == 0 {
		return n, a, proto.ErrNoSpc
	}
	se := &Session{Client: c, Fore: fore, slots: make([]slot, fore.MaxRequests), replies: replies}
	se.conns.add(conn)
	c.peer.sessions++
	binary.BigEndian.PutUint64(se.ID[:], c.ID)
	binary.BigEndian.PutUint64(se.ID[8:], s.cfg.Random())
	s.sessions[se.ID] = se
	c.sessions = append(c.sessions, se)
	// There is no back channel, and no flag announces one. The reply repeats its attributes, which every client accepts.
	return NewSession{ID: se.ID, Fore: fore, Back: args.Back}, a, proto.OK
}

// confirmLocked makes a client ID the one of its owner. The client ID from before the client's restart ends.
func (s *Clients) confirmLocked(c *Client) (a Actions) {
	r := s.byOwner[c.owner]
	recorded := s.grace.MayReclaim(c.Record())
	if old := r.confirmed; old != nil {
		if old.Principal == c.Principal { // the record stays, for the new one
			recorded = old.recorded.Swap(false)
		}
		a = s.removeLocked(old)
	}
	c.recorded.Store(recorded)
	r = s.byOwner[c.owner]
	r.confirmed, r.unconfirmed = c, nil
	c.confirmed = true
	c.peer.unconfirmed--
	return a
}

// clamp reduces what a client asks of a fore channel to what it gets.
func (cfg *Config) clamp(a proto.ChannelAttrs) (proto.ChannelAttrs, proto.Status) {
	m := &cfg.Fore
	a.HeaderPad = 0
	a.MaxRequest = min(a.MaxRequest, m.MaxRequest)
	a.MaxResponse = min(a.MaxResponse, m.MaxResponse)
	a.MaxResponseCached = min(a.MaxResponseCached, m.MaxResponseCached, a.MaxResponse)
	a.MaxOps = min(a.MaxOps, m.MaxOps)
	a.MaxRequests = min(a.MaxRequests, m.MaxRequests)
	a.IRD = nil
	switch {
	case a.MaxRequest < minMessage || a.MaxResponse < minMessage:
		return a, proto.ErrTooSmall
	case a.MaxOps == 0 || a.MaxRequests == 0:
		return a, proto.ErrInval
	}
	return a, proto.OK
}

// DestroySession ends a session (RFC 8881 18.37). own is the session of the request itself, or nil; conn is the connection it
// came on, which must be one that the session is used on.
func (s *Clients) DestroySession(id *proto.SessionID, own *Session, conn uint64) proto.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	se := s.sessions[*id]
	if se == nil {
		return proto.ErrBadSession
	}
	if !se.conns.has(conn) {
		return proto.ErrConnNotBoundToSession
	}
	busy := se.inFlight.Load()
	if se == own {
		busy--
	}
	if busy > 0 {
		return proto.ErrDelay
	}
	s.endSessionLocked(se)
	c := se.Client
	for i, o := range c.sessions {
		if o == se {
			c.sessions = append(c.sessions[:i:i], c.sessions[i+1:]...)
			break
		}
	}
	return proto.OK
}
