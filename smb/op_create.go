package smb

import (
	"context"

	"fileserver/smb/namespace"
	"fileserver/smb/wire"
	"fileserver/vfs"
)

// Options that make a CREATE fail, and attributes that no file has (MS-SMB2 2.2.13, MS-FSA 2.1.5.1).
const (
	createTreeConnection wire.CreateOptions = 0x00000080 // FILE_CREATE_TREE_CONNECTION

	unsupportedOptions = createTreeConnection | wire.FileOpenByFileID | wire.FileReserveOpfilter
	invalidOptions     = wire.CreateOptions(0xff000000)
	invalidAttributes  = wire.FileAttributes(0xffff8048)

	newContents = 1<<wire.FileSupersede | 1<<wire.FileOverwrite | 1<<wire.FileOverwriteIf
	mayCreate   = 1<<wire.FileSupersede | 1<<wire.FileCreate | 1<<wire.FileOpenIf | 1<<wire.FileOverwriteIf
)

// maxTries is how often a CREATE begins anew because the file was created or deleted, or its oplock was broken,
// meanwhile.
const maxTries = 16

// create is a CREATE (MS-SMB2 3.3.5.9, MS-FSA 2.1.5.1).
type create struct {
	needsNothing
	r     *request
	share *Share
	cred  *vfs.Cred
	q     wire.CreateRequest
	ctxs  createContexts
	path  namespace.Path
	tries int
	found bool // the stream that the path names exists

	desired wire.AccessMask // generic rights mapped
	action  wire.CreateAction
}

// does reports whether the set contains the request's disposition.
func (c *create) does(set int) bool { return set>>c.q.Disposition&1 != 0 }

func parseCreate(r *request) (operation, error) {
	q, err := wire.ParseCreateRequest(r.msg)
	return &create{q: q}, err
}

func (c *create) run(ctx context.Context, r *request) wire.Status {
	if c.r != nil { // it has waited, so everything may have changed
		return c.attempt(ctx)
	}
	if r.tree.ipc() {
		return wire.StatusObjectNameNotFound
	}
	c.r, c.share, c.cred = r, r.tree.share, r.cred()
	if st := c.check(); st != wire.StatusSuccess {
		return st
	}
	return c.attempt(ctx)
}

// check validates the parts of the request that do not depend on the contents of the share.
func (c *create) check() wire.Status {
	q := &c.q
	if q.ImpersonationLevel > wire.ImpersonationDelegate {
		return wire.StatusBadImpersonationLevel
	}
	if !q.DesiredAccess.Valid() {
		return wire.StatusAccessDenied
	}
	if q.Disposition > wire.FileOverwriteIf || q.Options&invalidOptions != 0 || q.FileAttributes&invalidAttributes != 0 {
		return wire.StatusInvalidParameter
	}
	if q.Options&unsupportedOptions != 0 {
		return wire.StatusNotSupported
	}
	dir, file := q.Options&wire.FileDirectoryFile != 0, q.Options&wire.FileNonDirectoryFile != 0
	if dir && (file || c.does(newContents) || q.FileAttributes&wire.FileAttributeTemporary != 0) {
		return wire.StatusInvalidParameter
	}
	if q.DesiredAccess&wire.AccessSystemSecurity != 0 {
		return wire.StatusPrivilegeNotHeld
	}
	c.desired = q.DesiredAccess.MapGeneric()
	if q.Options&wire.FileDeleteOnClose != 0 && c.desired&(wire.Delete|wire.MaximumAllowed) == 0 {
		return wire.StatusInvalidParameter
	}
	if st := c.ctxs.parse(q.Contexts, c.r.conn.neg.Load().posix); st != wire.StatusSuccess {
		return st
	}
	var st wire.Status
	if c.path, st = namespace.Parse(q.Name, c.ctxs.posix); st != wire.StatusSuccess {
		return st
	}
	dir = dir || c.path.Slash || c.path.Stream == namespace.StreamIndex
	switch {
	case dir && (c.named() || c.path.Stream == namespace.StreamData):
		return wire.StatusNotADirectory
	case dir && file:
		return wire.StatusObjectNameInvalid
	case dir:
		q.Options |= wire.FileDirectoryFile
	case c.path.Stream == namespace.StreamData:
		q.Options |= wire.FileNonDirectoryFile
	}
	return wire.StatusSuccess
}

