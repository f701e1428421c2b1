package v4

import "fileserver/nfs/v4/proto"

// reclaimComplete is RECLAIM_COMPLETE (RFC 8881 18.51). No file system migrates: for one there is never anything to reclaim.
func (c *compound) reclaimComplete() proto.Status {
	oneFS := c.d.Bool()
	switch {
	case c.badXDR():
		return proto.ErrBadXDR
	case oneFS && !c.cur.isSet():
		return proto.ErrNoFileHandle
	case oneFS:
		return proto.OK
	}
	// From here on the client may have state: after a restart it is waited for.
	if c.srv.remember(c.client) != nil {
		return proto.ErrServerFault
	}
	a, st := c.srv.clients.ReclaimComplete(c.client)
	c.srv.act(a)
	return st
}
