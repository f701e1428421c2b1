package rdma

import (
	"context"
	"errors"
)

// dequeueLocked removes op, usually the first, from the queue of chains.
func (e *Endpoint) dequeueLocked(op *SendOp) {
	e.sendQ.Remove(func(o *SendOp) bool { return o == op })
	op.queued = false
}

// NewSendOp returns an empty chain.
func (e *Endpoint) NewSendOp() *SendOp {
	e.mu.Lock()
	defer e.mu.Unlock()
	if op := e.spare; op != nil {
		e.spare, op.next = op.next, nil
		return op
	}
	op := &SendOp{e: e, opState: opState{index: uint32(len(e.ops)), ready: make(chan struct{}, 1)}}
	e.ops = append(e.ops, op)
	return op
}

// freeOpLocked makes an op available for reuse.
func (e *Endpoint) freeOpLocked(op *SendOp) {
	op.reset()
	op.next = e.spare
	e.spare = op
}

// dropLocked drops one reference to the op, and frees it with the last.
func (e *Endpoint) dropLocked(op *SendOp) {
	if op.holds--; op.holds == 0 {
		e.freeOpLocked(op)
	}
}

// sealAndLock seals a chain that is going to be posted, and returns with mu held. On
// failure it discards the chain, and does not hold mu.
func (e *Endpoint) sealAndLock(op *SendOp) error {
	if err := op.seal(); err != nil {
		op.Discard()
		return err
	}
	e.mu.Lock()
	if e.failing {
		err := e.refusalLocked()
		e.mu.Unlock()
		op.Discard()
		return err
	}
	return nil
}

// Post posts the chain with one doorbell, its last request signalled. It waits,
// first come first served, for send-queue slots; when ctx ends before the first
// request is posted nothing is, and the error is ctx's. A chain longer than
// SendDepth is posted in parts, in order, and Post returns after the first.
//
// When Post returns nil the op's completion is called once, when the chain has
// completed; when it returns an error it is not called. The op's buffers are
// released in either case, and op is the endpoint's again.
func (e *Endpoint) Post(ctx context.Context, op *SendOp) error {
	if err := e.sealAndLock(op); err != nil {
		return err
	}
	op.sync, op.holds = true, 2
	op.queued = true
	e.sendQ.Push(op)
	e.pumpLocked()
	if op.outcome == undecided {
		op.waiting = true
		e.mu.Unlock()
		select {
		case <-op.ready:
			e.mu.Lock()
		case <-ctx.Done():
			e.mu.Lock()
			if op.queued && op.sent == 0 {
				e.dequeueLocked(op)
				op.waiting = false
				e.mu.Unlock()
				e.finish(op, context.Cause(ctx))
				e.mu.Lock()
				e.pumpLocked() // a smaller chain behind it may fit
			} else {
				e.mu.Unlock()
				<-op.ready // a goroutine is posting it
				e.mu.Lock()
			}
		}
	}
	var err error
	if op.outcome == refused {
		err = op.err
	}
	e.dropLocked(op)
	e.mu.Unlock()
	return err
}

// Queue is Post that never waits: the chain is posted when there are enough slots. The
// caller's own credits and memory bound what is queued. It may be called from the completion goroutine.
func (e *Endpoint) Queue(op *SendOp) error {
	if err := e.sealAndLock(op); err != nil {
		return err
	}
	op.holds = 1
	op.queued = true
	e.sendQ.Push(op)
	e.pumpLocked()
	e.mu.Unlock()
	return nil
}

// pumpLocked posts everything that credits and slots allow. It unlocks mu while it posts.
// If another goroutine is posting, that one continues instead.
func (e *Endpoint) pumpLocked() {
	for !e.posting && !e.failing {
		if e.readQ.Len() > 0 && e.credits > 0 {
			e.postReadsLocked()
			continue
		}
		if e.gatherLocked(); len(e.batch) == 0 {
			return
		}
		e.postBatchLocked()
	}
}

// part is the part of one chain that goes into one post.
type part struct {
	op  *SendOp
	wrs []SendWR
}

// Limits of one post: chains that were queued during the post before go out with one
// doorbell.
const (
	batchParts = 32
	batchWRs   = 128
)

