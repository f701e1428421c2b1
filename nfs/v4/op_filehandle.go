package v4

import (
	"encoding/binary"

	"fileserver/nfs"
	"fileserver/nfs/v4/proto"
	"fileserver/nfs/xdr"
)

// putFH is PUTFH (RFC 8881 18.19).
func (c *compound) putFH() proto.Status {
	fh := c.d.Opaque(proto.FHSize)
	if c.badXDR() {
		return proto.ErrBadXDR
	}
	if len(fh) > 4 && binary.BigEndian.Uint32(fh) == pseudoID {
		var h [16]byte
		if copy(h[:], fh[4:]) != len(h) || len(fh) != 4+len(h) {
			return proto.ErrBadHandle
		}
		n := c.srv.tree(c.ctx).byHandle[h]
		if n == nil || n.parent != nil && !c.visible(n) {
			return proto.ErrStale
		}
		c.setCurrent(target{pseudo: n})
		return proto.OK
	}
	id, h, ok := nfs.ParseHandle(fh)
	if !ok {
		return proto.ErrBadHandle
	}
	e := c.srv.cfg.Exports.ByID(id)
	if e == nil {
		return proto.ErrStale
	}
	if st := c.usable(e); st != proto.OK {
		return st
	}
	n, err := e.FS.Resolve(c.ctx, h)
	if err != nil {
		return statusOf(err)
	}
	c.setCurrent(c.hold(e, n))
	return proto.OK
}

// putRootFH is PUTROOTFH and PUTPUBFH (RFC 8881 18.21, 18.20): the public filehandle is the root's.
func (c *compound) putRootFH() proto.Status {
	t, err := c.enter(c.srv.tree(c.ctx).root)
	if err != nil {
		return statusOf(err)
	}
	if t.export != nil {
		if st := c.usable(t.export); st != proto.OK {
			return st
		}
	}
	c.setCurrent(t)
	return proto.OK
}

// getFH is GETFH (RFC 8881 18.8).
func (c *compound) getFH() proto.Status {
	at := len(c.r.Head)
	b := xdr.AppendUint32(c.r.Head, 0)
	c.r.Head = closeOpaque(c.cur.append(b), at)
	return proto.OK
}

// saveFH is SAVEFH (RFC 8881 18.28). The current stateid is saved too (16.2.3.1.2).
func (c *compound) saveFH() proto.Status {
	c.saved, c.savedSID = c.cur, c.curSID
	return proto.OK
}

// restoreFH is RESTOREFH (RFC 8881 18.27).
func (c *compound) restoreFH() proto.Status {
	if !c.saved.isSet() {
		return proto.ErrNoFileHandle
	}
	c.cur, c.curSID = c.saved, c.savedSID
	return proto.OK
}
