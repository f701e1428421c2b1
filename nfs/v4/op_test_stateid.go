package v4

import "fileserver/nfs/v4/proto"

// testStateID is TEST_STATEID (RFC 8881 18.48).
func (c *compound) testStateID() proto.Status {
	n := c.d.Count(1024, 16)
	if c.badXDR() {
		return proto.ErrBadXDR
	}
	c.uint32(uint32(n))
	for range n {
		sid := proto.DecodeStateID(c.d)
		c.uint32(uint32(c.client.Test(&sid)))
	}
	return proto.OK
}