// attempt looks up the name, and opens or creates the object.
func (c *create) attempt(ctx context.Context) wire.Status {
	if c.r.session.full() {
		return wire.StatusTooManyOpenedFiles
	}
	how := namespace.How(0)
	if c.q.Options&wire.FileOpenReparsePoint != 0 {
		how |= namespace.LastLink
	}
	if c.r.conn.neg.Load().posix {
		how |= namespace.NoLinks // a client with the POSIX extensions follows links itself
	}
	if c.ctxs.posix {
		how |= namespace.Exact
	}
	for ; c.tries < maxTries; c.tries++ {
		obj, err := c.share.view().Walk(ctx, c.cred, &c.path, how)
		if err != nil {
			return c.stopped(&obj, err)
		}
		var st wire.Status
		again := false
		if obj.Node == nil {
			st, again = c.make(ctx, &obj)
		} else {
			st, again = c.open(ctx, &obj)
		}
		obj.Release()
		if !again {
			return st
		}
	}
	return wire.StatusSharingViolation
}

// stopped returns the status of a walk that failed. If a symbolic link stopped the walk, the error data describes the
// link (MS-SMB2 2.2.2.2.1).
func (c *create) stopped(obj *namespace.Object, err error) wire.Status {
	st, ok := err.(wire.Status)
	if !ok {
		return statusOf(err)
	}
	if st == wire.StatusStoppedOnSymlink {
		e := namespace.SymlinkError(obj.Target, c.path.Elems[len(c.path.Elems)-obj.Rest:])
		if c.ctxs.posix { // the target is the one on disk, unchanged
			e.Substitute = wire.AppendUTF16(nil, obj.Target)
			e.Print = e.Substitute
		}
		c.r.errorData = e.Append(nil)
		if c.r.conn.dialect() == wire.Dialect311 {
			c.r.errorData = (&wire.ErrorContext{Data: c.r.errorData}).Append(nil)
		}
	}
	return st
}

// link returns the name's link with a reference for the open. The file may have been deleted since the walk found it;
// the status then makes the caller begin again.
func (c *create) link(obj *namespace.Object) (*link, wire.Status) {
	return c.r.conn.srv.links.join(c.share.FS, obj.Node.Identity(), obj)
}

// finish publishes the open and answers the request.
func (c *create) finish(ctx context.Context, o *Open, maximal wire.AccessMask) wire.Status {
	r := c.r
	o.deletes = c.q.Options&wire.FileDeleteOnClose != 0
	if c.action != wire.FileOpened && o.stream == nil {
		r.conn.srv.links.reserve(o.link, c.ctxs.allocate)
	}
	i, err := o.info(ctx)
	if err != nil {
		o.end(ctx)
		return statusOf(err)
	}
	level := uint8(wire.OplockLevelNone)
	if o.granted&^undisturbing != 0 || c.action != wire.FileOpened {
		level = o.grantOplock(c.q.OplockLevel)
	}
	if st := r.session.publish(o); st != wire.StatusSuccess {
		o.end(ctx)
		return st
	}
	r.open = o
	r.compound.fileID, r.compound.fileStatus = o.id, wire.StatusSuccess
	if level != wire.OplockLevelNone {
		r.compound.opened = append(r.compound.opened, o)
	}
	resp := wire.CreateResponse{
		OplockLevel: level, Action: c.action,
		CreationTime: i.times.Creation, LastAccessTime: i.times.LastAccess, LastWriteTime: i.times.LastWrite, ChangeTime: i.times.Change,
		AllocationSize: i.allocated(), EndOfFile: i.size(), FileAttributes: i.dos, FileID: o.id,
		Contexts: c.ctxs.answer(o, &i, maximal&r.tree.maximalAccess()),
	}
	if i.tag() != 0 {
		resp.Flags = wire.CreateFlagReparsePoint
	}
	return r.reply(&resp)
}
