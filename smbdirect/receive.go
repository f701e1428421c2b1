package smbdirect

import (
	"errors"
	"fmt"

	"fileserver/internal/slab"
	"fileserver/rdma"
)

// KeyObserver is implemented by a handler that opens memory to its peer, under a key for each request
// ([rdma.Window]): it is told of the keys that the peer has invalidated (SMB2_CHANNEL_RDMA_V1_INVALIDATE), before it gets the message
// that came with that. The method must not block, nor call the connection.
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
		c.negotiate(buf)
		c.mu.Unlock()
		return
	case c.busy:
		c.inbox.Push(buf)
		c.m.alive(c.clock.Now())
		c.mu.Unlock()
		return
	}
	c.busy = c.accept(buf)
	c.mu.Unlock()
}

// negotiate handles a message of the negotiating phase. Called with mu held.
func (c *Conn) negotiate(buf *slab.Buf) {
	now := c.clock.Now()
	var err error
	var resp negotiateResponse
	if c.m.client {
		err = c.m.responded(buf.Bytes(), now)
	} else {
		resp, err = c.m.requested(buf.Bytes(), now)
	}
	c.repost(buf)
	if !c.m.client && c.err == nil && (err == nil || errors.Is(err, errVersion)) {
		if err == nil {
			resp.creditsGranted = c.m.grant()
		}
		c.sendNegotiate(resp.append)
	}
	if err != nil {
		c.fail(err)
	}
	if c.err != nil {
		return
	}
	c.info.MaxMessage, c.info.MaxReadWrite = c.m.maxMessage, c.m.maxTransfer
	c.handler = c.opened(c)
	close(c.ready)
	c.pump()
}

// sendNegotiate sends a negotiate message. Called with mu held.
func (c *Conn) sendNegotiate(msg func([]byte) []byte) {
	s := c.takeSlot() // there are none in use yet
	n := len(msg(c.slotBytes(s)))
	op := c.ep.NewSendOp()
	op.SendFrom(c.headers.Retain(), int(s.i)*slotSize, n)
	c.post(op, s)
}

// accept handles a data transfer message. It returns true when that has to wait
// for memory: await goes on with it. Called with mu held; lets go of it meanwhile.
func (c *Conn) accept(buf *slab.Buf) bool {
	f, err := c.m.received(buf.Bytes(), c.clock.Now())
	if err != nil {
		buf.Release()
		c.fail(err)
		return false
	}
	early := c.early.Load()
	if n := c.m.more(); n > 0 && early == 0 {
		c.m.grown(c.ep.PostReceives(n))
	}
	if early > 0 && f.total > int(early) {
		buf.Release()
		c.fail(fmt.Errorf("smbdirect: a message of %d bytes, before anybody is authenticated at most %d", f.total, early))
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

// takeLocked copies a fragment out of its receive, posts that again, and hands over the message if it is whole. It lets go of
// the lock meanwhile.
func (c *Conn) takeLocked(buf *slab.Buf, f fragment) {
	whole, err := c.in.add(f, c.pool)
	if err != nil {
		buf.Release()
		c.fail(err)
		return
	}
	c.repost(buf)
	if whole != nil {
		c.count.messagesIn.Add(1)
		h := c.handler
		c.mu.Unlock()
		if c.entry != nil {
			c.entry.Use()
		}
		h.Message(whole) // first: an answer carries the grant that a SEND of its own would otherwise
		c.mu.Lock()
	}
	c.pump()
}

// await waits for the memory that a message needs, then goes on with it and
// with what has arrived since. Meanwhile the peer is granted nothing.
func (c *Conn) await(buf *slab.Buf, f fragment, size int) {
	b, err := c.pool.Get(c.ctx, size+tailroom)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil:
		buf.Release()
		c.fail(err)
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
		} else if c.accept(next) {
			return
		}
	}
	c.busy = false
	if c.closed {
		c.in.drop()
	}
}

// repost posts a receive again. When that fails the connection is at its end,
// and Closed follows; what has arrived before is still looked at. Called with mu held.
func (c *Conn) repost(buf *slab.Buf) {
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
