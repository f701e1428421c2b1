package smb

import (
	"context"
	"strings"

	"fileserver/smb/namespace"
	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/lock"
)

// setDisposition sets whether the file is deleted with its last open (FileDispositionInformation: MS-FSA 2.1.5.15.3).
func setDisposition(ctx context.Context, r *request, o *Open, q *wire.SetInfoRequest) wire.Status {
	v, err := wire.ParseInfo8(q.Input)
	if err != nil {
		return wire.StatusInfoLengthMismatch
	}
	flags := uint32(0)
	if v != 0 {
		flags = wire.DispositionDelete
	}
	return o.setDeletePending(ctx, r, flags)
}

// setDispositionEx is setDisposition with flags (FileDispositionInformationEx: MS-FSCC 2.4.12).
func setDispositionEx(ctx context.Context, r *request, o *Open, q *wire.SetInfoRequest) wire.Status {
	v, err := wire.ParseInfo32(q.Input)
	if err != nil {
		return wire.StatusInfoLengthMismatch
	}
	const known = wire.DispositionDelete | wire.DispositionPosixSemantics | wire.DispositionForceImageSectionCheck |
		wire.DispositionOnClose | wire.DispositionIgnoreReadonlyAttribute
	if v&^known != 0 {
		return wire.StatusInvalidParameter
	}
	return o.setDeletePending(ctx, r, v)
}

// target is the new name of a rename or link.
type target struct {
	from    vfs.Node         // of a rename: the directory of the open's current name,
	name    string           // and that name
	obj     namespace.Object // released by the caller
	replace bool             // what is there
	posix   bool             // POSIX semantics: replace it even if it is open
	claim   *lock.Open       // the claim of the replaced object: it keeps others from opening it
	names   [2]*lock.Names   // the locked names of the directories, from find to release
}

func (t *target) release() {
	if t.claim != nil {
		t.claim.Close()
	}
	t.unlock()
	t.obj.Release()
}

func (t *target) unlock() {
	t.names[1].Unlock()
	t.names[0].Unlock()
	t.names = [2]*lock.Names{}
}

