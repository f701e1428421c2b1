package v4

import "fileserver/nfs/v4/proto"

// saveFH is SAVEFH (RFC 8881 18.28). The current stateid is saved too (16.2.3.1.2).
func (c *compound) saveFH() proto.Status {
	c.saved, c.savedSID = c.cur, c.curSID
	return proto.OK
}
