package state

import (
	"slices"

	"fileserver/nfs/v4/proto"
	"fileserver/vfs/lock"
)

// ProtoNFS4 is lock.Owner.Proto of the clients of this package.
const ProtoNFS4 = 4

// LockOwner is the identity of a lock-owner (RFC 8881 9.1) to the arbiter.
func (c *Client) LockOwner(owner string) lock.Owner {
	return lock.Owner{Proto: ProtoNFS4, Client: c.ID, ID: owner}
}

// LockState is the locks of a lock-owner on a file.
type LockState struct {
	stateID
	Owner lock.Owner
	open  *Open // the one through which they were taken first
	users int   // LOCKs in progress
}

func (l *LockState) id() *stateID  { return &l.stateID }
func (l *LockState) owner() string { return l.Owner.ID }

// File is the file locked.
func (l *LockState) File() FileKey { return l.file }

// BeginLock prepares a LOCK by a lock-owner that has, as far as the client knows, no stateid for the file: it finds
// or creates one below the open (RFC 8881 18.10). write: the lock is for writing. EndLock must follow.
func (c *Client) BeginLock(open *proto.StateID, file FileKey, owner []byte, write bool) (*LockState, proto.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, st := c.openLocked(open, file)
	if st != proto.OK {
		return nil, st
	}
	if st := o.lockableLocked(write); st != proto.OK {
		return nil, st
	}
	key := openKey{string(owner), file}
	if l := c.locks[key]; l != nil {
		l.users++
		return l, proto.OK
	}
	if c.fullLocked(owner) {
		return nil, proto.ErrDelay
	}
	l := &LockState{stateID: stateID{num: c.all.lastState.Add(1), client: c, file: file}, Owner: c.LockOwner(key.owner), open: o, users: 1}
	o.locks = append(o.locks, l)
	c.locks[key] = l
	c.addLocked(l)
	return l, proto.OK
}

// ContinueLock prepares a LOCK or LOCKU by the stateid of locks. unlock: it is a LOCKU. EndLock must follow.
func (c *Client) ContinueLock(sid *proto.StateID, file FileKey, write, unlock bool) (*LockState, proto.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, st := c.findLocked(sid, &file)
	if st != proto.OK {
		return nil, st
	}
	l, ok := s.(*LockState)
	if !ok {
		return nil, proto.ErrBadStateID
	}
	if !unlock {
		if st := l.open.lockableLocked(write); st != proto.OK {
			return nil, st
		}
	}
	l.users++
	return l, proto.OK
}

// EndLock ends what BeginLock or ContinueLock began. If the arbiter agreed the stateid advances; a stateid
// that never had a lock disappears otherwise. If closed is true the open has ended meanwhile: the caller must unlock what
// it has locked.
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
		c.dropLockLocked(l)
	}
	return l.wire(), false
}

// lockableLocked reports whether the open allows a lock (RFC 8881 18.10.3).
func (o *Open) lockableLocked(write bool) proto.Status {
	access, _ := o.union()
	if write && access&ShareWrite == 0 || !write && access&ShareRead == 0 {
		return proto.ErrOpenMode
	}
	return proto.OK
}

// dropLockLocked removes a LockState.
func (c *Client) dropLockLocked(l *LockState) {
	c.dropLocked(l)
	delete(c.locks, openKey{l.Owner.ID, l.file})
	l.open.locks = slices.DeleteFunc(l.open.locks, func(o *LockState) bool { return o == l })
}
