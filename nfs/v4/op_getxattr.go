package v4

import (
	"fileserver/nfs/v4/proto"
	"fileserver/nfs/xdr"
)

// getXattr is GETXATTR (RFC 8276 8.4.1).
func (c *compound) getXattr() proto.Status {
	raw := c.d.Opaque(proto.MaxName)
	if c.badXDR() {
		return proto.ErrBadXDR
	}
	x, name, st := c.xattrs(raw)
	if st != proto.OK {
		return st
	}
	v, err := x.GetXattr(c.ctx, c.creds(), name)
	if err != nil {
		return statusOf(err)
	}
	if len(v)+8 > c.room() {
		return proto.ErrTooSmall
	}
	c.r.Head = xdr.AppendOpaque(c.r.Head, v)
	return proto.OK
}
