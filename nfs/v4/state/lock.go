package state

import (
	"slices"

	"fileserver/nfs/v4/proto"
)

// LockOwner is a lock-owner of a client (RFC 8881 9.1): to the arbiter, its pointer is the identity
// of the one who holds a lock.
type LockOwner struct {
	Client *Client
	Owner  string // lock_owner4.owner

	states int // LockStates; guarded by Client.mu
}

// LockState is the locks a lock-owner took on a file through one open.
type LockState struct {
	stateID
	Owner *LockOwner
	open  *Open
	users int // LOCKs in progress
}

func (l *LockState) id() *stateID { return &l.stateID }

// File is the file locked.
func (l *LockState) File() FileKey { return l.file }

// BeginLock prepares a LOCK by a lock-owner that has, as far as the client knows, no stateid for the file: it finds
// or makes one below the open (RFC 8881 18.10). write tells that the lock is for writing. EndLock must follow.
func (c *Client) BeginLock(open *proto.StateID, file FileKey, owner []byte, write bool) (*LockState, proto.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, st := c.open(open, file)
	if st != proto.OK {
		return nil, st
	}
	if st := o.lockable(write); st != proto.OK {
		return nil, st
	}
	for _, l := range o.locks {
		if l.Owner.Owner == string(owner) {
			l.users++
			return l, proto.OK
		}
	}
	if len(c.states) >= c.all.cfg.MaxStates {
		return nil, proto.ErrDelay
	}
	lo := c.lockOwner(owner)
	lo.states++
	l := &LockState{stateID: stateID{num: c.all.lastState.Add(1), client: c, file: file}, Owner: lo, open: o, users: 1}
	o.locks = append(o.locks, l)
	c.states[l.num] = l
	return l, proto.OK
}

// ContinueLock prepares a LOCK or LOCKU by the stateid of locks. unlock tells that it is a LOCKU. EndLock must follow.
func (c *Client) ContinueLock(sid *proto.StateID, file FileKey, write, unlock bool) (*LockState, proto.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, st := c.find(sid, &file)
	if st != proto.OK {
		return nil, st
	}
	l, ok := s.(*LockState)
	if !ok {
		return nil, proto.ErrBadStateID
	}
	if !unlock {
		if st := l.open.lockable(write); st != proto.OK {
			return nil, st
		}
	}
	l.users++
	return l, proto.OK
}

// EndLock ends what BeginLock or ContinueLock began. If the arbiter agreed the stateid advances; a stateid
// that never had a lock disappears otherwise. closed tells that the open has ended meanwhile: what was locked must be unlocked.
func (c *Client) EndLock(l *LockState, agreed bool) (sid proto.StateID, closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l.users--
	if c.states[l.num] != l {
		return proto.StateID{}, true
	}
	if agreed {
		l.bump()
	} else if l.seq == 0 && l.users == 0 {
		c.dropLock(l)
	}
	return l.wire(), false
}

// lockable tells whether the open allows a lock (RFC 8881 18.10.3). Called with mu held.
func (o *Open) lockable(write bool) proto.Status {
	access, _ := o.union()
	if write && access&ShareWrite == 0 || !write && access&ShareRead == 0 {
		return proto.ErrOpenMode
	}
	return proto.OK
}

// LockOwner finds or makes a lock-owner, for LOCKT. One made so is nobody's identity but the call's.
func (c *Client) LockOwner(owner []byte) *LockOwner {
	c.mu.Lock()
	defer c.mu.Unlock()
	if lo := c.owners[string(owner)]; lo != nil {
		return lo
	}
	return &LockOwner{Client: c, Owner: string(owner)}
}

// lockOwner finds or makes a lock-owner. Called with mu held.
func (c *Client) lockOwner(owner []byte) *LockOwner {
	lo := c.owners[string(owner)]
	if lo == nil {
		lo = &LockOwner{Client: c, Owner: string(owner)}
		c.owners[lo.Owner] = lo
	}
	return lo
}

// dropLock removes a LockState. Called with mu held.
func (c *Client) dropLock(l *LockState) {
	delete(c.states, l.num)
	l.open.locks = slices.DeleteFunc(l.open.locks, func(o *LockState) bool { return o == l })
	if l.Owner.states--; l.Owner.states == 0 {
		delete(c.owners, l.Owner.Owner)
	}
}

// holds tells whether the owner has a LockState left for the file. Called with mu held.
func (c *Client) holds(lo *LockOwner, file FileKey) bool {
	if lo.states == 0 {
		return false
	}
	for _, s := range c.states {
		if l, ok := s.(*LockState); ok && l.Owner == lo && l.file == file {
			return true
		}
	}
	return false
}
