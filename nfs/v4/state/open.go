package state

import (
	"slices"

	"fileserver/nfs/v4/proto"
)

// Share is a set of accesses, or of denied accesses (RFC 8881 9.7).
type Share uint8

// Accesses.
const (
	ShareRead  Share = 1
	ShareWrite Share = 2
	ShareBoth        = ShareRead | ShareWrite
)

type openKey struct {
	owner string
	file  FileKey
}

// stated is an Open or a LockState.
type stated interface {
	id() *stateID
}

// stateID is what the states have in common. Guarded by Client.mu.
type stateID struct {
	seq    uint32
	num    uint64
	client *Client
	file   FileKey
}

func (s *stateID) bump() {
	if s.seq++; s.seq == 0 {
		s.seq = 1 // RFC 8881 8.2.2
	}
}

func (s *stateID) wire() proto.StateID {
	w := proto.StateID{Seq: s.seq}
	putOther(&w.Other, s.client.all.cfg.Instance, s.num)
	return w
}

// Open is all that an open-owner has open of one file.
type Open struct {
	stateID
	key   openKey
	modes []mode
	locks []*LockState
}

// mode is one combination of access and deny that was opened, and what it is open with.
type mode struct {
	access, deny Share
	res          Resource
}

func (o *Open) id() *stateID { return &o.stateID }

func (o *Open) union() (access, deny Share) {
	for i := range o.modes {
		access |= o.modes[i].access
		deny |= o.modes[i].deny
	}
	return access, deny
}

// AddOpen records that owner has opened the file with res, and returns the stateid.
// If the owner had it open in the same way already, res is handed back to be closed.
func (c *Client) AddOpen(owner []byte, file FileKey, access, deny Share, res Resource) (proto.StateID, Actions, proto.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	refused := Actions{Close: []Resource{res}}
	if c.gone {
		return proto.StateID{}, refused, proto.ErrStaleClientID
	}
	key := openKey{string(owner), file}
	o := c.opens[key]
	if o == nil {
		if len(c.states) >= c.all.cfg.MaxStates {
			return proto.StateID{}, refused, proto.ErrDelay
		}
		o = &Open{stateID: stateID{num: c.all.lastState.Add(1), client: c, file: file}, key: key}
		c.opens[key] = o
		c.states[o.num] = o
	}
	o.bump()
	if slices.ContainsFunc(o.modes, func(m mode) bool { return m.access == access && m.deny == deny }) {
		return o.wire(), refused, proto.OK
	}
	o.modes = append(o.modes, mode{access, deny, res})
	return o.wire(), Actions{}, proto.OK
}

// Downgrade reduces what is open to access and deny, which must be the union of some
// of what was opened (RFC 8881 18.18).
func (c *Client) Downgrade(sid *proto.StateID, file FileKey, access, deny Share) (proto.StateID, Actions, proto.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, st := c.open(sid, file)
	if st != proto.OK {
		return proto.StateID{}, Actions{}, st
	}
	var a, d Share
	for i := range o.modes {
		if m := &o.modes[i]; m.access&^access == 0 && m.deny&^deny == 0 {
			a |= m.access
			d |= m.deny
		}
	}
	if a != access || d != deny {
		return proto.StateID{}, Actions{}, proto.ErrInval
	}
	var act Actions
	o.modes = slices.DeleteFunc(o.modes, func(m mode) bool {
		drop := m.access&^access != 0 || m.deny&^deny != 0
		if drop {
			act.Close = append(act.Close, m.res)
		}
		return drop
	})
	o.bump()
	return o.wire(), act, proto.OK
}

// CloseOpen ends an open, and the locks that were taken through it (RFC 8881 18.2).
func (c *Client) CloseOpen(sid *proto.StateID, file FileKey) (Actions, proto.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, st := c.open(sid, file)
	if st != proto.OK {
		return Actions{}, st
	}
	var a Actions
	for len(o.locks) > 0 {
		l := o.locks[len(o.locks)-1]
		c.dropLock(l)
		if !c.holds(l.Owner, file) {
			a.Unlock = append(a.Unlock, l)
		}
	}
	for i := range o.modes {
		a.Close = append(a.Close, o.modes[i].res)
	}
	delete(c.opens, o.key)
	delete(c.states, o.num)
	return a, proto.OK
}

// open finds the open of a stateid. Called with mu held.
func (c *Client) open(sid *proto.StateID, file FileKey) (*Open, proto.Status) {
	s, st := c.find(sid, &file)
	if st != proto.OK {
		return nil, st
	}
	if o, ok := s.(*Open); ok {
		return o, proto.OK
	}
	return nil, proto.ErrBadStateID
}
