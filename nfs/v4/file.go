package v4

import (
	"slices"
	"sync/atomic"

	"fileserver/nfs"
	"fileserver/nfs/v4/proto"
	"fileserver/nfs/v4/state"
	"fileserver/vfs"
	"fileserver/vfs/lock"
)

// openFile is a file opened for a stateid. It implements [state.Resource].
type openFile struct {
	vfs.File
	by   *vfs.Cred // who opened it, after squashing
	refs atomic.Int32
}

func newOpenFile(f vfs.File, by *vfs.Cred) *openFile {
	o := &openFile{File: f, by: by.Clone()}
	o.refs.Store(1)
	return o
}

// openedBy reports whether the file was opened by c: the same user, of the same groups.
func (o *openFile) openedBy(c *vfs.Cred) bool {
	return o.by.UID == c.UID && o.by.GID == c.GID && slices.Equal(o.by.Groups, c.Groups)
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
	keep := nfs.KeepToRead
	if want&state.ShareWrite != 0 {
		keep = nfs.KeepToChange
	}
	if !sid.IsSpecial() {
		r, st := c.client.Use(&sid, &key, want)
		if st != proto.OK {
			return access{}, st
		}
		o := r.(*openFile)
		if st := c.recall(&key, keep); st != proto.OK {
			o.Release()
			return access{}, st
		}
		if o.openedBy(c.credsIn(t.export)) {
			return access{o.File, o}, proto.OK
		}
		// Another user opened it, or a reload maps this user to another: the stateid proves no right of this one.
		o.Release()
		return c.openFor(t, want)
	}
	if st := c.anonymous(&sid, &key, want); st != proto.OK {
		return access{}, st
	}
	if st := c.recall(&key, keep); st != proto.OK {
		return access{}, st
	}
	return c.openFor(t, want)
}

// openFor opens the file for one operation, if the caller may.
func (c *compound) openFor(t *target, want state.Share) (access, proto.Status) {
	how := vfs.OpenRead | vfs.AccessOwnerOverride | vfs.ReadIfExecutable
	if want&state.ShareWrite != 0 {
		how = vfs.OpenWrite | vfs.AccessOwnerOverride
	}
	f, err := t.node.Open(c.ctx, c.credsIn(t.export), how)
	return access{File: f}, statusOf(err)
}

// recall recalls from clients of other protocols what they cache of the file beyond keep.
func (c *compound) recall(key *lock.FileKey, keep lock.Caching) proto.Status {
	if !nfs.Recall(c.ctx, c.srv.cfg.Locks, *key, keep) {
		return proto.ErrDelay
	}
	return proto.OK
}

// changes reports changes of the current object's file system.
func (c *compound) changes() nfs.Changes { return nfs.ChangesOf(c.srv.cfg.Locks, c.cur.export.FS) }

// recallName recalls all that other protocols' clients cache of the named file, before it is removed or renamed.
func (c *compound) recallName(t *target, name string) proto.Status {
	if !nfs.RecallName(c.ctx, c.srv.cfg.Locks, c.credsIn(t.export), t.node, name) {
		return proto.ErrDelay
	}
	return proto.OK
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

// anonymous reports whether I/O without an open is allowed (RFC 8881 8.2.3, 8.4.2).
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
		if st := c.recall(key, nfs.KeepToDeny); st != proto.OK {
			return st
		}
		c.expireHolders(key)
	}
	return proto.ErrLocked
}

// expireHolders ends the courtesy towards expired clients that have the file open, and reports whether there were any.
func (c *compound) expireHolders(key *lock.FileKey) bool {
	a, some := c.srv.clients.ExpireHolders(*key, c.now)
	c.srv.act(a)
	return some
}
