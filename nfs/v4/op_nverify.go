package v4

import "fileserver/nfs/v4/proto"

// nverify is NVERIFY (RFC 8881 18.15).
func (c *compound) nverify() proto.Status {
	same, st := c.compare()
	if st == proto.OK && same {
		return proto.ErrSame
	}
	return st
}
