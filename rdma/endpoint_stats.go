package rdma

import "sync/atomic"

// EndpointStats are figures of an endpoint. Counts and bytes are those of
// requests that completed with success.
type EndpointStats struct {
	Sends, SendBytes int64
	Recvs, RecvBytes int64
	WriteBytes       int64 // by RDMA WRITE
	Reads, ReadBytes int64 // calls of Read
	Errors           int64 // chains and reads that failed
	SlotsUsed        int   // of SendDepth
	SendsWaiting     int   // chains that wait for slots
	ReadsOutstanding int
	ReadsWaiting     int // calls of Read that wait for credits
	RecvsPosted      int
	ReadCredits      int // READs that may be outstanding
}

type counters struct {
	sends, sendBytes, recvs, recvBytes, writeBytes, reads, readBytes, errors atomic.Int64
}

func (c *counters) received(n int64) {
	c.recvs.Add(1)
	c.recvBytes.Add(n)
}

func (c *counters) read(n int64, err error) {
	if err != nil {
		c.errors.Add(1)
		return
	}
	c.reads.Add(1)
	c.readBytes.Add(n)
}

func (c *counters) ended(op *SendOp, err error) {
	if err != nil {
		c.errors.Add(1)
		return
	}
	if op.hasSend {
		c.sends.Add(1)
	}
	c.sendBytes.Add(op.sendBytes)
	c.writeBytes.Add(op.writeBytes)
}

// Stats returns the current figures.
func (e *Endpoint) Stats() EndpointStats {
	e.mu.Lock()
	s := EndpointStats{
		SlotsUsed: e.cfg.SendDepth - e.free, SendsWaiting: e.sendQ.Len(),
		ReadsOutstanding: e.reading, ReadsWaiting: e.readQ.Len(),
		RecvsPosted: len(e.recvs) - len(e.freeRecv), ReadCredits: e.credits + e.reading,
	}
	e.mu.Unlock()
	c := &e.count
	s.Sends, s.SendBytes = c.sends.Load(), c.sendBytes.Load()
	s.Recvs, s.RecvBytes = c.recvs.Load(), c.recvBytes.Load()
	s.WriteBytes = c.writeBytes.Load()
	s.Reads, s.ReadBytes = c.reads.Load(), c.readBytes.Load()
	s.Errors = c.errors.Load()
	return s
}
