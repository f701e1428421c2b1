package tcp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"fileserver/smb/transport"
)

// Bounds of one writev.
const (
	maxBatchBytes = 1 << 20 // one message may exceed it
	maxBatchParts = 64
)

// errEnded is the reason of a connection that has been drained and closed in order.
var errEnded = errors.New("smb/tcp: connection closed")

// message is a message to be sent.
type message struct {
	next   *message
	mark   [markLen]byte
	pieces []transport.Piece
	sent   int // bytes, the mark's included
}

func (m *message) len() int { return markLen + int(binary.BigEndian.Uint32(m.mark[:])&0xffffff) }

// queue is the messages to be sent. The connection's lock guards it; who writes has the first few to itself.
type queue struct {
	first, last *message
	spare       *message
}

// add takes over the references in o.
func (q *queue) add(o *transport.Outgoing, n int) {
	m := q.spare
	if m == nil {
		m = new(message)
	} else {
		q.spare = m.next
	}
	m.next, m.sent = nil, 0
	binary.BigEndian.PutUint32(m.mark[:], uint32(n))
	m.pieces = append(m.pieces[:0], o.Pieces...)
	if q.last == nil {
		q.first = m
	} else {
		q.last.next = m
	}
	q.last = m
}

// vector appends what is to be written next.
func (q *queue) vector(iov [][]byte) [][]byte {
	total := 0
	for m := q.first; m != nil && total < maxBatchBytes && len(iov)+1+len(m.pieces) <= maxBatchParts || len(iov) == 0 && m != nil; m = m.next {
		skip := m.sent
		iov = appendPart(iov, m.mark[:], &skip)
		for i := range m.pieces {
			iov = appendPart(iov, m.pieces[i].Bytes(), &skip)
		}
		total += m.len() - m.sent
	}
	return iov
}

func appendPart(iov [][]byte, b []byte, skip *int) [][]byte {
	if *skip >= len(b) {
		*skip -= len(b)
		return iov
	}
	iov = append(iov, b[*skip:])
	*skip = 0
	return iov
}

// advance notes that n bytes have been written.
func (q *queue) advance(n int) {
	for m := q.first; m != nil; m = q.first {
		k := min(n, m.len()-m.sent)
		m.sent += k
		n -= k
		if m.sent < m.len() {
			return
		}
		q.drop()
	}
}

// drop removes the first message.
func (q *queue) drop() {
	m := q.first
	if q.first = m.next; q.first == nil {
		q.last = nil
	}
	for i := range m.pieces {
		m.pieces[i].Buf.Release()
	}
	clear(m.pieces)
	m.next = q.spare
	q.spare = m
}

func (q *queue) clear() {
	for q.first != nil {
		q.drop()
	}
}

// attempt is a write that does not wait.
type attempt struct {
	iov [][]byte // storage
	n   int
	err error
	run func(fd uintptr) bool
}

func (a *attempt) write(fd uintptr) bool {
	for {
		a.n, a.err = unix.Writev(int(fd), a.iov)
		if a.err != unix.EINTR {
			return true
		}
	}
}

// Send implements [transport.Conn].
func (c *conn) Send(o *transport.Outgoing) error {
	n := o.Len()
	if n == 0 || n > 0xffffff || len(o.Place) > 0 || o.HasInvalidate {
		o.Release()
		return fmt.Errorf("smb/tcp: a message of %d bytes, or with RDMA", n)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil || c.draining {
		o.Release()
		return net.ErrClosed
	}
	c.queue.add(o, n)
	if c.writing {
		return nil
	}
	c.writing = true
	if c.raw == nil || !c.writeNow() {
		go c.writeLater()
	}
	return nil
}

// writeNow writes without waiting. It returns false if there is something left that has to wait. Called with mu held; lets go of it meanwhile.
func (c *conn) writeNow() bool {
	a := &c.try
	for c.queue.first != nil && c.err == nil {
		a.iov = c.queue.vector(a.iov[:0])
		total := 0
		for _, b := range a.iov {
			total += len(b)
		}
		c.mu.Unlock()
		a.n, a.err = 0, nil
		err := c.raw.Write(a.run)
		if err == nil {
			err = a.err
		}
		n := max(a.n, 0)
		clear(a.iov)
		c.mu.Lock()
		c.srv.out.Add(uint64(n))
		c.queue.advance(n)
		switch {
		case err == unix.EAGAIN, err == nil && n < total:
			return false
		case err != nil:
			c.fail(err)
		}
	}
	c.wrote()
	return true
}

// writeLater writes what there is, waiting for the peer.
func (c *conn) writeLater() {
	var deadline time.Time
	var iov [][]byte
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.queue.first != nil && c.err == nil {
		iov = c.queue.vector(iov[:0])
		c.mu.Unlock()
		var err error
		if now := time.Now(); deadline.Sub(now) < c.srv.cfg.WriteTimeout/2 {
			deadline = now.Add(c.srv.cfg.WriteTimeout)
			err = c.nc.SetWriteDeadline(deadline)
		}
		var n int64
		if err == nil {
			bufs := net.Buffers(iov)
			n, err = bufs.WriteTo(c.nc)
		}
		c.mu.Lock()
		c.srv.out.Add(uint64(n))
		c.queue.advance(int(n))
		if err != nil {
			c.fail(err)
		}
	}
	c.nc.SetWriteDeadline(time.Time{}) // it holds for writes that do not wait, too
	c.wrote()
}

// wrote ends a turn of writing. Called with mu held.
func (c *conn) wrote() {
	c.writing = false
	if c.draining && c.err == nil {
		c.hangUp()
	}
	if c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
}

// fail ends the connection at once. Called with mu held.
func (c *conn) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.nc.Close()
}

// hangUp ends the sending side and gives the client a little time to end the other. Called with mu held.
func (c *conn) hangUp() {
	half, ok := c.nc.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		c.fail(errEnded)
		return
	}
	c.nc.SetReadDeadline(time.Now().Add(lingerTime))
}

// Disconnect implements [transport.Conn].
func (c *conn) Disconnect(err error, drain bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	if drain {
		if !c.draining {
			c.draining = true
			if !c.writing {
				c.hangUp()
			}
		}
		return
	}
	if err == nil {
		err = errEnded
	}
	c.fail(err)
}
