package smbdirect

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"fileserver/internal/clock"
	"fileserver/internal/connlimit"
	"fileserver/internal/queue"
	"fileserver/internal/slab"
	"fileserver/rdma"
	"fileserver/smb/transport"
)

const (
	// sendSlots bounds the SENDs outstanding, however many credits the peer grants.
	sendSlots = 256
	// sendDepth leaves room for the WRITEs posted before them.
	sendDepth = 2 * sendSlots
	slotSize  = 32 // bytes for a header, or a negotiate message
)

// Conn is an SMB Direct connection, of either side. It implements [transport.Conn] and [transport.Placer].
//
// Lock order: mu, then the endpoint's lock, then slotMu. No lock is held when the handler's Message or Closed is called.
type Conn struct {
	info    transport.Info
	ep      *rdma.Endpoint
	pool    *slab.Pool
	maxSGE  int
	opened  func(*Conn) transport.Handler // called when negotiated; its result takes the messages
	ended   func(error)                   // called last; may be nil
	ready   chan struct{}                 // closed when negotiated, or ended
	ctx     context.Context               // ends with the connection
	cancel  context.CancelFunc
	headers *slab.Buf // sendSlots slots
	count   counters
	entry   *connlimit.Entry // nil on the client's side
	early   atomic.Int32     // longest message before the peer is authenticated; 0: as negotiated

	mu       sync.Mutex
	m        *machine
	clock    clock.Clock
	handler  transport.Handler
	err      error // why the connection is ending
	draining bool
	out      queue.Queue[*pdu] // messages; the first is being sent
	spare    *pdu
	timer    *time.Timer
	armed    time.Time
	in       assembly
	busy     bool // a message waits for memory; later ones go to inbox
	inbox    queue.Queue[*slab.Buf]
	closed   bool

	slotMu  sync.Mutex
	slots   []uint16 // free
	starved bool     // a SEND waits for a slot
	slot    [sendSlots]headerSlot
}

// headerSlot is a slot of Conn.headers while a SEND uses it.
type headerSlot struct {
	c *Conn
	i uint16
}

// Completed implements [rdma.Completion]. It may be called from within
// [rdma.Endpoint.Queue], with err, and so must not take Conn.mu then.
func (s *headerSlot) Completed(err error) {
	c := s.c
	c.slotMu.Lock()
	c.slots = append(c.slots, s.i)
	wake := c.starved
	c.starved = false
	c.slotMu.Unlock()
	if wake && err == nil {
		c.mu.Lock()
		c.pumpLocked()
		c.mu.Unlock()
	}
}

// newConn makes a connection. It owns id if it succeeds; otherwise the caller still does.
func newConn(id rdma.ID, mem *rdma.Memory, p Params, client bool, connID uint64, opened func(*Conn) transport.Handler) (*Conn, error) {
	p = p.withDefaults(client)
	if err := p.check(); err != nil {
		return nil, err
	}
	caps := id.Device().Caps()
	c := &Conn{
		pool: mem.Pool(), opened: opened, ready: make(chan struct{}),
		maxSGE: min(caps.MaxSGE, 6), // some devices hang with more than six
		clock:  clock.New(),
		info: transport.Info{
			ID: connID, Transport: caps.Transport.String(), RemoteAddr: id.RemoteAddr(), LocalAddr: id.LocalAddr(),
		},
	}
	c.m = newMachine(p, client, c.clock.Start())
	c.ctx, c.cancel = context.WithCancel(context.Background())
	var ok bool
	if c.headers, ok = c.pool.TryGet(sendSlots * slotSize); !ok {
		return nil, errors.New("smbdirect: no memory for another connection")
	}
	for i := range c.slot {
		c.slot[i] = headerSlot{c, uint16(i)}
		c.slots = append(c.slots, uint16(i))
	}
	reads := DefaultReadDepth
	if client {
		reads = -1
	}
	var err error
	c.ep, err = rdma.NewEndpoint(id, rdma.EndpointConfig{
		Memory: mem, SendDepth: sendDepth, ReadDepth: reads, RecvDepth: p.Credits, RecvFirst: c.m.receives, RecvSize: max(p.ReceiveSize, 512), Handler: c,
	})
	if err != nil {
		c.headers.Release()
		return nil, err
	}
	for range c.m.receives {
		c.m.posted()
	}
	return c, nil
}

// start starts the timer and the endpoint, once the connection is accepted or connected.
func (c *Conn) start() {
	c.mu.Lock()
	c.armLocked()
	c.mu.Unlock()
	c.ep.Start()
}

// Info implements [transport.Conn]. Its limits are valid once negotiated.
func (c *Conn) Info() *transport.Info { return &c.info }

// Authenticated implements [transport.Authenticator].
func (c *Conn) Authenticated() {
	c.early.Store(0)
	if c.entry != nil {
		c.entry.Established()
	}
}

// protocolBusy reports whether the handler says that the connection must not be ended.
func (c *Conn) protocolBusy() bool {
	c.mu.Lock()
	b, ok := c.handler.(transport.Busy)
	c.mu.Unlock()
	return ok && b.Busy()
}

// Placer implements [transport.Conn].
func (c *Conn) Placer() transport.Placer { return c }

