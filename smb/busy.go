package smb

// Busy implements [transport.Busy]. A connection that has no request to answer, and whose sessions have nothing open,
// may be ended: clients connect again without their users noticing.
func (c *Conn) Busy() bool {
	c.mu.Lock()
	busy := c.first != nil
	sessions := make([]*Session, 0, len(c.channels))
	for _, ch := range c.channels {
		sessions = append(sessions, ch.session)
	}
	c.mu.Unlock()
	for _, s := range sessions {
		s.mu.Lock()
		busy = busy || len(s.opens) > 0
		s.mu.Unlock()
	}
	return busy
}
