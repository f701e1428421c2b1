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
	Empty                   int64 // SENDs that only grant credits or keep alive
	Invalidates             int64 // SENDs with invalidate
	SendCredits             int   // granted by the peer and not spent
	PeerCredits             int   // granted to the peer and not spent
	MaxSend, MaxReceive     int   // bytes of one SEND, negotiated
}

// Stats returns the current figures.
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

// Totals are the sums over all connections a server has had, negotiated or not.
type Totals struct {
	MessagesIn, MessagesOut int64
	Fragments               int64 // SENDs with data
	Empty                   int64 // SENDs that only grant credits or keep alive
	Invalidates             int64 // SENDs with invalidate
	SendBytes, RecvBytes    int64 // inline
	WriteBytes, ReadBytes   int64 // by RDMA WRITE and READ, bytes
}

func (t *Totals) add(s *Stats) {
	t.MessagesIn += s.MessagesIn
	t.MessagesOut += s.MessagesOut
	t.Fragments += s.Fragments
	t.Empty += s.Empty
	t.Invalidates += s.Invalidates
	t.SendBytes += s.SendBytes
	t.RecvBytes += s.RecvBytes
	t.WriteBytes += s.WriteBytes
	t.ReadBytes += s.ReadBytes
}

// Totals returns the current figures.
func (s *Server) Totals() Totals {
	s.mu.Lock()
	t := s.past
	conns := s.Conns()
	s.mu.Unlock()
	for _, c := range conns {
		st := c.Stats()
		t.add(&st)
	}
	return t
}
