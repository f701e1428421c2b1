package stream

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
	"time"

	"fileserver/internal/queue"
)

// lingerTime is how long a connection that the server ends waits for the peer to end it too. If it
// were closed with input unread, it would be reset, and messages under way would be lost.
const lingerTime = 500 * time.Millisecond

// ErrEnded is the reason of a connection that has ended in order.
var ErrEnded = errors.New("stream: connection closed")

// ConnConfig is what a [Conn] needs.
type ConnConfig struct {
	// WriteTimeout ends a connection whose peer takes nothing, or less than 256 KiB in it.
	WriteTimeout time.Duration
	// Wait lets the goroutine that calls Send wait for the peer. Without it Send does not block: what
	// the peer does not take at once is written by a goroutine that lives as long as there is something to write.
	Wait bool
	// Sent is called with the number of bytes that have been written. No lock is held.
	Sent func(n int)
}

// Conn is a connection over a stream of bytes: its sending side and its end. [Reader] is the other side. Its methods are safe for concurrent use.
//
// Its lock, mu, is a leaf. It is not held while reading or writing.
type Conn struct {
	nc     net.Conn
	cfg    ConnConfig
	ctx    context.Context // of the reader
	stop   context.CancelFunc
	unhook func() bool // from the context handed in

	mu       sync.Mutex
	err      error // why the connection has ended
	draining bool
	stopped  bool // reading
	queue    queue.Queue[Message]
	writing  bool          // a goroutine writes and owns out
	idle     chan struct{} // closed when writing becomes false; nil: nobody waits for that

	out output
}

// NewConn makes the Conn of nc, and closes nc when it ends. The end of ctx ends it.
// Messages are written by writev(2) if nc is a *net.TCPConn or embeds one.
func NewConn(ctx context.Context, nc net.Conn, cfg ConnConfig) *Conn {
	c := &Conn{nc: nc, cfg: cfg}
	c.ctx, c.stop = context.WithCancel(ctx)
	if sc, ok := nc.(syscall.Conn); ok && !cfg.Wait {
		if raw, err := sc.SyscallConn(); err == nil {
			c.out.raw = raw
			c.out.attempt = c.out.writev
		}
	}
	c.unhook = context.AfterFunc(ctx, func() { c.Fail(context.Cause(ctx)) })
	return c
}

// Context returns a context that ends when the connection must no longer be read.
func (c *Conn) Context() context.Context { return c.ctx }

// StopReading ends the Context and a running Read. Nothing more is read.
func (c *Conn) StopReading() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stop()
	if !c.draining && !c.stopped {
		c.stopped = true
		_ = c.nc.SetReadDeadline(time.Unix(1, 0))
	}
}

// Fail ends the connection at once. Only the first reason counts; nil is [ErrEnded].
func (c *Conn) Fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failLocked(err)
}

func (c *Conn) failLocked(err error) {
	switch {
	case c.err != nil:
		return
	case err == nil:
		err = ErrEnded
	}
	c.err = err
	c.unhook()
	c.stop()
	_ = c.nc.Close()
}

// Drain refuses further messages, and ends the sending side when the queue has been written. The peer then has a short time to end its
// side. The reader must call Linger after Next has failed.
func (c *Conn) Drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil || c.draining {
		return
	}
	c.draining = true
	if !c.writing {
		c.hangUpLocked()
	}
}

func (c *Conn) hangUpLocked() {
	half, ok := c.nc.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		c.failLocked(ErrEnded)
		return
	}
	_ = c.nc.SetReadDeadline(time.Now().Add(lingerTime))
}

// Ending reports whether the connection has ended or is drained.
func (c *Conn) Ending() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.draining || c.err != nil
}

// readBy sets the time by which the next bytes are due. It reports false if nothing more is to be read.
func (c *Conn) readBy(t time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.draining || c.stopped || c.err != nil {
		return false
	}
	_ = c.nc.SetReadDeadline(t) // if that fails, so does the next Read
	return true
}

// Linger drains the connection, drops what the peer still sends, and closes the connection. It is called
// instead of reading on.
func (c *Conn) Linger() {
	c.Drain()
	c.waitIdle()
	buf := make([]byte, 4<<10)
	for {
		if _, err := c.nc.Read(buf); err != nil {
			c.Fail(ErrEnded)
			return
		}
	}
}

// Wait waits, on a connection that has failed, until all its messages have been given back. It returns why the
// connection ended: nil if it was drained or ended in order.
func (c *Conn) Wait() error {
	c.waitIdle()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.draining || c.err == ErrEnded {
		return nil
	}
	return c.err
}

// waitIdle waits until nobody writes.
func (c *Conn) waitIdle() {
	c.mu.Lock()
	if !c.writing {
		c.mu.Unlock()
		return
	}
	if c.idle == nil {
		c.idle = make(chan struct{})
	}
	idle := c.idle
	c.mu.Unlock()
	<-idle
}
