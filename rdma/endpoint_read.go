package rdma

import (
	"errors"
	"fmt"

	"fileserver/internal/slab"
)

// readBatch is how many READs are posted with one doorbell at most.
const readBatch = 8

// readOp is one call of Read. The endpoint's lock guards it.
type readOp struct {
	index, gen uint32
	next       *readOp // in the list of unused ones
	queued     bool
	buf        *slab.Buf
	pos        int
	segs       []Segment
	from       target
	left       uint64 // bytes not yet posted
	bytes      int64
	inFlight   int
	err        error
	done       Completion
}

// Read pulls all of the remote segments, one after the other, into buf from off.
// It splits at segments and at [Caps].MaxMsgSize, never has more READs outstanding
// than negotiated, serves calls first come first served, and does not delay SENDs. It does not wait.
//
// done is called once, on the completion goroutine: with nil when all the data
// is placed, otherwise when nothing is outstanding any more. (A Read of no bytes is
// done before Read returns.) When Read returns an error nothing was begun and done
// is not called. The caller keeps its reference of buf; the endpoint holds one of
// its own until then. remote may be reused when Read returns.
func (e *Endpoint) Read(buf *slab.Buf, off int, remote []Segment, done Completion) error {
	n, err := segmentsLen(remote)
	if err != nil {
		return err
	}
	if off < 0 || off > buf.Cap() || n > uint64(buf.Cap()-off) {
		return fmt.Errorf("%w: %d bytes into a buffer of %d, at %d", ErrSegments, n, buf.Cap(), off)
	}
	regErr := e.mem.Err(buf)
	e.mu.Lock()
	switch {
	case e.failing:
		err = e.refusalLocked()
	case regErr != nil:
		err = regErr
	case !e.started:
		err = ErrNotConnected
	case e.credits+e.reading == 0:
		err = fmt.Errorf("%w: the connection was negotiated without READs", ErrUnsupported)
	}
	if err != nil || n == 0 {
		e.mu.Unlock()
		if err == nil {
			done.Completed(nil)
		}
		return err
	}
	r := e.spareRd
	if r != nil {
		e.spareRd = r.next
	} else {
		r = &readOp{index: uint32(len(e.reads))}
		e.reads = append(e.reads, r)
	}
	r.segs = append(r.segs[:0], remote...)
	r.from = target{segs: r.segs}
	r.buf, r.pos, r.left, r.bytes, r.done = buf.Retain(), off, n, int64(n), done
	r.queued = true
	e.readQ.Push(r)
	e.pumpLocked()
	e.mu.Unlock()
	return nil
}

// postReadsLocked posts READs in the order of the queue, as far as the credits go. It
// unlocks mu while it posts.
func (e *Endpoint) postReadsLocked() {
	k := 0
	for ; k < readBatch && e.credits > 0 && e.readQ.Len() > 0; k++ {
		r := *e.readQ.At(0)
		addr, rkey, n, slot := e.nextRead(r, &e.readSGEs[k])
		e.readWRs[k] = SendWR{
			ID: wrID(kindRead, slot, r.index, r.gen), Opcode: OpRead, Flags: SendSignaled,
			SGL: e.readSGEs[k : k+1 : k+1], RemoteAddr: addr, RKey: rkey,
		}
		r.pos += int(n)
		r.left -= uint64(n)
		r.inFlight++
		e.credits--
		e.reading++
		if r.left == 0 {
			e.readQ.Pop()
			r.queued = false
		}
	}
	e.posting = true
	e.mu.Unlock()
	err := e.qp.PostSend(e.readWRs[:k])
	if err != nil {
		e.fail(err, !errors.Is(err, ErrNotConnected))
	}
	e.mu.Lock()
	e.posting = false
	if err == nil {
		return
	}
	for _, wr := range e.readWRs[:k] {
		_, slot, index, _ := splitID(wr.ID)
		r := e.reads[index]
		if e.sink != nil {
			e.sink.put(slot)
		}
		r.inFlight--
		e.credits++
		e.reading--
		if r.err == nil {
			r.err = err
		}
		if r.inFlight == 0 && !r.queued {
			e.endReadLocked(r)
		}
	}
	e.wakeIfDrainedLocked()
}

// nextRead returns the next READ of r: the remote bytes, as many as one READ may move, and
// their local place. slot is the sink's, if there is a sink.
func (e *Endpoint) nextRead(r *readOp, to *SGE) (addr uint64, rkey, n uint32, slot int) {
	if e.sink == nil {
		addr, rkey, n = r.from.take(e.lim.msg)
		*to = e.mem.SGE(r.buf, r.pos, int(n))
		return addr, rkey, n, 0
	}
	addr, rkey, n = r.from.take(min(e.lim.msg, sinkChunk))
	slot, *to = e.sink.take(r.buf, r.pos, int(n))
	return addr, rkey, n, slot
}

// copyFetchedLocked copies the data of a completed READ from the sink to its buffer, and
// frees the slot. The READ still counts as outstanding, so that the buffer is not
// released meanwhile. It unlocks mu while it copies.
func (e *Endpoint) copyFetchedLocked(slot int, ok bool) {
	if ok {
		read := e.sink.reads[slot]
		e.mu.Unlock()
		read.copy(e.sink, slot)
		e.mu.Lock()
	}
	e.sink.put(slot)
}

// readDone is the completion of one READ.
func (e *Endpoint) readDone(wc *WC) {
	e.mu.Lock()
	_, slot, index, gen := splitID(wc.ID)
	if int(index) >= len(e.reads) || e.reads[index].gen != gen {
		e.mu.Unlock()
		return
	}
	if e.sink != nil {
		e.copyFetchedLocked(slot, wc.Status == StatusSuccess)
	}
	r := e.reads[index]
	r.inFlight--
	e.credits++
	e.reading--
	e.stall.done++
	if wc.Status != StatusSuccess && (r.err == nil || isFlushed(r.err)) {
		r.err = &CompletionError{Opcode: wc.Opcode, Status: wc.Status}
	}
	e.pumpLocked()
	if r.inFlight == 0 && !r.queued {
		e.endReadLocked(r)
	}
	e.mu.Unlock()
}

// endReadLocked calls the completion of a read that has nothing in flight. It unlocks mu
// for the call.
func (e *Endpoint) endReadLocked(r *readOp) {
	buf, done, err := r.buf, r.done, r.err
	e.count.read(r.bytes, err)
	r.gen = (r.gen + 1) & genMask
	r.buf, r.done, r.err, r.from = nil, nil, nil, target{}
	r.next = e.spareRd
	e.spareRd = r
	e.mu.Unlock()
	buf.Release()
	done.Completed(err)
	e.mu.Lock()
}
