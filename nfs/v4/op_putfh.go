package v4

import (
	"encoding/binary"

	"fileserver/nfs"
	"fileserver/nfs/v4/proto"
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
