package client

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"fileserver/internal/slab"
	"fileserver/smb/crypt"
	"fileserver/smb/transport"
	"fileserver/smb/wire"
)

// newGUID makes a client's GUID.
func newGUID() []byte {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	return b
}

// charged is how many bytes one credit pays for (MS-SMB2 3.1.5.2).
const charged = 64 << 10

// Call is room for one request at a time and its response, reused: one goroutine's.
type Call struct {
	c    *Client
	head []byte // header and body of the request
	sign bool   // whatever the session says
	ask  int    // credits; 0: as many as the request takes
	out  transport.Outgoing
	room [2]transport.Piece
	info wire.Descriptors

	charge  int
	next    *Call         // waiting for credits
	waiting bool          // for credits
	turn    chan struct{} // capacity 1: there are credits, or there is no connection
	done    chan struct{} // capacity 1: there is a response, or err
	err     error
	buf     *slab.Buf // of the response
	resp    Response
}

// NewCall makes room for calls of one goroutine.
func (c *Client) NewCall() *Call {
	return &Call{c: c, head: make([]byte, wire.HeaderLen, 512), turn: make(chan struct{}, 1), done: make(chan struct{}, 1)}
}

// Release gives the last response back.
func (q *Call) Release() {
	if q.buf != nil {
		q.buf.Release()
		q.buf, q.resp = nil, Response{}
	}
}

// chargeOf is what a request that moves n bytes takes (MS-SMB2 3.2.4.1.5).
func (c *Client) chargeOf(n int) int {
	if c.m.Negotiate.Capabilities&wire.CapLargeMTU == 0 {
		return 1
	}
	return max(1, (n+charged-1)/charged)
}

// do sends the request in q.head, data behind it, and waits for its response. It does not take over data's reference. When
// ctx ends the connection is ended, too: the server may still be placing data.
func (q *Call) do(ctx context.Context, cmd wire.Command, charge int, data transport.Piece) error {
	c := q.c
	q.Release()
	q.charge, q.err = charge, nil
	if err := c.enter(ctx, q); err != nil {
		return err
	}
	id, err := q.send(ctx, cmd, data)
	if err != nil {
		c.leave(id, q)
		return c.reason(ctx, err)
	}
	select {
	case <-q.done:
	case <-ctx.Done():
		c.tc.Disconnect(context.Cause(ctx), false)
		<-q.done
	}
	if q.err != nil {
		return c.reason(ctx, q.err)
	}
	if r := &q.resp; r.Command != cmd {
		return broken("%v is answered by %v", cmd, r.Command)
	}
	if err := c.m.check(&q.resp); err != nil {
		return err
	}
	if q.resp.Status != wire.StatusSuccess {
		return &StatusError{cmd, q.resp.Status}
	}
	return nil
}

// reasonTime is how long a transport may take to say why it takes no more messages.
const reasonTime = time.Second

// reason is why a request has failed: what ended the connection, rather than that it has ended.
func (c *Client) reason(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case <-c.done:
	case <-time.After(reasonTime):
	}
	if why := c.Err(); why != nil {
		return why
	}
	return err
}

// send completes the header and sends the request.
func (q *Call) send(ctx context.Context, cmd wire.Command, data transport.Piece) (id uint64, err error) {
	c := q.c
	h := wire.Header{Command: cmd, Credits: uint16(max(q.charge, q.ask)), TreeID: c.m.TreeID, SessionID: c.m.SessionID}
	q.ask = 0
	if c.m.Dialect > wire.Dialect202 {
		h.CreditCharge = uint16(q.charge)
	}
	sign := (c.m.Sign || q.sign) && !c.m.Encrypt
	if sign {
		h.Flags |= wire.FlagSigned
	}
	c.mu.Lock()
	id = c.messageID
	c.messageID += uint64(q.charge)
	c.pending[id] = q
	err = c.err
	c.mu.Unlock()
	if err != nil {
		return id, err
	}
	h.MessageID = id
	h.Put(q.head)
	q.out.Pieces = q.room[:0]
	if c.m.Encrypt {
		err = q.seal(ctx, data)
	} else {
		err = q.plain(ctx, data, sign)
	}
	if err != nil {
		return id, err
	}
	return id, c.tc.Send(&q.out)
}

