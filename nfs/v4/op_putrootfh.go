package v4

import "fileserver/nfs/v4/proto"

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
