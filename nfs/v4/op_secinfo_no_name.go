package v4

import "fileserver/nfs/v4/proto"

// secInfoNoName is SECINFO_NO_NAME (RFC 8881 18.45). It consumes the current filehandle.
func (c *compound) secInfoNoName() proto.Status {
	style := c.d.Uint32()
	if c.badXDR() || style > 1 {
		return proto.ErrBadXDR
	}
	e := c.cur.export
	if style == 1 {
		t, st := c.parent()
		if st != proto.OK {
			return notDir(st)
		}
		e = t.export
	}
	c.flavors(e)
	c.cur = target{}
	return proto.OK
}