// plain makes the message of the head and, by reference, the data.
func (q *Call) plain(ctx context.Context, data transport.Piece, sign bool) error {
	switch {
	case sign && data.Buf == nil:
		q.c.m.Signer.Sign(q.head)
	case sign:
		q.c.m.Signer.SignParts(q.head, data.Bytes()) // a WRITE's head is 112 bytes
	}
	buf, err := q.c.opt.Pool.Get(ctx, len(q.head))
	if err != nil {
		return err
	}
	copy(buf.Bytes(), q.head)
	q.out.Pieces = append(q.out.Pieces, transport.Piece{Buf: buf, Len: len(q.head)})
	if data.Buf != nil {
		data.Buf.Retain()
		q.out.Pieces = append(q.out.Pieces, data)
	}
	return nil
}

// seal makes the message encrypted, of copies.
func (q *Call) seal(ctx context.Context, data transport.Piece) error {
	n := crypt.TransformLen + len(q.head) + data.Len
	buf, err := q.c.opt.Pool.Get(ctx, n+crypt.TagLen)
	if err != nil {
		return err
	}
	buf.SetLen(n)
	b := buf.Bytes()
	k := crypt.TransformLen + copy(b[crypt.TransformLen:], q.head)
	if data.Buf != nil {
		copy(b[k:], data.Bytes())
	}
	if err := q.c.m.Out.Seal(b, q.c.m.SessionID); err != nil {
		buf.Release()
		return err
	}
	q.out.Pieces = append(q.out.Pieces, transport.Piece{Buf: buf, Len: n})
	return nil
}

// enter takes credits, first come first served.
func (c *Client) enter(ctx context.Context, q *Call) error {
	c.mu.Lock()
	switch {
	case c.err != nil:
		defer c.mu.Unlock()
		return c.err
	case c.first == nil && c.credits >= q.charge:
		c.credits -= q.charge
		c.busy++
		c.mu.Unlock()
		return nil
	case c.busy == 0 && c.first == nil: // and no response will bring more
		defer c.mu.Unlock()
		return fmt.Errorf("the server grants %d credits only, a request takes %d: use smaller blocks", c.credits, q.charge)
	}
	if c.first == nil {
		c.first = q
	} else {
		c.last.next = q
	}
	c.last, q.waiting = q, true
	c.mu.Unlock()
	select {
	case <-q.turn:
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		if !q.waiting { // served meanwhile
			<-q.turn
			c.credits += q.charge
			c.busy--
		}
		c.unqueueLocked(q)
		c.serveLocked()
		return context.Cause(ctx)
	}
	return c.Err()
}

// unqueueLocked removes a call from the queue for credits, if it is in it.
func (c *Client) unqueueLocked(q *Call) {
	if !q.waiting {
		return
	}
	var prev *Call
	for p := c.first; p != q; p = p.next {
		prev = p
	}
	if prev == nil {
		c.first = q.next
	} else {
		prev.next = q.next
	}
	if c.last == q {
		c.last = prev
	}
	q.next, q.waiting = nil, false
}

// serveLocked lets calls in that there are credits for, or all of them if the connection has
// ended.
func (c *Client) serveLocked() {
	for q := c.first; q != nil && (c.err != nil || c.credits >= q.charge); q = c.first {
		if c.err == nil {
			c.credits -= q.charge
			c.busy++
		}
		c.unqueueLocked(q)
		q.turn <- struct{}{}
	}
}

// leave forgets a request that was not sent.
func (c *Client) leave(id uint64, q *Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending[id] == q {
		delete(c.pending, id)
		c.busy--
		return
	}
	<-q.done // the connection has ended
}