// Read implements [transport.Placer].
func (c *Conn) Read(buf *slab.Buf, off, n int, from []transport.Descriptor, done transport.Completion) error {
	segs := make([]rdma.Segment, 0, 8) // stays on the stack
	left := uint64(n)
	for _, d := range from {
		if left == 0 {
			break
		}
		k := min(left, uint64(d.Length))
		segs = append(segs, rdma.Segment{Addr: d.Offset, Length: uint32(k), RKey: d.Token})
		left -= k
	}
	if left > 0 {
		return fmt.Errorf("%w: they are %d bytes short of %d", rdma.ErrSegments, left, n)
	}
	return c.ep.Read(buf, off, segs, done)
}

// Send implements [transport.Conn].
func (c *Conn) Send(o *transport.Outgoing) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.err
	switch size := o.Len(); {
	case err != nil:
	case c.m.state != open || c.draining:
		err = rdma.ErrNotConnected
	case size == 0:
		err = errors.New("smbdirect: an empty message")
	case size > c.m.maxMessage:
		err = fmt.Errorf("smbdirect: a message of %d bytes, the peer takes %d", size, c.m.maxMessage)
	}
	if err != nil {
		o.Release()
		return err
	}
	p := c.spare
	if p != nil {
		c.spare = p.next
	} else {
		p = new(pdu)
	}
	p.take(o)
	c.out.Push(p)
	c.pumpLocked()
	return nil
}

// pumpLocked sends whatever credits and slots allow.
func (c *Conn) pumpLocked() {
	var now time.Time // read only for a probe, or when credits run out
	for c.err == nil {
		if now.IsZero() && (c.m.probe || c.m.sendCredits <= 1) {
			now = c.clock.Now()
		}
		var p *pdu
		left, fit := 0, 0
		if c.out.Len() > 0 {
			p = *c.out.At(0)
			left, fit = p.size-p.sent, p.fit(c.maxSGE-1)
		}
		slot := c.takeSlot()
		if slot == nil {
			break
		}
		o, ok := c.m.next(left, fit, now)
		if !ok {
			c.putSlot(slot)
			break
		}
		op := c.ep.NewSendOp()
		if o.data > 0 && p.sent == 0 {
			p.place(op)
		}
		b := c.slotBytes(slot)
		b = o.h.append(b)
		n := headerLen
		if o.data > 0 {
			n = len(b)
		}
		op.SendFrom(c.headers.Retain(), int(slot.i)*slotSize, n)
		if o.data > 0 {
			p.gather(op, o.data)
			c.count.fragments.Add(1)
			if p.sent == p.size {
				c.finishLocked(p, op)
			}
		} else {
			c.count.empty.Add(1)
		}
		c.postLocked(op, slot)
	}
	if c.draining && c.out.Len() == 0 {
		c.ep.Disconnect(c.err)
	}
	c.armLocked()
}

// finishLocked ends the message at the head of the queue. op carries its last fragment.
func (c *Conn) finishLocked(p *pdu, op *rdma.SendOp) {
	if p.HasInvalidate {
		op.Invalidate(p.Invalidate)
		c.count.invalidates.Add(1)
	}
	c.out.Pop()
	c.count.messagesOut.Add(1)
	p.Release()
	p.next = c.spare
	c.spare = p
}

func (c *Conn) slotBytes(s *headerSlot) []byte {
	at := int(s.i) * slotSize
	return c.headers.Bytes()[at : at : at+slotSize]
}

func (c *Conn) takeSlot() *headerSlot {
	c.slotMu.Lock()
	defer c.slotMu.Unlock()
	n := len(c.slots)
	if n == 0 {
		c.starved = true
		return nil
	}
	i := c.slots[n-1]
	c.slots = c.slots[:n-1]
	return &c.slot[i]
}

func (c *Conn) putSlot(s *headerSlot) {
	c.slotMu.Lock()
	defer c.slotMu.Unlock()
	c.slots = append(c.slots, s.i)
}

// postLocked posts a chain to the endpoint.
func (c *Conn) postLocked(op *rdma.SendOp, s *headerSlot) {
	op.OnDone(s)
	if err := c.ep.Queue(op); err != nil {
		c.putSlot(s) // Queue has released the buffers; the slot's Completed is not called
		c.failLocked(err)
	}
}

// failLocked disconnects. Only the first error counts.
func (c *Conn) failLocked(err error) {
	if c.err == nil {
		c.err = err
	}
	c.m.state = ended
	c.ep.Disconnect(err)
}

// Disconnect implements [transport.Conn].
func (c *Conn) Disconnect(err error, drain bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if drain && c.err == nil && c.m.state == open {
		c.draining = true
		c.pumpLocked()
		return
	}
	if c.err == nil {
		c.err = err
	}
	c.m.state = ended
	c.ep.Disconnect(err)
}

// armLocked sets the timer to the machine's deadline, unless it fires earlier anyway.
func (c *Conn) armLocked() {
	at := c.m.deadline()
	if c.err != nil || at.IsZero() || !c.armed.IsZero() && !at.Before(c.armed) {
		return
	}
	c.armed = at
	if c.timer == nil {
		c.timer = time.AfterFunc(time.Until(at), c.onTimer)
	} else {
		c.timer.Reset(time.Until(at))
	}
}

func (c *Conn) onTimer() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed = time.Time{}
	if c.err != nil || c.m.state == ended {
		return
	}
	if err := c.m.tick(c.clock.Now()); err != nil {
		c.failLocked(err)
		return
	}
	c.pumpLocked()
}
