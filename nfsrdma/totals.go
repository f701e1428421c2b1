package nfsrdma

// Totals are figures of a server since it was created, for metrics.
type Totals struct {
	Conns    int   // open
	Accepted int64 // connections answered so far
	Credits  int64 // granted to all open connections
	// Stats are sums: counters over all connections, ended ones included, and gauges over the open ones.
	Stats
}

// Totals returns the current figures.
func (s *Server) Totals() Totals {
	var sum Totals
	for _, t := range s.TotalsByTransport() {
		sum.Conns += t.Conns
		sum.Accepted += t.Accepted
		sum.Credits += t.Credits
		sum.add(&t.Stats)
		sum.addNow(&t.Stats)
	}
	return sum
}

// TotalsByTransport returns the current figures of each transport that has had connections.
func (s *Server) TotalsByTransport() map[string]Totals {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string]Totals, len(s.past))
	for name, p := range s.past {
		all[name] = *p
	}
	for _, c := range s.conns.Conns() {
		t := all[c.info.Transport]
		st := c.Stats()
		t.Conns++
		t.Credits += int64(c.credits())
		t.add(&st)
		t.addNow(&st)
		all[c.info.Transport] = t
	}
	return all
}

// addNow adds the gauges.
func (s *Stats) addNow(o *Stats) {
	s.Running += o.Running
	s.SlotsUsed += o.SlotsUsed
	s.SendsWaiting += o.SendsWaiting
	s.ReadsOutstanding += o.ReadsOutstanding
	s.ReadsWaiting += o.ReadsWaiting
	s.RecvsPosted += o.RecvsPosted
	s.ReadCredits += o.ReadCredits
}

// add adds the counters.
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
