package nfsrdma

// firstCredits are granted to a client that has not shown that it uses more: its receives are all that an idle connection
// holds of the pool. Until its first reply a client has one credit (RFC 8166 3.3.1).
const firstCredits = 16

// credits is what a reply grants. A receive is posted for each of them.
func (c *Conn) credits() uint32 { return uint32(c.granted.Load()) }

// growCredits posts more receives, for more credits, when the client has used a quarter of those it has. Without
// memory for them the client keeps what it has. Only the completion goroutine calls it.
func (c *Conn) growCredits(running int) {
	granted := int(c.granted.Load())
	if most := c.srv.cfg.Credits; granted < most && 4*running > granted {
		n := c.ep.PostReceives(min(granted, most-granted))
		c.granted.Add(int32(n))
	}
}