// gatherLocked moves parts from the queue to e.batch, in order, as far as the slots go.
func (e *Endpoint) gatherLocked() {
	wrs := 0
	for e.sendQ.Len() > 0 && len(e.batch) < batchParts {
		op := *e.sendQ.At(0)
		n := e.nextPart(op)
		if n > e.free || wrs > 0 && wrs+n > batchWRs {
			return
		}
		wrs += n
		p := part{op, op.list.wrs[op.sent : op.sent+n]}
		for i := range p.wrs {
			p.wrs[i].ID = wrID(kindPart, 0, op.index, op.gen)
			if e.caps.SignalFrom > 0 && p.wrs[i].bytes() >= e.caps.SignalFrom {
				p.wrs[i].Flags |= SendSignaled
			}
		}
		last := &p.wrs[n-1]
		last.ID = wrID(kindPartEnd, n, op.index, op.gen)
		last.Flags |= SendSignaled
		op.sent += n
		if op.sent == len(op.list.wrs) {
			e.dequeueLocked(op)
		}
		op.inFlight++
		op.holds++ // the chain may complete before PostSend returns
		e.flying++
		e.free -= n
		e.batch = append(e.batch, p)
	}
}

// bytes returns how many bytes the request moves.
func (wr *SendWR) bytes() (n int) {
	for i := range wr.SGL {
		n += int(wr.SGL[i].Length)
	}
	return n
}

// nextPart returns how many requests of the chain go into its next post: all if they fit
// the queue, otherwise half a queue, so that one half is filled while the device
// works on the other.
func (e *Endpoint) nextPart(op *SendOp) int {
	n := len(op.list.wrs)
	if n <= e.cfg.SendDepth {
		return n
	}
	return min(n-op.sent, max(1, e.cfg.SendDepth/2))
}

// postBatchLocked posts e.batch. It unlocks mu while it posts.
func (e *Endpoint) postBatchLocked() {
	wrs := e.batch[0].wrs
	if len(e.batch) > 1 {
		e.batchWRs = e.batchWRs[:0]
		for _, p := range e.batch {
			e.batchWRs = append(e.batchWRs, p.wrs...)
		}
		wrs = e.batchWRs
	}
	e.posting = true
	e.mu.Unlock()
	err := e.qp.PostSend(wrs)
	if err != nil {
		e.fail(err, !errors.Is(err, ErrNotConnected))
	}
	e.mu.Lock()
	e.posting = false
	for i, p := range e.batch {
		if err == nil {
			e.decideLocked(p.op, posted, nil)
		} else {
			e.unpostLocked(p, err)
		}
		e.dropLocked(p.op)
		e.batch[i] = part{}
	}
	e.batch = e.batch[:0]
	if err != nil {
		e.wakeIfDrainedLocked()
	}
}

// unpostLocked takes back a part that PostSend has refused. It may unlock mu for the
// completion. The endpoint is failing, so no other goroutine posts.
func (e *Endpoint) unpostLocked(p part, err error) {
	op := p.op
	op.sent -= len(p.wrs)
	op.inFlight--
	e.flying--
	e.free += len(p.wrs)
	if op.queued {
		e.dequeueLocked(op)
	}
	if op.err == nil {
		op.err = err
	}
	if op.inFlight == 0 {
		e.mu.Unlock()
		e.finish(op, err)
		e.mu.Lock()
	}
}

// decideLocked sets the outcome of an op, and wakes the goroutine in Post that waits for it.
func (e *Endpoint) decideLocked(op *SendOp, o outcome, err error) {
	if !op.sync || op.outcome != undecided {
		return
	}
	op.outcome = o
	if err != nil {
		op.err = err
	}
	if op.waiting {
		op.waiting = false
		op.ready <- struct{}{}
	}
}

// finish ends a chain that is not queued and has nothing in flight.
func (e *Endpoint) finish(op *SendOp, err error) {
	op.release()
	if op.sync && op.sent == 0 {
		e.mu.Lock()
		e.decideLocked(op, refused, err)
		e.dropLocked(op)
		e.mu.Unlock()
		return
	}
	e.count.ended(op, err)
	if op.done != nil {
		op.done.Completed(err)
	}
	e.mu.Lock()
	e.dropLocked(op)
	e.mu.Unlock()
}

// partDone is the completion of a part's last request, or of any one that failed.
func (e *Endpoint) partDone(wc *WC, end bool) {
	e.mu.Lock()
	_, n, index, gen := splitID(wc.ID)
	if int(index) >= len(e.ops) || e.ops[index].gen != gen {
		e.mu.Unlock()
		return
	}
	op := e.ops[index]
	if wc.Status != StatusSuccess && (op.err == nil || isFlushed(op.err)) {
		op.err = &CompletionError{Opcode: wc.Opcode, Status: wc.Status}
	}
	fin := false
	if end {
		op.inFlight--
		e.flying--
		e.stall.done++
		e.free += n
		fin = op.inFlight == 0 && !op.queued
	}
	err := op.err
	e.pumpLocked()
	e.mu.Unlock()
	if fin {
		e.finish(op, err)
	}
}
