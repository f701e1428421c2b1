package v4

import "fileserver/nfs/v4/proto"

// restoreFH is RESTOREFH (RFC 8881 18.27).
func (c *compound) restoreFH() proto.Status {
	if !c.saved.isSet() {
		return proto.ErrNoFileHandle
	}
	c.cur, c.curSID = c.saved, c.savedSID
	return proto.OK
}
