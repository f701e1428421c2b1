package v4

import "fileserver/nfs/v4/proto"

// destroyClientID is DESTROY_CLIENTID (RFC 8881 18.50).
func (c *compound) destroyClientID() proto.Status {
	id := c.d.Uint64()
	if c.badXDR() {
		return proto.ErrBadXDR
	}
	a, st := c.srv.clients.DestroyClientID(id)
	c.srv.act(a)
	return st
}
