package state

import (
	"slices"

	"fileserver/nfs/v4/proto"
	"fileserver/vfs/lock"
)

// Share is a set of accesses, or of denied accesses (RFC 8881 9.7).
type Share uint8

// Accesses.
const (
	ShareRead  Share = 1
	ShareWrite Share = 2
	ShareBoth        = ShareRead | ShareWrite
)

// openKey is an open-owner, or lock-owner, and a file.
type openKey struct {
	owner string
	file  FileKey
}

// ownedState is an Open or a LockState.
type ownedState interface {
	id() *stateID
	owner() string // the open-owner or lock-owner
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
	claim *lock.Open
	modes []mode
	locks []*LockState
}

// mode is one combination of access and deny that was opened, and what it is open with.
type mode struct {
	access, deny Share
	res          Resource
}

func (o *Open) id() *stateID  { return &o.stateID }
func (o *Open) owner() string { return o.key.owner }

func (o *Open) union() (access, deny Share) {
	for i := range o.modes {
		access |= o.modes[i].access
		deny |= o.modes[i].deny
	}
	return access, deny
}

// AddOpen records that owner has opened the file with res, and returns the stateid. A share reservation that forbids it is
// NFS4ERR_SHARE_DENIED. Other clients that cache more than keep are recalled first: until they have answered the status is
// NFS4ERR_DELAY. With either status, Actions.Wait is what to wait for before the next try, or nil. If the owner has
// the file open in the same way already, or the open fails, Actions.Release holds res.
func (c *Client) AddOpen(owner []byte, file FileKey, access, deny Share, keep lock.Caching, res Resource) (proto.StateID, Actions, proto.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	refused := Actions{Release: []Resource{res}}
	if c.gone {
		return proto.StateID{}, refused, proto.ErrStaleClientID
	}
	key := openKey{string(owner), file}
	o := c.opens[key]
	if o == nil {
		if c.fullLocked(owner) || !c.all.cfg.Files.Take(c.peer.addr) {
			return proto.StateID{}, refused, proto.ErrDelay
		}
		claim, rc, err := c.all.cfg.Locks.OpenRecall(file, c.holder(), lock.Access(access), lock.Access(deny), keep)
		if st := refused.wait(rc, err); st != proto.OK {
			c.all.cfg.Files.Give(c.peer.addr, 1)
			return proto.StateID{}, refused, st
		}
		o = &Open{stateID: stateID{num: c.all.lastState.Add(1), client: c, file: file}, key: key, claim: claim}
		c.opens[key] = o
		c.addLocked(o)
	} else {
		a, d := o.union()
		rc, err := o.claim.ChangeRecall(lock.Access(a|access), lock.Access(d|deny), keep)
		if st := refused.wait(rc, err); st != proto.OK {
			return proto.StateID{}, refused, st
		}
	}
	o.bump()
	if slices.ContainsFunc(o.modes, func(m mode) bool { return m.access == access && m.deny == deny }) {
		return o.wire(), refused, proto.OK
	}
	o.modes = append(o.modes, mode{access, deny, res})
	return o.wire(), Actions{}, proto.OK
}

// holder is the client to the arbiter.
func (c *Client) holder() lock.CacheKey { return lock.CacheKey{Proto: ProtoNFS4, Client: c.ID} }

// wait notes what a refused open has to wait for, and returns its status.
func (a *Actions) wait(rc *lock.Recall, err error) proto.Status {
	a.Wait = rc
	switch {
	case err != nil:
		return proto.ErrShareDenied
	case rc != nil:
		return proto.ErrDelay
	}
	return proto.OK
}

// Downgrade reduces what is open to access and deny, which must be the union of some
// of what was opened (RFC 8881 18.18).
func (c *Client) Downgrade(sid *proto.StateID, file FileKey, access, deny Share) (proto.StateID, Actions, proto.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, st := c.openLocked(sid, file)
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
			act.Release = append(act.Release, m.res)
		}
		return drop
	})
	_ = o.claim.Change(lock.Access(access), lock.Access(deny)) // to claim less does not fail
	o.bump()
	return o.wire(), act, proto.OK
}

// CloseOpen ends an open, and the locks that were taken through it (RFC 8881 18.2).
func (c *Client) CloseOpen(sid *proto.StateID, file FileKey) (Actions, proto.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, st := c.openLocked(sid, file)
	if st != proto.OK {
		return Actions{}, st
	}
	return c.dropOpenLocked(o), proto.OK
}

// dropOpenLocked removes an Open, with its locks.
func (c *Client) dropOpenLocked(o *Open) (a Actions) {
	for len(o.locks) > 0 {
		l := o.locks[len(o.locks)-1]
		c.dropLockLocked(l)
		a.Unlock = append(a.Unlock, l)
	}
	for i := range o.modes {
		a.Release = append(a.Release, o.modes[i].res)
	}
	o.claim.Close()
	c.all.cfg.Files.Give(c.peer.addr, 1)
	delete(c.opens, o.key)
	c.dropLocked(o)
	return a
}

// openLocked finds the open of a stateid.
func (c *Client) openLocked(sid *proto.StateID, file FileKey) (*Open, proto.Status) {
	s, st := c.findLocked(sid, &file)
	if st != proto.OK {
		return nil, st
	}
	if o, ok := s.(*Open); ok {
		return o, proto.OK
	}
	return nil, proto.ErrBadStateID
}
