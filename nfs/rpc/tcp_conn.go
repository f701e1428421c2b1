package rpc

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"

	"fileserver/internal/admission"
	"fileserver/internal/connlimit"
	"fileserver/internal/slab"
	"fileserver/internal/stream"
	"fileserver/nfs/xdr"
)

// tcpConn is a connection: one goroutine reads, workers execute the calls, and
// whichever of them finds nobody writing writes the replies there are.
type tcpConn struct {
	srv    *TCPServer
	ctx    context.Context // of the calls, which outlive their connection; ends when the server gives up waiting for them
	giveUp context.CancelCauseFunc
	stream *stream.Conn
	entry  *connlimit.Entry
	info   Conn
	done   chan struct{} // closed when the connection has ended
	rd     *stream.Reader
	slots  chan struct{}     // one element per call, and one for the reader
	held   *admission.Budget // of the calls' buffers
	// machine is the last AUTH_SYS machine name: calls that state the same one do not make it again.
	machine atomic.Pointer[string]
}

func newTCPConn(s *TCPServer, ctx context.Context, nc net.Conn, e *connlimit.Entry) *tcpConn {
	c := &tcpConn{srv: s, entry: e, done: make(chan struct{}), slots: make(chan struct{}, s.cfg.MaxCalls)}
	c.info = Conn{
		ID: NextConnID(), Transport: "tcp", Done: c.done,
		RemoteAddr: stream.AddrPort(nc.RemoteAddr()), LocalAddr: stream.AddrPort(nc.LocalAddr()),
	}
	c.held = admission.New(int64(s.cfg.MaxHeld))
	c.ctx, c.giveUp = context.WithCancelCause(ctx)
	c.stream = stream.NewConn(c.ctx, nc, stream.ConnConfig{
		WriteTimeout: s.cfg.WriteTimeout, Wait: true, Sent: func(n int) { s.cfg.Observer.Sent(&c.info, n) },
	})
	c.rd = stream.NewReader(c.stream, stream.ReaderConfig{
		Framing: records{s.cfg.MaxMessage}, Buffers: s.cfg.Buffers, Taken: c.count,
		Timeout: s.cfg.ReadTimeout, MemoryWait: maxBufferWait,
	})
	c.machine.Store(new(string))
	return c
}

// count has the connection's budget count a buffer, whether or not there is room: the next message waits for it.
func (c *tcpConn) count(b *slab.Buf) {
	c.held.Add(int64(b.Cap()))
	b.SetOwner(c.held)
}

// serve reads until there is nothing more to be read, and then waits for the calls.
func (c *tcpConn) serve() error {
	defer c.giveUp(nil)
	c.srv.cfg.Observer.Opened(&c.info)

	err := c.read()
	if err == io.EOF || errors.Is(err, stream.ErrEnded) {
		err = nil
	}
	switch {
	case err == nil, errors.Is(err, stream.ErrNoMemory), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, errTooLong), errors.Is(err, io.ErrUnexpectedEOF):
		// What was asked before is answered still.
	default:
		c.stream.Fail(err)
	}
	for range cap(c.slots) { // all calls are answered
		c.slots <- struct{}{}
	}
	c.stream.Linger()
	if err == nil {
		err = c.stream.Wait()
	}
	close(c.done)
	c.srv.cfg.Observer.Closed(&c.info, err)
	return err
}

// read hands messages to workers until the stream ends.
func (c *tcpConn) read() error {
	for {
		select {
		case c.slots <- struct{}{}:
		case <-c.stream.Context().Done():
			return stream.ErrEnded
		}
		if !c.held.Try(0) && !c.waitToRead() {
			<-c.slots
			return stream.ErrEnded
		}
		t, _ := c.srv.calls.Get().(*tcpCall)
		if t == nil {
			t = newTCPCall()
		}
		err := c.rd.Next(&t.msg)
		if n := c.rd.Received(); n > 0 {
			c.srv.cfg.Observer.Received(&c.info, n)
		}
		if err != nil {
			c.srv.calls.Put(t)
			<-c.slots
			if c.stream.Context().Err() != nil {
				return stream.ErrEnded
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
	case <-c.stream.Context().Done():
		return false
	}
}

// Busy implements [connlimit.Conn]: one slot is the reader's.
func (c *tcpConn) Busy() bool { return len(c.slots) > 1 }

// End implements [connlimit.Conn].
func (c *tcpConn) End(err error) { c.stream.Fail(err) }

// tcpCall is a call with the storage it needs, reused. It implements [stream.Message]: its reply.
type tcpCall struct {
	call  Call
	reply Reply
	conn  *tcpConn
	msg   stream.Incoming
	head  []byte  // storage of the reply's head; the first 4 bytes are the record mark
	known *string // tcpConn.machine when the call began
}

// Storage of the reply's head, bytes.
const (
	headSize     = 512
	maxKeptHead  = 128 << 10 // more (a large directory) is not kept for the next call
	recordMarked = 4
)

func newTCPCall() *tcpCall {
	return &tcpCall{msg: stream.Incoming{Small: make([]byte, smallMessage)}, head: make([]byte, headSize)}
}

func (t *tcpCall) begin(c *tcpConn) {
	t.conn = c
	t.call.Conn, t.call.Buffers, t.call.Held = &c.info, c.srv.cfg.Buffers, c.held
	t.call.Limits = Limits{Inline: c.srv.cfg.MaxMessage}
	t.call.Message = xdr.NewChunkedDecoder(t.msg.Bytes(), t.msg.Buf, nil)
	t.known = c.machine.Load()
	t.call.Machine = *t.known
	t.reply.Head = t.head[:recordMarked]
}

// Run implements workers.Task: it executes the call and sends the reply.
func (t *tcpCall) Run() {
	c := t.conn
	ok := c.srv.cfg.Handler.Serve(c.ctx, &t.call, &t.reply)
	t.msg.Release()
	if t.call.Machine != *t.known {
		m := t.call.Machine
		c.machine.Store(&m)
	}
	if !ok {
		t.Done()
		return
	}
	_ = c.stream.Send(t) // fails when the connection has ended
}

// Done implements [stream.Message]: it gives back everything that the call held.
func (t *tcpCall) Done() {
	c := t.conn
	t.reply.ReleasePayloads()
	if n := cap(t.reply.Head); n >= headSize && n <= maxKeptHead {
		t.head = t.reply.Head[:n]
	}
	t.reply.Head = nil
	t.conn, t.known = nil, nil
	t.call.Conn, t.call.Buffers, t.call.Held, t.call.Machine = nil, nil, nil, ""
	t.call.Message, t.call.Args = xdr.Decoder{}, xdr.Decoder{}
	c.srv.calls.Put(t)
	<-c.slots
}

// Len implements [stream.Message].
func (t *tcpCall) Len() int { return t.reply.Len() }

// AppendTo implements [stream.Message].
func (t *tcpCall) AppendTo(parts [][]byte) [][]byte {
	binary.BigEndian.PutUint32(t.reply.Head, lastFragment|uint32(t.reply.Len()-recordMarked))
	return t.reply.appendVector(parts)
}

var pads [4]byte

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
