package v4

import "fileserver/nfs/v4/proto"

// destroySession is DESTROY_SESSION (RFC 8881 18.37).
func (c *compound) destroySession() proto.Status {
	id := proto.DecodeSessionID(c.d)
	if c.badXDR() {
		return proto.ErrBadXDR
	}
	own := c.turn.Session()
	if own != nil && own.ID == id && c.index+1 < c.count {
		return proto.ErrNotOnlyOp
	}
	return c.srv.clients.DestroySession(&id, own)
}
