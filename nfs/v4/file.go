package v4

import (
	"sync/atomic"

	"fileserver/nfs/v4/proto"
	"fileserver/nfs/v4/state"
	"fileserver/vfs"
	"fileserver/vfs/lock"
)

// openFile is a file opened for a stateid. It implements [state.Resource].
type openFile struct {
	vfs.File
	refs atomic.Int32
}

func newOpenFile(f vfs.File) *openFile {
	o := &openFile{File: f}
	o.refs.Store(1)
	return o
}

// Retain implements state.Resource.
func (o *openFile) Retain() { o.refs.Add(1) }

// Release implements state.Resource: the last closes the file.
func (o *openFile) Release() {
	if o.refs.Add(-1) == 0 {
		_ = o.Close() // reports nothing that Commit does not
	}
}

// access is a file in use by an operation.
type access struct {
	vfs.File
	shared *openFile // what a stateid stands for; nil: opened for this operation
}

// end ends the use.
func (a *access) end() {
	if a.shared != nil {
		a.shared.Release()
	} else if a.File != nil {
		_ = a.File.Close()
	}
}

// use finds the file of a stateid, or opens it if the stateid is a special one (RFC 8881 8.2.3, 8.2.4).
func (c *compound) use(t *target, sid proto.StateID, want state.Share) (access, proto.Status) {
	if st := t.regular(); st != proto.OK {
		return access{}, st
	}
	if st := c.resolve(&sid); st != proto.OK {
		return access{}, st
	}
	key := t.key()
	if !sid.IsSpecial() {
		r, st := c.client.Use(&sid, &key, want)
		if st != proto.OK {
			return access{}, st
		}
		o := r.(*openFile)
		return access{o.File, o}, proto.OK
	}
	if st := c.anonymous(&sid, &key, want); st != proto.OK {
		return access{}, st
	}
	how := vfs.OpenRead | vfs.AccessOwnerOverride
	if want&state.ShareWrite != 0 {
		how = vfs.OpenWrite | vfs.AccessOwnerOverride
	}
	f, err := t.node.Open(c.ctx, c.credsIn(t.export), how)
	return access{File: f}, statusOf(err)
}

// resolve replaces the special stateid that means the current one (RFC 8881 16.2.3.1.2), and refuses what no stateid may be.
func (c *compound) resolve(sid *proto.StateID) proto.Status {
	switch *sid {
	case proto.CurrentStateID:
		if c.curSID.IsSpecial() {
			return proto.ErrBadStateID
		}
		*sid = c.curSID
	case proto.AnonymousStateID, proto.BypassStateID:
	default:
		if sid.IsSpecial() {
			return proto.ErrBadStateID
		}
	}
	return proto.OK
}

// anonymous tells whether I/O without an open is allowed (RFC 8881 8.2.3, 8.4.2).
func (c *compound) anonymous(sid *proto.StateID, key *lock.FileKey, want state.Share) proto.Status {
	if c.srv.clients.Grace().Active() {
		return proto.ErrGrace
	}
	if *sid == proto.BypassStateID && want == state.ShareRead {
		return proto.OK
	}
	for range 2 {
		if c.srv.cfg.Locks.CheckIO(*key, lock.Owner{}, lock.Range{Len: lock.ToEnd}, want&state.ShareWrite != 0) == nil {
			return proto.OK
		}
		if !c.expireHolders(key) {
			break
		}
	}
	return proto.ErrLocked
}

// expireHolders ends the courtesy towards expired clients that have the file open, and tells whether there were any.
func (c *compound) expireHolders(key *lock.FileKey) bool {
	a, some := c.srv.clients.ExpireHolders(*key, c.now)
	c.srv.act(a)
	return some
}
