package rdma

import (
	"fmt"

	"fileserver/internal/slab"
)

// Completion receives the end of a request of an [Endpoint]: Completed is called with nil
// or the error, on the endpoint's completion goroutine, and must not block.
type Completion interface {
	Completed(err error)
}

// CompletionFunc is a function as a [Completion].
type CompletionFunc func(err error)

// Completed implements [Completion].
func (f CompletionFunc) Completed(err error) { f(err) }

// SendOp is one chain for [Endpoint.Post]: any number of RDMA WRITEs, then at
// most one SEND. It comes from [Endpoint.NewSendOp], is filled by one goroutine,
// and belongs to the endpoint again after Post, Queue or Discard.
//
// The calls that fill it take one reference of each buffer, also when they fail; the
// references are released when the chain has completed. The first error of these calls
// is kept, and fails the post.
type SendOp struct {
	e    *Endpoint
	list writeList
	to   target
	head []SGE // the SEND's gather list
	bufs []*slab.Buf
	inv  uint32
	done Completion

	hasSend, hasInv bool
	bad             error // first error while filling
	writeBytes      int64
	sendBytes       int64

	opState
}

// opState is the part of a SendOp that the endpoint's lock guards.
type opState struct {
	index uint32 // in Endpoint.ops
	gen   uint32
	next  *SendOp // in the list of unused ones

	queued   bool
	sync     bool          // posted with Post, not with Queue
	waiting  bool          // a goroutine in Post waits for ready
	ready    chan struct{} // capacity 1
	outcome  outcome
	sent     int // requests posted
	inFlight int // posts not yet complete
	holds    int // references to the op
	err      error
}

// outcome is what a goroutine in Post waits for.
type outcome uint8

const (
	undecided outcome = iota
	posted
	refused
)

// Write appends RDMA WRITEs of n bytes of buf from off to the remote segments,
// in order: it splits at segments and at [Caps].MaxMsgSize. It skips
// empty segments, and leaves unused room untouched. Segments that cannot hold n
// bytes, or wrap around the address space, are [ErrSegments]. The list of
// segments must not change before the post.
func (op *SendOp) Write(buf *slab.Buf, off, n int, remote []Segment) error {
	op.to = target{segs: remote}
	if _, err := segmentsLen(remote); err != nil {
		op.to = target{}
		op.bufs = append(op.bufs, buf)
		return op.fail(err)
	}
	return op.WriteNext(buf, off, n)
}

// WriteNext is Write to where the last Write ended: several local pieces, one
// list of segments. Pieces are gathered into one request up to [Caps].MaxSGE.
func (op *SendOp) WriteNext(buf *slab.Buf, off, n int) error {
	op.bufs = append(op.bufs, buf)
	piece, err := op.e.mem.sge(buf, off, n)
	if err != nil {
		return op.fail(err)
	}
	if room := op.to.left(); uint64(n) > room {
		return op.fail(fmt.Errorf("%w: %d bytes into %d", ErrSegments, n, room))
	}
	op.list.add(&op.to, piece, op.e.lim)
	op.writeBytes += int64(n)
	return nil
}

// Send appends the first n bytes of buf to the chain's SEND. Several calls
// gather, up to [Caps].MaxSGE; n may be 0.
func (op *SendOp) Send(buf *slab.Buf, n int) { op.SendFrom(buf, 0, n) }

// SendFrom is Send of n bytes from off.
func (op *SendOp) SendFrom(buf *slab.Buf, off, n int) {
	op.bufs = append(op.bufs, buf)
	op.hasSend = true
	if n == 0 {
		return
	}
	piece, err := op.e.mem.sge(buf, off, n)
	if err != nil {
		op.fail(err)
		return
	}
	if len(op.head) == op.e.lim.sge {
		op.fail(fmt.Errorf("rdma: a SEND of more than %d pieces", op.e.lim.sge))
		return
	}
	op.head = append(op.head, piece)
	if op.sendBytes += int64(n); op.sendBytes > int64(op.e.lim.msg) {
		op.fail(fmt.Errorf("rdma: a SEND of more than %d bytes", op.e.lim.msg))
	}
}

// Invalidate makes the SEND a SEND with invalidate of the peer's key. Where
// [Caps].SendInvalidate is false the post fails with [ErrUnsupported].
func (op *SendOp) Invalidate(key uint32) {
	op.inv, op.hasInv = key, true
	if !op.e.caps.SendInvalidate {
		op.fail(fmt.Errorf("%w: SEND with invalidate", ErrUnsupported))
	}
}

// OnDone sets the completion of the chain.
func (op *SendOp) OnDone(c Completion) { op.done = c }

// Err returns the first error of filling the chain.
func (op *SendOp) Err() error { return op.bad }

// Discard ends the use of the op without posting it, and releases its buffers.
func (op *SendOp) Discard() {
	op.release()
	op.e.mu.Lock()
	op.e.freeOpLocked(op)
	op.e.mu.Unlock()
}

func (op *SendOp) fail(err error) error {
	if op.bad == nil {
		op.bad = err
	}
	return err
}

// seal completes the chain; afterwards list.wrs is what is posted.
func (op *SendOp) seal() error {
	switch {
	case op.bad != nil:
		return op.bad
	case op.hasInv && !op.hasSend:
		return fmt.Errorf("rdma: an invalidation without a SEND")
	}
	if op.hasSend {
		w := SendWR{Opcode: OpSend, SGL: op.head}
		if op.hasInv {
			w.Opcode, w.Invalidate = OpSendInvalidate, op.inv
		}
		op.list.wrs = append(op.list.wrs, w)
	}
	if len(op.list.wrs) == 0 {
		return fmt.Errorf("rdma: an empty chain")
	}
	return nil
}

func (op *SendOp) release() {
	for i, b := range op.bufs {
		op.bufs[i] = nil
		b.Release()
	}
	op.bufs = op.bufs[:0]
}

// reset makes the op ready to be filled again.
func (op *SendOp) reset() {
	op.list.reset()
	op.to, op.head, op.done, op.bad = target{}, op.head[:0], nil, nil
	op.inv, op.hasSend, op.hasInv = 0, false, false
	op.writeBytes, op.sendBytes = 0, 0
	op.opState = opState{index: op.index, gen: (op.gen + 1) & genMask, ready: op.ready}
}
