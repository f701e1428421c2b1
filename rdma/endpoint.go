package rdma

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"fileserver/internal/queue"
	"fileserver/internal/slab"
)

// DefaultReadDepth is how many READs an endpoint has outstanding at most if its
// config does not say; the negotiated ORD and the device may allow fewer.
const DefaultReadDepth = 32

// drainTimeout is how long an endpoint waits for flush completions before it
// closes the ID, which ends all use of buffers by contract.
const drainTimeout = 10 * time.Second

// maxGather bounds the gather lists an endpoint asks a device for.
const maxGather = 16

// EndpointConfig sizes an endpoint.
type EndpointConfig struct {
	Memory    *Memory // released at the end ([Memory.Release])
	SendDepth int     // send-queue slots for SENDs and WRITEs
	ReadDepth int     // READs outstanding at most; 0: DefaultReadDepth. They have slots of their own
	RecvDepth int     // receives posted at most
	RecvFirst int     // receives posted by NewEndpoint; 0: RecvDepth. [Endpoint.PostReceives] posts more
	RecvSize  int     // bytes of each receive
	Handler   EndpointHandler
}

// EndpointHandler takes what arrives at an [Endpoint]. Its methods are called on
// the completion goroutine, one at a time, and must not block: in particular not
// in [Endpoint.Post], for which there is [Endpoint.Queue].
type EndpointHandler interface {
	// Received hands over one message, buf.Len() bytes. The handler owns buf and
	// gives it back with [Endpoint.Repost], or releases it and posts another.
	// Where invalidated is set the message invalidated our key inv.
	Received(buf *slab.Buf, inv uint32, invalidated bool)
	// Closed is called once, last: every request has completed or been
	// flushed, every buffer of the endpoint's is released, the ID is closed. err is
	// nil when either side disconnected in order.
	Closed(err error)
}

// Endpoint drives one connection. It owns the ID with its queue pair and
// completion queue, keeps count of send-queue slots, READ credits (the negotiated
// ORD) and posted receives, and turns completions into calls. Its methods are
// safe for concurrent use.
//
// Requests wait in two queues, first come first served: chains for send-queue
// slots, READs for credits; neither holds up the other.
//
// One lock, mu, guards the state; it is not held in calls of the provider or of
// the handler. One goroutine at a time posts: it also posts what others queue
// meanwhile.
type Endpoint struct {
	id    ID
	cfg   EndpointConfig
	caps  Caps
	lim   limits
	mem   *Memory
	qp    QP
	cq    CQ
	wcs   []WC
	done  chan struct{} // closed after Handler.Closed
	ended chan struct{} // closed when watch need wait for no further event

	count counters

	ctx, wait context.Context // of Run; and of the completion queue's waits
	events    chan error      // the last of the ID's

	mu       sync.Mutex
	started  bool
	failing  bool   // nothing is posted any more
	cause    error  // why; nil: in order
	causeSet bool   // cause is more than "flushed"
	wake     func() // ends the CQ wait in progress

	posting  bool // a goroutine is in PostSend
	free     int  // send-queue slots for chains
	sendQ    queue.Queue[*SendOp]
	flying   int // posts of chains not yet complete
	ops      []*SendOp
	batch    []part // being posted
	batchWRs []SendWR
	spare    *SendOp

	credits int   // READs that may be posted
	reading int   // READs outstanding
	sink    *sink // nil: READs go straight to their buffers

	stall    stall
	readQ    queue.Queue[*readOp]
	reads    []*readOp
	spareRd  *readOp
	readWRs  [readBatch]SendWR
	readSGEs [readBatch]SGE

	recvs    []recvSlot
	freeRecv []uint32
}

type recvSlot struct {
	buf *slab.Buf
	wr  [1]RecvWR
	sge [1]SGE
}

