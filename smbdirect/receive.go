package smbdirect

import (
	"errors"
	"fmt"

	"fileserver/internal/slab"
	"fileserver/rdma"
)

// KeyObserver is implemented by a handler that opens memory to its peer, under a key for each request
// ([rdma.Window]). Invalidated reports a key that the peer has invalidated (SMB2_CHANNEL_RDMA_V1_INVALIDATE), before
// Message delivers the message that did so. It must neither block nor call the connection.
type KeyObserver interface{ Invalidated(key uint32) }

// Received implements [rdma.EndpointHandler].
func (c *Conn) Received(buf *slab.Buf, key uint32, invalidated bool) {
	c.mu.Lock()
	if o, ok := c.handler.(KeyObserver); invalidated && ok {
		o.Invalidated(key)
	}
	switch {
	case c.err != nil || c.m.state == ended:
		c.mu.Unlock()
		buf.Release()
		return
	case c.m.state == negotiating:
		c.negotiateLocked(buf)
		c.mu.Unlock()
		return
	case c.busy:
		c.inbox.Push(buf)
		c.m.alive(c.clock.Now())
		c.mu.Unlock()
		return
	}
	c.busy = c.acceptLocked(buf)
	c.mu.Unlock()
}

// negotiateLocked handles a message of the negotiating phase.
func (c *Conn) negotiateLocked(buf *slab.Buf) {
	now := c.clock.Now()
	var err error
	var resp negotiateResponse
	if c.m.client {
		err = c.m.responded(buf.Bytes(), now)
	} else {
		resp, err = c.m.requested(buf.Bytes(), now)
	}
	c.repostLocked(buf)
	if !c.m.client && c.err == nil && (err == nil || errors.Is(err, errVersion)) {
		if err == nil {
			resp.creditsGranted = c.m.grant()
		}
		c.sendNegotiateLocked(resp.append)
	}
	if err != nil {
		c.failLocked(err)
	}
	if c.err != nil {
		return
	}
	c.info.MaxMessage, c.info.MaxReadWrite = c.m.maxMessage, c.m.maxTransfer
	c.handler = c.opened(c)
	close(c.ready)
	c.pumpLocked()
}

// sendNegotiateLocked sends a negotiate message.
func (c *Conn) sendNegotiateLocked(msg func([]byte) []byte) {
	s := c.takeSlot() // never nil: no slot is in use yet
	n := len(msg(c.slotBytes(s)))
	op := c.ep.NewSendOp()
	op.SendFrom(c.headers.Retain(), int(s.i)*slotSize, n)
	c.postLocked(op, s)
}

// acceptLocked handles a data transfer message. It returns true when the message has to
// wait for memory: await then continues. It may unlock mu for a while.
func (c *Conn) acceptLocked(buf *slab.Buf) bool {
	f, err := c.m.received(buf.Bytes(), c.clock.Now())
	if err != nil {
		buf.Release()
		c.failLocked(err)
		return false
	}
	early := c.early.Load()
	if n := c.m.more(); n > 0 && early == 0 {
		c.m.grown(c.ep.PostReceives(n))
	}
	if early > 0 && f.total > int(early) {
		buf.Release()
		c.failLocked(fmt.Errorf("smbdirect: a message of %d bytes, at most %d are allowed before the peer is authenticated", f.total, early))
		return false
	}
	if f.total > 0 {
		size := firstSize(f, early > 0)
		b, ok := c.pool.TryGet(size + tailroom)
		if !ok {
			go c.await(buf, f, size)
			return true
		}
		c.in.begin(b, size, f)
	}
	c.takeLocked(buf, f)
	return false
}

// takeLocked copies a fragment out of its receive, posts the receive again, and delivers the message if it is complete. It
// unlocks mu for the delivery.
func (c *Conn) takeLocked(buf *slab.Buf, f fragment) {
	whole, err := c.in.add(f, c.pool)
	if err != nil {
		buf.Release()
		c.failLocked(err)
		return
	}
	c.repostLocked(buf)
	if whole != nil {
		c.count.messagesIn.Add(1)
		h := c.handler
		c.mu.Unlock()
		if c.entry != nil {
			c.entry.Use()
		}
		h.Message(whole) // before pumpLocked: the response then carries the grant, which otherwise takes a SEND of its own
		c.mu.Lock()
	}
	c.pumpLocked()
}

// await waits for the memory that a message needs, then handles it and the messages
// that have arrived since. Meanwhile the peer gets no credits.
func (c *Conn) await(buf *slab.Buf, f fragment, size int) {
	b, err := c.pool.Get(c.ctx, size+tailroom)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil:
		buf.Release()
		c.failLocked(err)
	case c.m.state == ended:
		buf.Release()
		b.Release()
	default:
		c.in.begin(b, size, f)
		c.takeLocked(buf, f)
	}
	for next, ok := c.inbox.Pop(); ok; next, ok = c.inbox.Pop() {
		if c.m.state == ended {
			next.Release()
		} else if c.acceptLocked(next) {
			return
		}
	}
	c.busy = false
	if c.closed {
		c.in.drop()
	}
}

// repostLocked posts a receive again. If that fails the connection is ending, and Closed
// follows; messages that have arrived are still handled.
func (c *Conn) repostLocked(buf *slab.Buf) {
	if c.ep.Repost(buf) == nil {
		c.m.posted()
	}
}

// Closed implements [rdma.EndpointHandler].
func (c *Conn) Closed(err error) {
	c.cancel()
	c.mu.Lock()
	if c.err != nil && (err == nil || !errors.Is(c.err, rdma.ErrNotConnected)) {
		err = c.err
	} else if err == nil && c.draining {
		c.err = rdma.ErrClosed
	} else if c.err = err; err == nil {
		c.err = rdma.ErrNotConnected
	}
	c.m.state = ended
	if c.timer != nil {
		c.timer.Stop()
	}
	for p, ok := c.out.Pop(); ok; p, ok = c.out.Pop() {
		p.Release()
	}
	c.spare = nil
	c.closed = true
	if !c.busy {
		c.in.drop()
	}
	h := c.handler
	if h == nil {
		close(c.ready)
	}
	c.mu.Unlock()
	c.headers.Release()
	if h != nil {
		h.Closed(err)
	}
	if c.ended != nil {
		c.ended(err)
	}
}