// find finds the target of a rename or link, and checks whether it may be replaced (MS-FSA 2.1.5.15.6, 2.1.5.15.11).
// It locks the names of the target's directory, and of the directory that a rename is from.
func (t *target) find(ctx context.Context, r *request, o *Open, q *wire.SetInfoRequest) wire.Status {
	i, err := wire.ParseRenameInfo(q.Class, q.Input)
	switch {
	case err != nil && len(q.Input) < 20:
		return wire.StatusInfoLengthMismatch
	case err != nil, i.RootDirectory != 0:
		return wire.StatusInvalidParameter
	}
	t.replace = i.Flags&wire.RenameReplaceIfExists != 0
	t.posix = i.Flags&wire.RenamePosixSemantics != 0
	// Some clients begin the name with a separator, as in local paths of Windows.
	p, st := namespace.Parse(wire.AppendUTF16(nil, strings.TrimPrefix(i.Name, `\`)), o.posix)
	switch {
	case st != wire.StatusSuccess:
		return st
	case p.Stream == namespace.StreamNamed || p.Stream == namespace.StreamData:
		return wire.StatusNotSupported // a file's data cannot become a stream
	case len(p.Elems) == 0:
		return wire.StatusObjectNameInvalid
	}
	sh := o.share
	if sh.readOnly() {
		return wire.StatusMediaWriteProtected
	}
	how := namespace.LastLink
	if r.conn.neg.Load().posix {
		how |= namespace.NoLinks
	}
	if o.posix {
		how |= namespace.Exact
	}
	if st := t.walk(ctx, r, sh, &p, how); st != wire.StatusSuccess {
		return st
	}
	if r.conn.srv.links.dying(t.obj.Dir.Identity()) {
		return wire.StatusDeletePending
	}
	if t.from != nil {
		// Windows opens the directory for writing, so that meanwhile nobody can delete or rename it.
		c, err := r.conn.srv.cfg.Locks.Open(t.obj.Dir.Identity(), o.cacheKey(), lock.Write, lock.Delete)
		if err != nil {
			return wire.StatusSharingViolation
		}
		c.Close()
	}
	if t.obj.Node == nil {
		return wire.StatusSuccess
	}
	if t.from != nil && t.obj.Name == t.name && t.obj.Dir.Handle() == t.from.Handle() {
		t.self(&p)
		return wire.StatusSuccess
	}
	if t.from == nil && t.replace && t.obj.Node.Handle() == o.object().Handle() {
		return wire.StatusSuccess // the link exists already
	}
	return t.mayReplace(ctx, r, o, i.Flags&wire.RenameIgnoreReadonlyAttribute != 0)
}

// walk finds the target and locks the names of its directory. Between the lookup and the change nobody may create the
// new name, because rename(2) would replace it.
func (t *target) walk(ctx context.Context, r *request, sh *Share, p *namespace.Path, how namespace.How) wire.Status {
	var locked vfs.Identity
	for {
		obj, err := sh.view().Walk(ctx, r.cred(), p, how)
		t.obj.Release()
		t.obj = obj
		if err != nil {
			if st, ok := err.(wire.Status); ok {
				return st
			}
			return statusOf(err)
		}
		if obj.Dir == nil {
			return wire.StatusAccessDenied
		}
		dir := obj.Dir.Identity()
		if dir == locked {
			return wire.StatusSuccess
		}
		t.unlock() // the path now leads to another directory
		locks := r.conn.srv.cfg.Locks
		if t.from != nil {
			t.names[0], t.names[1] = locks.LockNames2(t.from.Identity(), dir)
		} else {
			t.names[0] = locks.LockNames(dir)
		}
		locked = dir
	}
}

// self handles a target that is the open's own name, perhaps in another case: the new name is the one that the client
// asked for.
func (t *target) self(p *namespace.Path) {
	name := p.Elems[len(p.Elems)-1]
	t.obj.Path = t.obj.Path[:len(t.obj.Path)-len(t.obj.Name)] + name
	t.obj.Name = name
	t.obj.Node.Release()
	t.obj.Node = nil
}

// mayReplace checks whether the existing object may be replaced.
func (t *target) mayReplace(ctx context.Context, r *request, o *Open, readonly bool) wire.Status {
	n := t.obj.Node
	if !t.replace {
		return wire.StatusObjectNameCollision
	}
	i, err := infoOf(ctx, o.share.view(), n, t.obj.Name)
	switch {
	case err != nil:
		return statusOf(err)
	case i.dos&wire.FileAttributeReadonly != 0 && !readonly:
		return wire.StatusAccessDenied
	case i.directory() && !(t.posix && o.dir):
		return wire.StatusAccessDenied
	case t.posix:
		return wire.StatusSuccess
	case len(r.conn.srv.streams.open(n.Identity())) > 0:
		return wire.StatusAccessDenied
	}
	// The object that is replaced must not be open, so clients that cache handles of it have to close them.
	const all = lock.CacheRead | lock.CacheWrite | lock.CacheHandle
	var rc *lock.Recall
	t.claim, rc, err = r.conn.srv.cfg.Locks.OpenRecall(n.Identity(), o.cacheKey(), 0, lock.Read|lock.Write|lock.Delete, all)
	switch {
	case rc != nil:
		r.op.(*setInfoRequest).recall = rc
		return wire.StatusPending
	case err != nil:
		return wire.StatusAccessDenied
	}
	return wire.StatusSuccess
}

// setRename gives the file another name (FileRenameInformation: MS-FSA 2.1.5.15.11).
func setRename(ctx context.Context, r *request, o *Open, q *wire.SetInfoRequest) wire.Status {
	if o.stream != nil {
		defer r.conn.srv.cfg.Locks.LockNames(o.link.key).Unlock()
		return renameStream(ctx, r, o, q)
	}
	return afterRecall(r, rename(ctx, r, o, q))
}

// setLink gives the file a further name (FileLinkInformation: MS-FSA 2.1.5.15.6).
func setLink(ctx context.Context, r *request, o *Open, q *wire.SetInfoRequest) wire.Status {
	switch {
	case o.stream != nil:
		return wire.StatusInvalidParameter
	case o.dir:
		return wire.StatusFileIsADirectory
	}
	return afterRecall(r, hardLink(ctx, r, o, q))
}

// afterRecall makes the request wait until the client that caches a handle of the target has had time to close it.
// Then the request begins anew.
func afterRecall(r *request, st wire.Status) wire.Status {
	if st == wire.StatusPending {
		return r.await(r.op.(*setInfoRequest).recall)
	}
	return st
}

func rename(ctx context.Context, r *request, o *Open, q *wire.SetInfoRequest) wire.Status {
	from, name, st := o.parent(ctx)
	if st != wire.StatusSuccess {
		return st
	}
	defer from.Release()
	t := target{from: from, name: name}
	defer t.release()
	if st := t.find(ctx, r, o, q); st != wire.StatusSuccess {
		return st
	}
	if st := o.stillNamed(ctx, r.cred(), from, name); st != wire.StatusSuccess {
		return st
	}
	if o.openBelow() {
		return wire.StatusAccessDenied
	}
	if t.obj.Name == name && t.obj.Dir.Handle() == from.Handle() {
		return wire.StatusSuccess
	}
	if err := from.Rename(ctx, r.cred(), name, t.obj.Dir, t.obj.Name); err != nil {
		switch vfs.StatusOf(err) {
		case vfs.ErrNotDir, vfs.ErrIsDir:
			return wire.StatusAccessDenied
		}
		return statusOf(err) // ErrInvalid: the target is below the directory itself
	}
	o.share.view().Added(ctx, t.obj.Dir, t.obj.Name)
	o.renamed(ctx, from, name, o.path(), &t.obj)
	o.moved(ctx, &t.obj)
	return wire.StatusSuccess
}

func hardLink(ctx context.Context, r *request, o *Open, q *wire.SetInfoRequest) wire.Status {
	var t target
	defer t.release()
	if st := t.find(ctx, r, o, q); st != wire.StatusSuccess {
		return st
	}
	if n := t.obj.Node; n != nil {
		if n.Identity() == o.object().Identity() {
			return wire.StatusSuccess
		}
		if err := replaceByLink(ctx, r.cred(), t.obj.Dir, t.obj.Name, o.object()); err != nil {
			return statusOf(err)
		}
	} else if err := t.obj.Dir.Link(ctx, r.cred(), t.obj.Name, o.object()); err != nil {
		return statusOf(err)
	}
	o.share.view().Added(ctx, t.obj.Dir, t.obj.Name)
	o.added(ctx, &t.obj, o.object().Kind())
	return wire.StatusSuccess
}

// replaceByLink gives the object a name that another object has. The name exists at any time, whatever fails.
func replaceByLink(ctx context.Context, c *vfs.Cred, dir vfs.Node, name string, n vfs.Node) error {
	tmp := tempName()
	if err := dir.Link(ctx, c, tmp, n); err != nil {
		return err
	}
	err := dir.Rename(ctx, c, tmp, dir, name)
	if err != nil {
		_ = dir.Remove(ctx, c, tmp, false)
	}
	return err
}

// stillNamed checks that name in the directory, whose names are locked, still belongs to the open: others may have
// renamed the file before the lock was taken.
func (o *Open) stillNamed(ctx context.Context, c *vfs.Cred, dir vfs.Node, name string) wire.Status {
	n, err := dir.Lookup(ctx, c, name)
	if err != nil {
		return statusOf(err)
	}
	defer n.Release()
	if !o.srv.links.is(o.link, dir, name, n) {
		return wire.StatusObjectNameNotFound
	}
	return wire.StatusSuccess
}
