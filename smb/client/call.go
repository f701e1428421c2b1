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

// newGUID returns a random client GUID.
func newGUID() []byte {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	return b
}

// creditSize is how many bytes one credit pays for (MS-SMB2 3.1.5.2).
const creditSize = 64 << 10

// Call makes one request at a time and holds its response. Its memory is reused. One goroutine uses it.
type Call struct {
	c    *Client
	head []byte // header and body of the request
	sign bool   // sign the request even if the session does not
	ask  int    // credits to request; 0: as many as the request takes
	out  transport.Outgoing
	room [2]transport.Piece
	info wire.Descriptors

	charge  int
	next    *Call         // in the queue for credits
	waiting bool          // in the queue for credits
	turn    chan struct{} // capacity 1: the call has its credits, or the connection has ended
	done    chan struct{} // capacity 1: resp or err is set
	err     error
	buf     *slab.Buf // the response's memory
	resp    Response
}

// NewCall returns a Call for one goroutine.
func (c *Client) NewCall() *Call {
	return &Call{c: c, head: make([]byte, wire.HeaderLen, 512), turn: make(chan struct{}, 1), done: make(chan struct{}, 1)}
}

// Release releases the last response.
func (q *Call) Release() {
	if q.buf != nil {
		q.buf.Release()
		q.buf, q.resp = nil, Response{}
	}
}

// chargeOf returns the credit charge of a request that moves n bytes (MS-SMB2 3.2.4.1.5).
func (c *Client) chargeOf(n int) int {
	if c.m.Negotiate.Capabilities&wire.CapLargeMTU == 0 {
		return 1
	}
	return max(1, (n+creditSize-1)/creditSize)
}

// do sends the request in q.head with data behind it, and waits for the response. The caller keeps its reference to data.
// If ctx ends, do ends the connection, because the server may still be placing data.
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
		return broken("%v was answered by %v", cmd, r.Command)
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

// reason returns why a request failed: the cause that ended the connection, if one is known within reasonTime.
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

// plain builds the message from the head and, by reference, the data.
func (q *Call) plain(ctx context.Context, data transport.Piece, sign bool) error {
	switch {
	case sign && data.Buf == nil:
		q.c.m.Signer.Sign(q.head)
	case sign:
		q.c.m.Signer.SignParts(q.head, data.Bytes()) // the first part must be a multiple of 16 bytes long: a WRITE's is 112
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

// seal builds the encrypted message, which copies the head and the data.
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

// enter takes credits for the call; calls get them in the order of their arrival.
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
	case c.busy == 0 && c.first == nil: // no response is due that could bring more
		defer c.mu.Unlock()
		return fmt.Errorf("the server grants only %d credits, but a request takes %d: use smaller blocks", c.credits, q.charge)
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
		if !q.waiting { // it got its credits meanwhile
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

// unqueueLocked removes a call from the queue for credits if it is there.
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

// serveLocked starts the calls that there are credits for, or all of them if the connection has ended.
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

// leave removes a request that could not be sent.
func (c *Client) leave(id uint64, q *Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending[id] == q {
		delete(c.pending, id)
		c.busy--
		return
	}
	<-q.done // Closed has removed it
}
