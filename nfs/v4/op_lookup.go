package v4

import (
	"fileserver/nfs/v4/proto"
	"fileserver/nfs/xdr"
	"fileserver/vfs"
)

// lookup is LOOKUP (RFC 8881 18.13).
func (c *compound) lookup() proto.Status {
	raw := c.d.Opaque(proto.MaxName)
	if c.badXDR() {
		return proto.ErrBadXDR
	}
	t, st := c.find(raw)
	if st != proto.OK {
		return st
	}
	if t.export != nil {
		if st := c.usable(t.export); st != proto.OK {
			return st
		}
	}
	c.setCurrent(t)
	return proto.OK
}

// find is the object of a name in the current filehandle. Whether the caller may use it is not checked yet if it is another export's.
func (c *compound) find(raw []byte) (target, proto.Status) {
	if st := c.directory(); st != proto.OK {
		return target{}, st
	}
	name, st := c.name(raw)
	if st != proto.OK {
		return target{}, st
	}
	at := c.cur.pseudo
	if at == nil {
		at = c.covered(&c.cur)
	}
	if at != nil {
		if n := at.child(name); n != nil && c.visible(n) {
			t, err := c.enter(n)
			return t, statusOf(err)
		}
		if c.cur.node == nil {
			return target{}, proto.ErrNoEnt
		}
	}
	n, err := c.cur.node.Lookup(c.ctx, c.creds(), name)
	if err != nil {
		return target{}, statusOf(err)
	}
	return c.hold(c.cur.export, n), proto.OK
}

// lookupP is LOOKUPP (RFC 8881 18.14). Above an export's root lies the pseudo file system.
func (c *compound) lookupP() proto.Status {
	t, st := c.parent()
	if st != proto.OK {
		return st
	}
	if t.export != nil && t.export != c.cur.export {
		if st := c.usable(t.export); st != proto.OK {
			return st
		}
	}
	c.setCurrent(t)
	return proto.OK
}

// parent is the directory above the current filehandle.
func (c *compound) parent() (target, proto.Status) {
	if st := c.directory(); st != proto.OK {
		return target{}, st
	}
	at := c.cur.pseudo
	if at == nil {
		at = c.covered(&c.cur)
	}
	if at != nil {
		if at.parent == nil { // the root
			return target{}, proto.ErrNoEnt
		}
		t, err := c.enter(at.parent)
		return t, statusOf(err)
	}
	n, err := c.cur.node.Parent(c.ctx, c.creds())
	if err != nil {
		return target{}, statusOf(err)
	}
	return c.hold(c.cur.export, n), proto.OK
}

// readlink is READLINK (RFC 8881 18.24).
func (c *compound) readlink() proto.Status {
	switch c.cur.kind() {
	case vfs.KindSymlink:
	case vfs.KindDirectory:
		return proto.ErrIsDir
	default:
		return proto.ErrWrongType
	}
	text, err := c.cur.node.Readlink(c.ctx, c.creds())
	if err != nil {
		return statusOf(err)
	}
	i := c.payloads
	c.payloads++
	if !c.call.Conn.RDMA() {
		c.r.Head = xdr.AppendString(c.r.Head, text)
		return proto.OK
	}
	if len(text) > c.call.PayloadLimit(i, c.r.Len()+4) {
		return proto.ErrTooSmall
	}
	buf, err := c.call.Buffer(c.ctx, len(text))
	if err != nil {
		return proto.ErrDelay
	}
	copy(buf.Bytes(), text)
	c.r.AppendPayload(buf, 0, len(text), true)
	return proto.OK
}
