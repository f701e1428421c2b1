package nfsrdma

// firstCredits are granted to a client until it uses more. Their receives are all that an idle connection holds of the
// pool. Before its first reply a client has one credit (RFC 8166 3.3.1).
const firstCredits = 16

// credits returns how many credits a reply grants. A receive is posted for each.
func (c *Conn) credits() uint32 { return uint32(c.granted.Load()) }

// growCredits posts more receives, for more credits, when the client has used a quarter of those it has. If
// there is no memory for them the client's credits stay as they are. Only the completion goroutine calls it.
func (c *Conn) growCredits(running int) {
	granted := int(c.granted.Load())
	if most := c.srv.cfg.Credits; granted < most && 4*running > granted {
		n := c.ep.PostReceives(min(granted, most-granted))
		c.granted.Add(int32(n))
	}
}
