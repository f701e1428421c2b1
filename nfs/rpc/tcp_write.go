package rpc

import (
	"encoding/binary"
	"errors"
	"net"
	"os"
	"time"

	"fileserver/nfs/xdr"
)

// Bounds of one writev.
const (
	maxBatchBytes = 1 << 20 // one reply may exceed it
	maxBatchCalls = 64
)

var pads [4]byte

// writer is the sending side of a tcpConn. Its queue is guarded by tcpConn.mu; the rest is for who set active.
type writer struct {
	first, last *tcpCall
	active      bool

	iov      [][]byte // storage
	bufs     net.Buffers
	deadline time.Time
}

// send queues the reply of t, if there is one, and writes the queue unless somebody does. t is not the caller's any more.
func (c *tcpConn) send(t *tcpCall, reply bool) {
	c.mu.Lock()
	c.machine = t.call.Machine
	if !reply || c.err != nil {
		c.mu.Unlock()
		c.end(t)
		return
	}
	if c.out.last != nil {
		c.out.last.next = t
	} else {
		c.out.first = t
	}
	c.out.last = t
	if c.out.active {
		c.mu.Unlock()
		return
	}
	c.out.active = true
	for c.out.first != nil {
		batch := c.take()
		broken := c.err != nil
		c.mu.Unlock()
		if !broken {
			if err := c.write(batch); err != nil {
				c.abort(err)
			}
		}
		for batch != nil {
			t := batch
			batch = t.next
			c.end(t)
		}
		c.mu.Lock()
	}
	c.out.active = false
	c.mu.Unlock()
}

// end releases a call that is done with.
func (c *tcpConn) end(t *tcpCall) {
	t.release(c.srv)
	<-c.slots
}

// take removes from the queue what goes out in one writev. Called with mu held.
func (c *tcpConn) take() *tcpCall {
	w := &c.out
	batch, last, n := w.first, w.first, w.first.reply.Len()
	for i := 1; i < maxBatchCalls && last.next != nil; i++ {
		if n += last.next.reply.Len(); n > maxBatchBytes {
			break
		}
		last = last.next
	}
	w.first = last.next
	last.next = nil
	if w.first == nil {
		w.last = nil
	}
	return batch
}

func (c *tcpConn) write(batch *tcpCall) error {
	w := &c.out
	iov := w.iov[:0]
	for t := batch; t != nil; t = t.next {
		n := t.reply.Len()
		binary.BigEndian.PutUint32(t.reply.Head, lastFragment|uint32(n-recordMarked))
		iov = t.reply.appendVector(iov)
	}
	w.iov, w.bufs = iov, iov
	n, err := c.writeBufs()
	clear(iov)
	c.srv.cfg.Observer.Sent(&c.info, n)
	return err
}

// minProgress is how much a peer must take in one WriteTimeout to be slow and not stuck, bytes.
const minProgress = 256 << 10

// writeBufs writes w.bufs, and goes on after a timeout as long as the peer takes enough.
func (c *tcpConn) writeBufs() (total int, err error) {
	w := &c.out
	progress := 0
	for {
		if time.Until(w.deadline) < c.srv.cfg.WriteTimeout/2 {
			w.deadline, progress = time.Now().Add(c.srv.cfg.WriteTimeout), 0
			if err := c.nc.SetWriteDeadline(w.deadline); err != nil {
				return total, err
			}
		}
		n, err := w.bufs.WriteTo(c.nc)
		total += int(n)
		progress += int(n)
		if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) || progress < minProgress {
			return total, err
		}
	}
}

// appendVector appends the parts of the message in their order, pads included.
func (r *Reply) appendVector(iov [][]byte) [][]byte {
	at := 0
	for i := range r.Payloads {
		p := &r.Payloads[i]
		if p.Pos > at {
			iov = append(iov, r.Head[at:p.Pos])
		}
		if p.Len > 0 {
			iov = append(iov, p.Bytes())
		}
		if pad := xdr.Pad(p.Len); pad > 0 {
			iov = append(iov, pads[:pad])
		}
		at = p.Pos
	}
	if len(r.Head) > at {
		iov = append(iov, r.Head[at:])
	}
	return iov
}
