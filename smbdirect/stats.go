package smbdirect

import (
	"sync/atomic"

	"fileserver/rdma"
)

type counters struct {
	messagesIn, messagesOut, fragments, empty, invalidates atomic.Int64
}

// Stats are figures of a connection.
type Stats struct {
	rdma.EndpointStats
	MessagesIn, MessagesOut int64
	Fragments               int64 // SENDs with data
	Empty                   int64 // SENDs for the sake of a grant or a keep-alive
	Invalidates             int64 // SENDs with invalidate
	SendCredits             int   // that the peer has given and are not spent
	PeerCredits             int   // that the peer has
	MaxSend, MaxReceive     int   // bytes of one SEND, negotiated
}

// Stats returns the figures of the moment.
func (c *Conn) Stats() Stats {
	s := Stats{
		EndpointStats: c.ep.Stats(),
		MessagesIn:    c.count.messagesIn.Load(), MessagesOut: c.count.messagesOut.Load(),
		Fragments: c.count.fragments.Load(), Empty: c.count.empty.Load(), Invalidates: c.count.invalidates.Load(),
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.SendCredits, s.PeerCredits = c.m.sendCredits, c.m.peerCredits
	s.MaxSend, s.MaxReceive = c.m.maxSend, c.m.maxRecv
	return s
}
