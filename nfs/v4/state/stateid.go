package state

import (
	"encoding/binary"

	"fileserver/nfs/v4/proto"
)

func putOther(o *proto.Other, instance uint32, num uint64) {
	binary.BigEndian.PutUint32(o[:4], instance)
	binary.BigEndian.PutUint64(o[4:], num)
}

// full reports whether the client can have no further state. Called with mu held.
func (c *Client) full() bool {
	return len(c.states) >= c.all.cfg.MaxStates || c.all.states.Load() >= int64(c.all.cfg.MaxAllStates)
}

// add enters a state. Called with mu held.
func (c *Client) add(s stated) {
	c.states[s.id().num] = s
	c.all.states.Add(1)
}

// drop removes a state. Called with mu held.
func (c *Client) drop(s stated) {
	delete(c.states, s.id().num)
	c.all.states.Add(-1)
}

// find finds the state of a stateid that is not a special one, and checks its seqid (RFC 8881 8.2.4)
// and, unless file is nil, that it is of that file. Called with mu held.
func (c *Client) find(sid *proto.StateID, file *FileKey) (stated, proto.Status) {
	if sid.IsSpecial() || binary.BigEndian.Uint32(sid.Other[:4]) != c.all.cfg.Instance {
		return nil, proto.ErrBadStateID
	}
	s, ok := c.states[binary.BigEndian.Uint64(sid.Other[4:])]
	if !ok {
		return nil, proto.ErrBadStateID
	}
	id := s.id()
	switch {
	case id.seq == 0: // its first LOCK is still in progress
		return nil, proto.ErrBadStateID
	case file != nil && id.file != *file:
		return nil, proto.ErrBadStateID
	case sid.Seq == 0 || sid.Seq == id.seq:
		return s, proto.OK
	case int32(sid.Seq-id.seq) < 0:
		return nil, proto.ErrOldStateID
	}
	return nil, proto.ErrBadStateID
}

// Use finds what a file is open with for an access by stateid, and retains it (RFC 8881 8.2.4, 9.1.2).
func (c *Client) Use(sid *proto.StateID, file *FileKey, access Share) (Resource, proto.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, st := c.find(sid, file)
	if st != proto.OK {
		return nil, st
	}
	o, ok := s.(*Open)
	if !ok {
		o = s.(*LockState).open
	}
	for i := range o.modes {
		if o.modes[i].access&access == access {
			r := o.modes[i].res
			r.Retain()
			return r, proto.OK
		}
	}
	return nil, proto.ErrOpenMode
}

// Test is TEST_STATEID for one stateid (RFC 8881 18.48).
func (c *Client) Test(sid *proto.StateID) proto.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, st := c.find(sid, nil)
	return st
}

// Locked tells which LockState a stateid is of, for FREE_STATEID: whether it holds locks is the arbiter's knowledge.
// An open is not freed but closed (RFC 8881 18.38).
func (c *Client) Locked(sid *proto.StateID) (*LockState, proto.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, st := c.find(sid, nil)
	if st != proto.OK {
		return nil, st
	}
	if l, ok := s.(*LockState); ok {
		return l, proto.OK
	}
	return nil, proto.ErrLocksHeld
}

// Free removes a LockState that holds no locks. While a LOCK is in progress it is not free.
func (c *Client) Free(l *LockState) proto.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.states[l.num] != l:
		return proto.ErrBadStateID
	case l.users > 0:
		return proto.ErrLocksHeld
	}
	c.dropLock(l)
	return proto.OK
}
