package iwarp

import "sync/atomic"

// counters are the provider's figures.
type counters struct {
	established, live                  atomic.Int64
	halfOpen                           atomic.Int64
	txBytes, rxBytes                   atomic.Uint64
	txFPDUs, rxFPDUs                   atomic.Uint64
	txWaits, recvs                     atomic.Uint64
	terminatesSent, terminatesReceived atomic.Uint64
	reasons                            [reasonCount]atomic.Uint64
}

func (c *counters) ended(r Reason) {
	c.reasons[r].Add(1)
	c.live.Add(-1)
}

func (c *counters) refused(r Reason) { c.reasons[r].Add(1) }

// Stats are a provider's figures since it was made.
type Stats struct {
	Established int64 // connections made
	Live        int64 // of these, not ended yet
	HalfOpen    int64 // connections accepted from TCP that have not sent their MPA request yet

	TxBytes, RxBytes uint64 // of the TCP streams
	TxFPDUs, RxFPDUs uint64
	TxWaits          uint64 // times TCP took no more for the moment
	Recvs            uint64 // SENDs delivered

	TerminatesSent, TerminatesReceived uint64
	// Reasons counts connections refused or ended, by [Reason].String.
	Reasons map[string]uint64
}

// Stats returns the figures of the moment.
func (p *Provider) Stats() Stats {
	c := &p.stats
	s := Stats{
		Established: c.established.Load(), Live: c.live.Load(), HalfOpen: c.halfOpen.Load(),
		TxBytes: c.txBytes.Load(), RxBytes: c.rxBytes.Load(), TxFPDUs: c.txFPDUs.Load(), RxFPDUs: c.rxFPDUs.Load(),
		TxWaits: c.txWaits.Load(), Recvs: c.recvs.Load(),
		TerminatesSent: c.terminatesSent.Load(), TerminatesReceived: c.terminatesReceived.Load(),
		Reasons: make(map[string]uint64, reasonCount),
	}
	for r := Reason(1); r < reasonCount; r++ {
		s.Reasons[r.String()] = c.reasons[r].Load()
	}
	return s
}
