package state

import (
	"encoding/binary"
	"sync/atomic"

	"fileserver/nfs/v4/proto"
)

func putOther(o *proto.Other, instance uint32, num uint64) {
	binary.BigEndian.PutUint32(o[:4], instance)
	binary.BigEndian.PutUint64(o[4:], num)
}

// stateCount counts states, and the bytes of their owners.
type stateCount struct{ states, ownerBytes atomic.Int64 }

func (n *stateCount) add(states, ownerBytes int) {
	n.states.Add(int64(states))
	n.ownerBytes.Add(int64(ownerBytes))
}

// fits reports whether there is room for one more state, of an owner of so many bytes.
func (n *stateCount) fits(ownerBytes int, maxStates, maxOwnerBytes int64) bool {
	return n.states.Load() < maxStates && n.ownerBytes.Load()+int64(ownerBytes) <= maxOwnerBytes
}

// fullLocked reports whether the client can have no further state of the owner: its own limit, that of its address, or
// that of all clients has been reached.
func (c *Client) fullLocked(owner []byte) bool {
	cfg := &c.all.cfg
	return len(c.states) >= cfg.MaxStates ||
		!c.peer.held.fits(len(owner), int64(max(1, cfg.MaxAllStates/addressShare)), cfg.OwnerBytes/addressShare) ||
		!c.all.held.fits(len(owner), int64(cfg.MaxAllStates), cfg.OwnerBytes)
}

func (c *Client) addLocked(s ownedState) {
	c.states[s.id().num] = s
	c.all.held.add(1, len(s.owner()))
	c.peer.held.add(1, len(s.owner()))
}

func (c *Client) dropLocked(s ownedState) {
	delete(c.states, s.id().num)
	c.all.held.add(-1, -len(s.owner()))
	c.peer.held.add(-1, -len(s.owner()))
}

// findLocked finds the state of a stateid that is not a special one, and checks the seqid (RFC 8881 8.2.4). Unless file
// is nil, the state must be of that file.
func (c *Client) findLocked(sid *proto.StateID, file *FileKey) (ownedState, proto.Status) {
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

// Use returns what the file of a stateid is open with for the access, and retains it: the caller releases it
// (RFC 8881 8.2.4, 9.1.2).
func (c *Client) Use(sid *proto.StateID, file *FileKey, access Share) (Resource, proto.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, st := c.findLocked(sid, file)
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
	_, st := c.findLocked(sid, nil)
	return st
}

// FindLocks returns the LockState of a stateid, for FREE_STATEID. The caller asks the arbiter whether it holds locks.
// The stateid of an open gets NFS4ERR_LOCKS_HELD: opens are closed, not freed (RFC 8881 18.38).
func (c *Client) FindLocks(sid *proto.StateID) (*LockState, proto.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, st := c.findLocked(sid, nil)
	if st != proto.OK {
		return nil, st
	}
	if l, ok := s.(*LockState); ok {
		return l, proto.OK
	}
	return nil, proto.ErrLocksHeld
}

// Free removes a LockState that holds no locks. While a LOCK is in progress the status is NFS4ERR_LOCKS_HELD.
func (c *Client) Free(l *LockState) proto.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.states[l.num] != l:
		return proto.ErrBadStateID
	case l.users > 0:
		return proto.ErrLocksHeld
	}
	c.dropLockLocked(l)
	return proto.OK
}
