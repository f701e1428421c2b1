package v4

import (
	"fileserver/nfs"
	"fileserver/nfs/v4/proto"
	"fileserver/vfs"
	"fileserver/vfs/lock"
)

// target is what a filehandle names: an object of an export, or a node of the pseudo file system.
type target struct {
	export *nfs.Export
	node   vfs.Node // the compound releases it at its end
	pseudo *pseudoNode
}

func (t *target) isSet() bool { return t.node != nil || t.pseudo != nil }

func (t *target) readOnly() bool { return t.pseudo != nil || t.export.ReadOnly }

func (t *target) kind() vfs.Kind {
	if t.pseudo != nil {
		return vfs.KindDirectory
	}
	return t.node.Kind()
}

// key identifies the file to the arbiter of locks.
func (t *target) key() lock.FileKey {
	return t.node.Identity()
}

// append appends the handle's bytes.
func (t *target) append(b []byte) []byte {
	if t.pseudo != nil {
		return t.pseudo.appendHandle(b)
	}
	return nfs.AppendHandle(b, t.export, t.node.Handle())
}

// hold makes the compound release the node at its end, and makes a target of it.
func (c *compound) hold(e *nfs.Export, n vfs.Node) target {
	c.nodes = append(c.nodes, n)
	return target{export: e, node: n}
}

// setCurrent makes t the current filehandle; its stateid is forgotten (RFC 8881 16.2.3.1.2).
func (c *compound) setCurrent(t target) {
	c.cur = t
	c.curSID = proto.AnonymousStateID
}

// usable reports whether the client of the call may use an export at all, and with the flavor of the call. Operations that ask
// for security information come without the right flavor (RFC 8881 2.6.3.1).
func (c *compound) usable(e *nfs.Export) proto.Status {
	if e == nil || !c.sees(e) {
		return proto.ErrStale
	}
	if !e.AllowsFlavor(c.call.Flavor) {
		switch c.next() {
		case proto.OpSecInfo, proto.OpSecInfoNoName, proto.OpPutFH, proto.OpPutRootFH, proto.OpPutPubFH, proto.OpRestoreFH:
		default:
			return proto.ErrWrongSec
		}
	}
	if !c.srv.cfg.Exports.CheckPort(e, c.call) {
		return proto.ErrPerm // as knfsd does
	}
	return proto.OK
}

func (c *compound) sees(e *nfs.Export) bool { return e.Allows(c.call.Conn.RemoteAddr.Addr()) }

// creds is the caller's identity in the export of the current filehandle.
func (c *compound) creds() *vfs.Cred { return c.credsIn(c.cur.export) }

func (c *compound) credsIn(e *nfs.Export) *vfs.Cred {
	if c.credOf != e {
		c.credOf, c.cred = e, e.Cred(c.call)
	}
	return c.cred
}

// directory reports whether names can be looked up in the current filehandle.
func (c *compound) directory() proto.Status {
	switch c.cur.kind() {
	case vfs.KindDirectory:
		return proto.OK
	case vfs.KindSymlink:
		return proto.ErrSymlink
	}
	return proto.ErrNotDir
}

// regular reports whether a target is a file that can be read and written.
func (t *target) regular() proto.Status {
	switch t.kind() {
	case vfs.KindRegular:
		return proto.OK
	case vfs.KindDirectory:
		return proto.ErrIsDir
	case vfs.KindSymlink:
		return proto.ErrSymlink
	}
	return proto.ErrWrongType
}

// name checks a component4 (RFC 8881 14.5).
func (c *compound) name(b []byte) (string, proto.Status) {
	limit := maxPseudoName
	if c.cur.export != nil {
		limit = c.cur.export.FS.Caps().MaxName
	}
	s := string(b)
	return s, statusOf(vfs.CheckName(s, limit))
}

// change is the change attribute of a node, for a change_info4.
func (c *compound) change(n vfs.Node) uint64 {
	a, err := n.GetAttr(c.ctx, vfs.AttrChange)
	if err != nil {
		return 0
	}
	return a.Change
}

// lockDir keeps others from changing the directory (or other object) between the two looks at it for a change_info4.
func (c *compound) lockDir(t *target) *lock.Names {
	return c.srv.cfg.Locks.LockNames(t.node.Identity())
}

// changeInfo appends a change_info4 (RFC 8881 3.3.8) of a directory that was locked.
func (c *compound) changeInfo(before, after uint64) {
	c.bool(true)
	c.uint64(before)
	c.uint64(after)
}

// stable makes changes of names and attributes stable where the backend does not by itself.
func (c *compound) stable(e *nfs.Export, nodes ...vfs.Node) proto.Status {
	if e.FS.Caps().StableMetadata {
		return proto.OK
	}
	return statusOf(e.FS.SyncMeta(c.ctx, nodes...))
}
