package stream

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of one writev.
const (
	maxBatchBytes    = 1 << 20 // the last message of a batch may exceed it
	maxBatchMessages = 64
	maxParts         = 1024 // IOV_MAX of Linux
)

// minProgress is how much a peer must take in one WriteTimeout to be slow and not stuck, bytes.
const minProgress = 256 << 10

// Message is a message to be sent, in parts that are not copied.
type Message interface {
	// Len is the length of the message with its framing, bytes.
	Len() int
	// AppendTo appends the parts of the message, its framing included. They do not change until Done.
	AppendTo(parts [][]byte) [][]byte
	// Done is called once: when the message has been written, or will not be. No lock of the Conn is held.
	Done()
}

// output belongs to the goroutine that has set Conn.writing.
type output struct {
	batch    []Message
	parts    [][]byte    // storage
	rest     net.Buffers // what is left of the batch
	failed   bool        // the batch must not be written
	deadline time.Time   // that is set; zero: none
	progress int         // bytes written since it was set

	raw     syscall.RawConn // nil: writes always wait
	attempt func(fd uintptr) bool
	n       int // result of attempt
	err     error
}

// Send queues m and writes the queue, unless somebody does. Messages go out in the order of the calls. When it
// fails, or the connection ends before m is written, m is given back by its Done.
func (c *Conn) Send(m Message) error {
	c.mu.Lock()
	if c.err != nil || c.draining {
		c.mu.Unlock()
		m.Done()
		return net.ErrClosed
	}
	c.queue.Push(m)
	if c.writing {
		c.mu.Unlock()
		return nil
	}
	c.writing = true
	c.takeLocked()
	c.mu.Unlock()
	switch {
	case c.cfg.Wait:
		c.write()
	case c.out.raw == nil, !c.tryWrite():
		go c.write()
	}
	return nil
}

// takeLocked moves from the queue to the batch what goes out in one writev.
func (c *Conn) takeLocked() {
	o := &c.out
	o.failed = c.err != nil
	for n := 0; n < maxBatchBytes && len(o.batch) < maxBatchMessages; {
		m, ok := c.queue.Pop()
		if !ok {
			break
		}
		n += m.Len()
		o.batch = append(o.batch, m)
	}
}

// gather lists the parts of the batch, unless there is something left of it.
func (o *output) gather() {
	if len(o.rest) > 0 {
		return
	}
	o.parts = o.parts[:0]
	for _, m := range o.batch {
		o.parts = m.AppendTo(o.parts)
	}
	o.rest = o.parts
}

// next calls Done for the messages of the last batch and takes the next batch. It reports false if there is none; then the caller stops
// writing.
func (c *Conn) next() bool {
	o := &c.out
	for _, m := range o.batch {
		m.Done()
	}
	clear(o.batch)
	clear(o.parts)
	o.batch, o.rest = o.batch[:0], nil
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.queue.Len() > 0 {
		c.takeLocked()
		return true
	}
	if !c.cfg.Wait && !o.deadline.IsZero() {
		o.deadline = time.Time{}
		_ = c.nc.SetWriteDeadline(o.deadline) // it would hold for writes that do not wait, too
	}
	c.writing = false
	if c.draining && c.err == nil {
		c.hangUpLocked()
	}
	if c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
	return false
}

// write writes what there is, and waits for the peer.
func (c *Conn) write() {
	for {
		if o := &c.out; !o.failed {
			o.gather()
			n, err := c.writeRest()
			c.cfg.Sent(n)
			if err != nil {
				c.Fail(err)
			}
		}
		if !c.next() {
			return
		}
	}
}

// writeRest writes the rest of the batch. After a timeout it goes on if the peer has taken enough.
func (c *Conn) writeRest() (total int, err error) {
	o := &c.out
	for {
		if time.Until(o.deadline) < c.cfg.WriteTimeout/2 {
			o.deadline, o.progress = time.Now().Add(c.cfg.WriteTimeout), 0
			if err := c.nc.SetWriteDeadline(o.deadline); err != nil {
				return total, err
			}
		}
		n, err := o.rest.WriteTo(c.nc)
		total += int(n)
		o.progress += int(n)
		if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) || o.progress < minProgress {
			return total, err
		}
	}
}

// tryWrite writes without waiting. It reports false if the rest has to wait.
func (c *Conn) tryWrite() bool {
	o := &c.out
	for {
		if !o.failed {
			done, err := c.tryBatch()
			switch {
			case err != nil:
				c.Fail(err)
			case !done:
				return false
			}
		}
		if !c.next() {
			return true
		}
	}
}

// tryBatch writes as much of the batch as is possible without waiting, and reports whether that is all.
func (c *Conn) tryBatch() (done bool, err error) {
	o := &c.out
	o.gather()
	o.n, o.err = 0, nil
	if err = o.raw.Write(o.attempt); err == nil {
		err = o.err
	}
	n := max(o.n, 0)
	c.cfg.Sent(n)
	o.advance(n)
	if err == unix.EAGAIN {
		err = nil
	}
	return len(o.rest) == 0, err
}

// writev is one attempt to write.
func (o *output) writev(fd uintptr) bool {
	for {
		o.n, o.err = unix.Writev(int(fd), o.rest[:min(len(o.rest), maxParts)])
		if o.err != unix.EINTR {
			return true
		}
	}
}

// advance drops the first n bytes of the rest.
func (o *output) advance(n int) {
	for len(o.rest) > 0 && n >= len(o.rest[0]) {
		n -= len(o.rest[0])
		o.rest = o.rest[1:]
	}
	if n > 0 {
		o.rest[0] = o.rest[0][n:]
	}
}
