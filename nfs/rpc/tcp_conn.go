package rpc

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"fileserver/internal/admission"
	"fileserver/internal/connlimit"
	"fileserver/internal/stream"
	"fileserver/nfs/xdr"
)

// lingerTime is how long a connection that the server ends waits for the client to end it too: closed
// with input unread it would be reset, and replies under way would be lost.
const lingerTime = 500 * time.Millisecond

// tcpConn is a connection: one goroutine reads, workers execute the calls, and
// whichever of them finds nobody writing writes the replies there are.
type tcpConn struct {
	srv    *TCPServer
	ctx    context.Context // of the calls, which outlive their connection; ends when the server gives up waiting for them
	giveUp context.CancelCauseFunc
	nc     net.Conn
	entry  *connlimit.Entry
	info   Conn
	done   chan struct{} // closed when the connection has ended
	rd     recordReader
	rdCtx  context.Context // of the reader, ends when it shall stop
	rdStop context.CancelFunc
	slots  chan struct{}     // one element per call, and one for the reader
	held   *admission.Budget // of the calls' buffers

	mu      sync.Mutex
	machine string // the last AUTH_SYS machine name, not to be made again by each call
	err     error  // why the connection is of no use any more
	out     writer
}

func newTCPConn(s *TCPServer, ctx context.Context, nc net.Conn, e *connlimit.Entry) *tcpConn {
	c := &tcpConn{srv: s, nc: nc, entry: e, done: make(chan struct{}), slots: make(chan struct{}, s.cfg.MaxCalls)}
	c.info = Conn{
		ID: NextConnID(), Transport: "tcp", Done: c.done,
		RemoteAddr: stream.AddrPort(nc.RemoteAddr()), LocalAddr: stream.AddrPort(nc.LocalAddr()),
	}
	c.rd.nc, c.rd.pool, c.rd.in = nc, s.cfg.Buffers, make([]byte, readBuffer)
	c.held = admission.New(int64(s.cfg.MaxHeld))
	c.rd.held = c.held
	c.rd.limit, c.rd.timeout = s.cfg.MaxMessage, s.cfg.ReadTimeout
	c.ctx, c.giveUp = context.WithCancelCause(ctx)
	c.rdCtx, c.rdStop = context.WithCancel(c.ctx)
	return c
}

// serve reads until there is nothing more to be read, and then waits for the calls.
func (c *tcpConn) serve() error {
	defer c.giveUp(nil)
	stop := context.AfterFunc(c.ctx, func() { c.abort(context.Cause(c.ctx)) })
	defer stop()
	c.srv.cfg.Observer.Opened(&c.info)

	err := c.read()
	if err == io.EOF || errors.Is(err, errClosing) {
		err = nil
	}
	switch {
	case err == nil, errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, errTooLong), errors.Is(err, io.ErrUnexpectedEOF):
		// What was asked before is answered still.
	default:
		c.abort(err)
	}
	for range cap(c.slots) { // all calls are answered
		c.slots <- struct{}{}
	}
	c.linger()
	c.nc.Close()
	c.mu.Lock()
	if err == nil {
		err = c.err
	}
	c.mu.Unlock()
	close(c.done)
	c.srv.cfg.Observer.Closed(&c.info, err)
	return err
}

// read hands messages to workers until the stream ends.
func (c *tcpConn) read() error {
	for {
		select {
		case c.slots <- struct{}{}:
		case <-c.rdCtx.Done():
			return errClosing
		}
		if !c.held.Try(0) && !c.waitToRead() {
			<-c.slots
			return errClosing
		}
		t, _ := c.srv.calls.Get().(*tcpCall)
		if t == nil {
			t = newTCPCall()
		}
		err := c.rd.next(c.rdCtx, &t.msg)
		if c.rd.received > 0 {
			c.srv.cfg.Observer.Received(&c.info, c.rd.received)
			c.rd.received = 0
		}
		if err != nil {
			c.srv.calls.Put(t)
			<-c.slots
			if c.rdCtx.Err() != nil {
				return errClosing
			}
			return err
		}
		c.entry.Established()
		c.entry.Use()
		t.begin(c)
		c.srv.workers.Submit(t)
	}
}