// NewEndpoint makes the completion queue and queue pair of id, and takes and
// posts the receives. It does not wait for memory: where there is too little it
// fails with [ErrNoMemory], before id is touched. Call it before [ID.Accept] or
// [ID.Connect]. The endpoint owns id from then on; when it fails the caller still
// does, and rejects or closes it, and releases the memory.
func NewEndpoint(id ID, cfg EndpointConfig) (*Endpoint, error) {
	caps := id.Device().Caps()
	if cfg.ReadDepth == 0 {
		cfg.ReadDepth = DefaultReadDepth
	}
	if cfg.RecvFirst == 0 {
		cfg.RecvFirst = cfg.RecvDepth
	}
	cfg.ReadDepth = max(0, min(cfg.ReadDepth, caps.MaxORD))
	switch {
	case cfg.RecvFirst < 0 || cfg.RecvFirst > cfg.RecvDepth:
		return nil, fmt.Errorf("rdma: endpoint that posts %d of %d receives first", cfg.RecvFirst, cfg.RecvDepth)
	case cfg.SendDepth < 1 || cfg.RecvDepth < 0 || cfg.RecvSize < 1:
		return nil, fmt.Errorf("rdma: endpoint with %d send slots, %d receives of %d bytes", cfg.SendDepth, cfg.RecvDepth, cfg.RecvSize)
	case caps.MaxQPWR > 0 && (cfg.SendDepth+cfg.ReadDepth > caps.MaxQPWR || cfg.RecvDepth > caps.MaxQPWR):
		return nil, fmt.Errorf("rdma: %d+%d send slots, %d receives: device %s has queues of %d", cfg.SendDepth, cfg.ReadDepth, cfg.RecvDepth, id.Device().Name(), caps.MaxQPWR)
	case cfg.SendDepth > maxSlots || cfg.RecvDepth > maxSlots:
		return nil, fmt.Errorf("rdma: queues of more than %d requests", maxSlots)
	case cfg.Memory == nil || cfg.Handler == nil:
		return nil, errors.New("rdma: endpoint without memory or handler")
	}
	sink, err := sinkOf(id.Device(), &caps, &cfg)
	if err != nil {
		return nil, err
	}
	e := &Endpoint{
		id: id, cfg: cfg, caps: caps, mem: cfg.Memory,
		wcs: make([]WC, 32), done: make(chan struct{}), ended: make(chan struct{}),
		sink: sink, free: cfg.SendDepth, recvs: make([]recvSlot, cfg.RecvDepth), wake: func() {},
	}
	e.lim = limitsOf(caps, min(caps.MaxSGE, maxGather))
	bufs, err := takeReceives(cfg)
	if err != nil {
		return nil, errors.Join(err, e.closeSink())
	}
	defer func() { // what has not been posted
		for _, b := range bufs {
			b.Release()
		}
	}()
	sends, recvs := cfg.SendDepth+cfg.ReadDepth, max(1, cfg.RecvDepth)
	if e.cq, err = id.Device().CreateCQ(sends + recvs); err != nil {
		return nil, errors.Join(err, e.closeSink())
	}
	e.qp, err = id.CreateQP(cfg.Memory.PD(), QPConfig{
		SendCQ: e.cq, RecvCQ: e.cq, SendDepth: sends, RecvDepth: recvs,
		MaxSendSGE: e.lim.sge, MaxRecvSGE: 1,
	})
	if err != nil {
		return nil, errors.Join(err, e.cq.Close(), e.closeSink())
	}
	for i := range cfg.RecvDepth {
		e.freeRecv = append(e.freeRecv, uint32(cfg.RecvDepth-1-i))
	}
	for len(bufs) > 0 {
		b := bufs[len(bufs)-1]
		bufs = bufs[:len(bufs)-1]
		if err := e.Repost(b); err != nil {
			return nil, e.abort(err)
		}
	}
	return e, nil
}

// takeReceives takes the buffers of a new endpoint's first receives, or none.
func takeReceives(cfg EndpointConfig) ([]*slab.Buf, error) {
	bufs := make([]*slab.Buf, 0, cfg.RecvFirst)
	for range cfg.RecvFirst {
		b, ok := cfg.Memory.Pool().TryGet(cfg.RecvSize)
		if !ok {
			for _, b := range bufs {
				b.Release()
			}
			return nil, fmt.Errorf("%w: %d receives of %d bytes", ErrNoMemory, cfg.RecvFirst, cfg.RecvSize)
		}
		bufs = append(bufs, b)
	}
	return bufs, nil
}

// abort undoes NewEndpoint after receives were posted. It must close the ID to do so.
func (e *Endpoint) abort(err error) error {
	err = errors.Join(err, e.id.Close())
	for i := range e.recvs {
		if b := e.recvs[i].buf; b != nil {
			e.recvs[i].buf = nil
			b.Release()
		}
	}
	for e.cq.Poll(e.wcs) > 0 {
	}
	return errors.Join(err, e.cq.Close(), e.closeSink())
}

// closeSink is called when nothing is outstanding.
func (e *Endpoint) closeSink() error {
	if e.sink == nil {
		return nil
	}
	return e.sink.close()
}

// ID is the connection.
func (e *Endpoint) ID() ID { return e.id }

// Memory is the endpoint's memory.
func (e *Endpoint) Memory() *Memory { return e.mem }

// Done is closed after Handler.Closed has returned.
func (e *Endpoint) Done() <-chan struct{} { return e.done }

// Start is Run in a goroutine of its own, without end. Requests may be posted
// when it returns.
func (e *Endpoint) Start() {
	if e.begin(context.Background()) {
		go e.handleCompletions()
	}
}

// Run handles completions until the connection has ended and everything is
// drained; its last act is Handler.Closed. Call it, or Start, once Accept or
// Connect has returned: receives may complete before the connection is
// established. When ctx ends Run disconnects, with the context's cause.
func (e *Endpoint) Run(ctx context.Context) {
	if e.begin(ctx) {
		e.handleCompletions()
	}
	<-e.done
}

// begin lets requests be posted; ok is false if it has been called before.
func (e *Endpoint) begin(ctx context.Context) (ok bool) {
	_, ord := e.id.Negotiated()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.started {
		return false
	}
	e.ctx = ctx
	e.wait, e.wake = context.WithCancel(ctx)
	e.started = true
	e.credits = min(ord, e.cfg.ReadDepth)
	e.events = make(chan error, 1)
	go e.watch(e.events)
	return true
}

// handleCompletions is the completion goroutine.
func (e *Endpoint) handleCompletions() {
	for !e.isFailing() {
		n := e.cq.Poll(e.wcs)
		for i := range e.wcs[:n] {
			e.complete(&e.wcs[i])
		}
		if n == 0 {
			switch err := e.cq.Wait(e.wait); {
			case err == nil:
			case e.ctx.Err() != nil:
				e.fail(context.Cause(e.ctx), true)
			case e.wait.Err() == nil:
				e.fail(err, true)
			}
		}
	}
	e.drain(e.events)
}

func (e *Endpoint) isFailing() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.failing
}
