package nfsrdma

// Totals are figures of a server since it was made, for metrics.
type Totals struct {
	Conns    int   // open
	Accepted int64 // connections answered so far
	Credits  int64 // granted to the open connections together
	// Stats are the sums over all connections, ended ones included; of the figures of the moment, over the open ones.
	Stats
}

// Totals returns the figures of the moment.
func (s *Server) Totals() Totals {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := Totals{Conns: len(s.conns), Accepted: s.accepted, Credits: int64(len(s.conns) * s.cfg.Credits), Stats: s.ended}
	for c := range s.conns {
		st := c.Stats()
		t.add(&st)
		t.Running += st.Running
		t.SlotsUsed += st.SlotsUsed
		t.SendsWaiting += st.SendsWaiting
		t.ReadsOutstanding += st.ReadsOutstanding
		t.ReadsWaiting += st.ReadsWaiting
		t.RecvsPosted += st.RecvsPosted
		t.ReadCredits += st.ReadCredits
	}
	return t
}

// add adds the figures that only grow.
func (s *Stats) add(o *Stats) {
	s.Sends += o.Sends
	s.SendBytes += o.SendBytes
	s.Recvs += o.Recvs
	s.RecvBytes += o.RecvBytes
	s.WriteBytes += o.WriteBytes
	s.Reads += o.Reads
	s.ReadBytes += o.ReadBytes
	s.Errors += o.Errors
	s.Calls += o.Calls
	s.ErrVers += o.ErrVers
	s.ErrChunk += o.ErrChunk
	s.Dropped += o.Dropped
	s.Invalidates += o.Invalidates
}