// waitToRead waits until the calls that there are hold less than they may. It returns false if the reader is to stop.
func (c *tcpConn) waitToRead() bool {
	w := &roomWait{budget: c.held, room: make(chan struct{})}
	if c.held.Admit(0, w) {
		return true
	}
	select {
	case <-w.room:
		return true
	case <-c.rdCtx.Done():
		return false
	}
}

// stopReading makes the reader stop, even in the middle of a message.
func (c *tcpConn) stopReading() {
	c.rd.closing.Store(true)
	c.rdStop()
	c.nc.SetReadDeadline(time.Unix(1, 0))
}

// abort ends the connection at once; err says why.
func (c *tcpConn) abort(err error) {
	c.mu.Lock()
	if c.err == nil {
		c.err = err
	}
	c.mu.Unlock()
	c.stopReading()
	c.nc.Close()
}

// Busy implements [connlimit.Conn]: one slot is the reader's.
func (c *tcpConn) Busy() bool { return len(c.slots) > 1 }

// End implements [connlimit.Conn].
func (c *tcpConn) End(err error) { c.abort(err) }

// linger ends the sending side and waits a little for the other to end.
func (c *tcpConn) linger() {
	c.mu.Lock()
	broken := c.err != nil
	c.mu.Unlock()
	half, ok := c.nc.(interface{ CloseWrite() error })
	if broken || !ok || half.CloseWrite() != nil {
		return
	}
	c.nc.SetReadDeadline(time.Now().Add(lingerTime))
	for {
		if _, err := c.nc.Read(c.rd.in); err != nil {
			return
		}
	}
}

// tcpCall is a call with the storage it needs, reused.
type tcpCall struct {
	call  Call
	reply Reply
	conn  *tcpConn
	msg   record
	head  []byte // storage of the reply's head; the first 4 bytes are the record mark
	next  *tcpCall
}

// Storage of the reply's head, bytes.
const (
	headSize     = 512
	maxKeptHead  = 128 << 10 // more (a large directory) is not kept for the next call
	recordMarked = 4
)

func newTCPCall() *tcpCall {
	return &tcpCall{msg: record{small: make([]byte, smallMessage)}, head: make([]byte, headSize)}
}

func (t *tcpCall) begin(c *tcpConn) {
	t.conn = c
	t.call.Conn, t.call.Buffers, t.call.Held = &c.info, c.srv.cfg.Buffers, c.held
	t.call.Limits = Limits{Inline: c.srv.cfg.MaxMessage}
	t.call.Message = xdr.NewChunkedDecoder(t.msg.bytes(), t.msg.buf, nil)
	c.mu.Lock()
	t.call.Machine = c.machine
	c.mu.Unlock()
	t.reply.Head = t.head[:recordMarked]
}

// Run implements workers.Task: it executes the call and sends the reply.
func (t *tcpCall) Run() {
	c := t.conn
	ok := c.srv.cfg.Handler.Serve(c.ctx, &t.call, &t.reply)
	t.msg.release()
	c.send(t, ok)
}

// release gives everything back that the call held. The caller gives back the slot.
func (t *tcpCall) release(s *TCPServer) {
	t.reply.ReleasePayloads()
	if n := cap(t.reply.Head); n >= headSize && n <= maxKeptHead {
		t.head = t.reply.Head[:n]
	}
	t.reply.Head = nil
	t.conn, t.next = nil, nil
	t.call.Conn, t.call.Buffers, t.call.Held, t.call.Machine = nil, nil, nil, ""
	t.call.Message, t.call.Args = xdr.Decoder{}, xdr.Decoder{}
	s.calls.Put(t)
}
