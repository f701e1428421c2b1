package v3

import (
	"context"

	"fileserver/nfs"
	"fileserver/nfs/rpc"
	"fileserver/vfs"
	"fileserver/vfs/lock"
)

// object is what a file handle stands for, and who asks. The zero object is none.
type object struct {
	export *nfs.Export
	node   vfs.Node
	cred   *vfs.Cred
}

// resolve finds the object of a handle for the caller of c, if the export admits it.
func (s *server) resolve(ctx context.Context, c *rpc.Call, fh Handle) (object, Status) {
	id, h, ok := nfs.ParseHandle(fh)
	if !ok {
		return object{}, ErrBadHandle
	}
	e := s.cfg.Exports.ByID(id)
	if e == nil {
		return object{}, ErrStale
	}
	if !e.Admits(c) {
		return object{}, ErrAcces
	}
	if !s.cfg.Exports.CheckPort(e, c) {
		return object{}, ErrPerm // as knfsd does
	}
	n, err := e.FS.Resolve(ctx, h)
	if err != nil {
		return object{}, statusOf(err)
	}
	return object{e, n, e.Cred(c)}, OK
}

// resolveChange is resolve for a procedure that changes something.
func (s *server) resolveChange(ctx context.Context, c *rpc.Call, fh Handle) (object, Status) {
	o, st := s.resolve(ctx, c, fh)
	if st == OK && o.export.ReadOnly {
		return o, ErrROFS
	}
	return o, st
}

// release gives the node back, if there is one.
func (o *object) release() {
	if o.node != nil {
		o.node.Release()
	}
}

// attr returns the object's current attributes, if they are available.
func (o *object) attr(ctx context.Context) PostOpAttr {
	if o.node == nil {
		return PostOpAttr{}
	}
	a, err := o.node.GetAttr(ctx, attrMask)
	return o.postOp(&a, err)
}

func (o *object) postOp(a *vfs.Attr, err error) PostOpAttr {
	if err != nil {
		return PostOpAttr{}
	}
	return PostOpAttr{true, attrOf(a, o.export.FSID())}
}

// fileHandle is the wire form of a node's handle.
func (o *object) fileHandle(n vfs.Node) Handle {
	return nfs.AppendHandle(nil, o.export, n.Handle())
}

// checkIO reports whether an open of another protocol forbids I/O, or its client caches what the I/O is about.
func (s *server) checkIO(ctx context.Context, o *object, off, n uint64, write bool) Status {
	if n == 0 {
		return OK
	}
	k := o.node.Identity()
	if err := s.cfg.Locks.CheckIO(k, lock.Owner{}, lock.Range{Off: off, Len: n}, write); err != nil {
		if !nfs.Recall(ctx, s.cfg.Locks, k, nfs.KeepToDeny) {
			return ErrJukebox
		}
		if err = s.cfg.Locks.CheckIO(k, lock.Owner{}, lock.Range{Off: off, Len: n}, write); err != nil {
			return statusOf(err)
		}
	}
	keep := nfs.KeepToRead
	if write {
		keep = nfs.KeepToChange
	}
	if !nfs.Recall(ctx, s.cfg.Locks, k, keep) {
		return ErrJukebox
	}
	return OK
}

// recallName recalls all that other protocols' clients cache of the named file, before it is removed or renamed.
func (s *server) recallName(ctx context.Context, dir *object, name string) Status {
	if !nfs.RecallName(ctx, s.cfg.Locks, dir.cred, dir.node, name) {
		return ErrJukebox
	}
	return OK
}

// changes reports changes of the object's file system.
func (s *server) changes(o *object) nfs.Changes { return nfs.ChangesOf(s.cfg.Locks, o.export.FS) }

// syncMeta makes changes of names and attributes stable where the backend has not yet.
func (o *object) syncMeta(ctx context.Context, nodes ...vfs.Node) Status {
	if o.export.FS.Caps().StableMetadata {
		return OK
	}
	return statusOf(o.export.FS.SyncMeta(ctx, nodes...))
}

// dirChange is a change of one or two directories, with their attributes from before and after.
type dirChange struct {
	first, second *lock.Names
}

// beginChange locks the directory, and fills in the attributes from before.
func (s *server) beginChange(ctx context.Context, dir *object, wcc *WccData) dirChange {
	l := s.cfg.Locks.LockNames(dir.node.Identity())
	dir.before(ctx, wcc)
	return dirChange{l, nil}
}

// beginChange2 is beginChange of two directories, which may be the same.
func (s *server) beginChange2(ctx context.Context, a, b *object, wccA, wccB *WccData) dirChange {
	first, second := s.cfg.Locks.LockNames2(a.node.Identity(), b.node.Identity())
	a.before(ctx, wccA)
	b.before(ctx, wccB)
	return dirChange{first, second}
}

// end unlocks; the attributes from after have been taken.
func (c dirChange) end() {
	c.second.Unlock()
	c.first.Unlock()
}

func (o *object) before(ctx context.Context, wcc *WccData) {
	a, err := o.node.GetAttr(ctx, vfs.AttrSize|vfs.AttrMtime|vfs.AttrCtime)
	if err == nil {
		wcc.Before = PreOpAttr{true, a.Size, timeOf(a.Mtime), timeOf(a.Ctime)}
	}
}

// reply ends a procedure: the status goes to the metrics, the results to the client.
func reply(c *rpc.Call, r *rpc.Reply, st Status, results []byte) rpc.AcceptStat {
	c.Status = uint32(st)
	r.Head = results
	return rpc.Success
}
