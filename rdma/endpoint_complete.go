package rdma

import (
	"errors"
	"fmt"
	"sync/atomic"

	"fileserver/internal/slab"
)

// A work request's ID says what it belongs to:
// kind (2 bits) | slots (16) | index (22) | generation (24), from the low end.
const (
	maxSlots  = 1<<16 - 1
	indexMask = 1<<22 - 1
	genMask   = 1<<24 - 1
)

const (
	kindPart    = iota // of a chain, not the last of its post
	kindPartEnd        // of a chain, the last of its post
	kindRead
	kindRecv
)

func wrID(kind, slots int, index, gen uint32) uint64 {
	return uint64(kind) | uint64(slots)<<2 | uint64(index&indexMask)<<18 | uint64(gen&genMask)<<40
}

func splitID(id uint64) (kind, slots int, index, gen uint32) {
	return int(id & 3), int(id >> 2 & maxSlots), uint32(id >> 18 & indexMask), uint32(id >> 40)
}

func isFlushed(err error) bool {
	var c *CompletionError
	return errors.As(err, &c) && c.Status == StatusWRFlushErr
}

// complete handles one completion.
func (e *Endpoint) complete(wc *WC) {
	kind, _, index, _ := splitID(wc.ID)
	if wc.Status != StatusSuccess {
		e.fail(&CompletionError{Opcode: wc.Opcode, Status: wc.Status}, wc.Status != StatusWRFlushErr)
	}
	switch kind {
	case kindPart, kindPartEnd:
		e.partDone(wc, kind == kindPartEnd)
	case kindRead:
		e.readDone(wc)
	case kindRecv:
		e.received(wc, index)
	}
}

func (e *Endpoint) received(wc *WC, index uint32) {
	e.mu.Lock()
	if int(index) >= len(e.recvs) || e.recvs[index].buf == nil {
		e.mu.Unlock()
		return
	}
	s := &e.recvs[index]
	buf := s.buf
	s.buf = nil
	e.freeRecv = append(e.freeRecv, index)
	e.mu.Unlock()
	if wc.Status != StatusSuccess {
		buf.Release()
		return
	}
	e.count.received(int64(wc.ByteLen))
	buf.SetLen(int(wc.ByteLen))
	e.cfg.Handler.Received(buf, wc.InvKey, wc.Invalidated)
}

// Repost posts buf as a receive, at its full length of RecvSize. It takes buf
// over, and releases it when it fails: when the connection has ended, or when
// RecvDepth receives are posted already ([ErrQueueFull]).
func (e *Endpoint) Repost(buf *slab.Buf) error {
	if buf.Cap() < e.cfg.RecvSize {
		n := buf.Cap()
		buf.Release()
		return fmt.Errorf("rdma: a receive of %d bytes, not %d", n, e.cfg.RecvSize)
	}
	buf.SetLen(e.cfg.RecvSize)
	sge, err := e.mem.sge(buf, 0, e.cfg.RecvSize)
	e.mu.Lock()
	switch {
	case err != nil:
	case e.failing:
		err = e.refusal()
	case len(e.freeRecv) == 0:
		err = ErrQueueFull
	}
	if err != nil {
		e.mu.Unlock()
		buf.Release()
		return err
	}
	index := e.freeRecv[len(e.freeRecv)-1]
	e.freeRecv = e.freeRecv[:len(e.freeRecv)-1]
	s := &e.recvs[index]
	s.buf, s.sge[0] = buf, sge
	s.wr[0] = RecvWR{ID: wrID(kindRecv, 0, index, 0), SGL: s.sge[:]}
	e.mu.Unlock()
	if err = e.qp.PostRecv(s.wr[:]); err == nil {
		return nil
	}
	e.mu.Lock()
	s.buf = nil
	e.freeRecv = append(e.freeRecv, index)
	wake := e.wake
	e.mu.Unlock()
	buf.Release()
	e.fail(err, !errors.Is(err, ErrNotConnected))
	if e.isFailing() {
		wake()
	}
	return err
}

func (e *Endpoint) isFailing() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.failing
}

// refuseQueued ends all that waits and has nothing in flight; the rest ends with
// its last completion.
func (e *Endpoint) refuseQueued() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for e.readQ.head != nil {
		r := e.readQ.pop()
		if r.err == nil {
			r.err = e.refusal()
		}
		if r.inFlight == 0 {
			e.endRead(r)
		}
	}
	for op := e.sendQ.head; op != nil; op = e.sendQ.head {
		e.sendQ.remove(op)
		if op.err == nil {
			op.err = e.refusal()
		}
		if op.inFlight == 0 {
			err := op.err
			e.mu.Unlock()
			e.finish(op, err)
			e.mu.Lock()
		}
	}
}

// abandon releases what never completed. The ID is closed: the provider touches
// nothing any more. With a provider that flushes as it should there is nothing to do.
func (e *Endpoint) abandon() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range e.recvs {
		if b := e.recvs[i].buf; b != nil {
			e.recvs[i].buf = nil
			e.freeRecv = append(e.freeRecv, uint32(i))
			b.Release()
		}
	}
	for _, r := range e.reads {
		if r.inFlight > 0 {
			r.inFlight, r.err = 0, e.refusal()
			e.endRead(r)
		}
	}
	for _, op := range e.ops {
		if op.inFlight > 0 {
			op.inFlight = 0
			err := e.refusal()
			e.mu.Unlock()
			e.finish(op, err)
			e.mu.Lock()
		}
	}
	e.flying, e.reading = 0, 0
}

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

// Stats returns the figures of the moment.
func (e *Endpoint) Stats() EndpointStats {
	e.mu.Lock()
	s := EndpointStats{
		SlotsUsed: e.cfg.SendDepth - e.free, SendsWaiting: e.sendQ.n,
		ReadsOutstanding: e.reading, ReadsWaiting: e.readQ.n,
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
