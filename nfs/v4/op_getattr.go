package v4

import "fileserver/nfs/v4/proto"

// getAttr is GETATTR (RFC 8881 18.7). Attributes that are not supported are left out.
func (c *compound) getAttr() proto.Status {
	want, _ := proto.DecodeBitmap(c.d)
	if c.badXDR() {
		return proto.ErrBadXDR
	}
	if w := want.And(writeOnly); !w.IsEmpty() {
		return proto.ErrInval
	}
	var v values
	if st := c.values(&c.cur, want, &v); st != proto.OK {
		return st
	}
	c.r.Head = c.appendAttrs(c.r.Head, want, &v)
	return proto.OK
}
