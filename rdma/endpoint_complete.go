package rdma

import (
	"errors"
	"fmt"

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

// PostReceives takes the memory for up to n more receives and posts them, and returns how many it posted: fewer than n
// when the pool has no more memory, when RecvDepth receives are posted, or when the connection has ended. It does not wait.
func (e *Endpoint) PostReceives(n int) int {
	for i := range n {
		buf, ok := e.mem.Pool().TryGet(e.cfg.RecvSize)
		if !ok || e.Repost(buf) != nil {
			return i
		}
	}
	return n
}

// Repost posts buf as a receive, at its full length of RecvSize. It owns buf
// from then on, and releases it if it fails: when the connection has ended, or when
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
	case e.failing:
		err = e.refusalLocked()
	case err != nil:
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
	e.mu.Unlock()
	buf.Release()
	e.fail(err, !errors.Is(err, ErrNotConnected))
	e.mu.Lock()
	e.wakeIfDrainedLocked()
	e.mu.Unlock()
	return err
}
