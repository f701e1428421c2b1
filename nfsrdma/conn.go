package nfsrdma

import (
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"fileserver/internal/admission"
	"fileserver/internal/connlimit"
	"fileserver/internal/slab"
	"fileserver/nfs/rpc"
	"fileserver/rdma"
)

// Conn is one client's connection.
//
// Its lock, mu, is a leaf: nothing is called with it held.
type Conn struct {
	srv    *Server
	ep     *rdma.Endpoint
	mem    *rdma.Memory
	entry  *connlimit.Entry
	info   *rpc.Conn
	peer   privateData
	inline int // longest message sent, bytes
	inv    bool
	done   chan struct{}
	opened time.Time
	count  counters

	granted atomic.Int32      // credits; only the completion goroutine raises it
	budget  *admission.Budget // memory that calls hold until their replies are sent

	mu       sync.Mutex
	calls    []*call     // unused
	replies  []*replyBuf // unused
	replyCh  chan struct{}
	waiting  int // calls that wait for a reply buffer
	running  int // calls that wait for memory, are executed, or are answered
	draining bool
	closed   bool
}

// counters of a connection.
type counters struct {
	calls, errVers, errChunk, dropped, invalidates atomic.Int64
}

// replyBuf is a buffer for replies without a Reply chunk. The connection owns it; a
// call uses it until its SEND has completed.
type replyBuf struct{ buf *slab.Buf }

func newConn(s *Server, id rdma.ID, e *connlimit.Entry) (*Conn, error) {
	remote := id.Remote()
	if remote.ORD == 0 {
		return nil, errors.New("the peer answers no RDMA READs, so it could not write")
	}
	mem, err := s.cfg.Memory(id.Device())
	if err != nil {
		return nil, err
	}
	c := &Conn{
		srv: s, mem: mem, entry: e, peer: parsePrivate(remote.PrivateData),
		budget: admission.New(int64(s.cfg.MaxHeld)),
		done:   make(chan struct{}), replyCh: make(chan struct{}, 1), opened: time.Now(),
	}
	c.inline = min(s.cfg.Inline, c.peer.recvSize)
	caps := id.Device().Caps()
	c.inv = c.peer.invalidate && caps.SendInvalidate
	c.info = &rpc.Conn{
		ID: rpc.NextConnID(), Transport: caps.Transport.String(),
		RemoteAddr: id.RemoteAddr(), LocalAddr: id.LocalAddr(), Done: c.done,
	}
	// There must be one reply buffer: otherwise a connection could wait for memory that only its own calls can release.
	first, ok := mem.Pool().TryGet(s.cfg.Inline)
	if !ok {
		return nil, errors.Join(errors.New("no memory for another connection"), mem.Release())
	}
	c.replies = append(c.replies, &replyBuf{first})
	c.granted.Store(int32(min(firstCredits, s.cfg.Credits)))
	c.ep, err = rdma.NewEndpoint(id, rdma.EndpointConfig{
		Memory: mem, SendDepth: 2*s.cfg.Credits + 64, ReadDepth: s.cfg.ReadDepth,
		RecvDepth: s.cfg.Credits + spareRecvs, RecvFirst: int(c.granted.Load()) + spareRecvs, RecvSize: s.cfg.Inline, Handler: c,
	})
	if err != nil {
		first.Release()
		return nil, errors.Join(err, mem.Release())
	}
	return c, nil
}

func (c *Conn) accept() error {
	id := c.ep.ID()
	s := c.srv
	mine := privateData{sendSize: s.cfg.Inline, recvSize: s.cfg.Inline}
	// Clients never READ from the server, so IRD is 0. RNR retries are unlimited, in case
	// the client's credits are ever ahead of the receives.
	err := id.Accept(rdma.ConnParams{ORD: s.cfg.ReadDepth, RNRRetry: 7, PrivateData: mine.append(nil)})
	if err != nil {
		return err
	}
	_, ord := id.Negotiated()
	s.cfg.Logger.Info("connection opened", "id", c.info.ID, "transport", c.info.Transport, "remote", c.info.RemoteAddr,
		"local", c.info.LocalAddr, "device", id.Device().Name(), "credits", s.cfg.Credits, "inline_out", c.inline,
		"inline_in", min(s.cfg.Inline, c.peer.sendSize), "reads", ord, "invalidate", c.inv)
	return nil
}

// Info returns what programs know about the connection.
func (c *Conn) Info() *rpc.Conn { return c.info }

// Stats are figures of a connection.
type Stats struct {
	rdma.EndpointStats
	Calls       int64 // answered
	ErrVers     int64 // calls refused with ERR_VERS
	ErrChunk    int64 // calls or replies refused with ERR_CHUNK
	Dropped     int64 // messages that are no calls
	Invalidates int64 // SENDs with invalidate
	Running     int   // calls in execution
}

// Stats returns the current figures.
func (c *Conn) Stats() Stats {
	s := Stats{
		EndpointStats: c.ep.Stats(),
		Calls:         c.count.calls.Load(), ErrVers: c.count.errVers.Load(), ErrChunk: c.count.errChunk.Load(),
		Dropped: c.count.dropped.Load(), Invalidates: c.count.invalidates.Load(),
	}
	c.mu.Lock()
	s.Running = c.running
	c.mu.Unlock()
	return s
}

// Received implements rdma.EndpointHandler. It runs on the completion goroutine.
func (c *Conn) Received(buf *slab.Buf, _ uint32, _ bool) {
	k, running := c.getCall()
	if k == nil { // draining: the client repeats the call on its next connection
		c.count.dropped.Add(1)
		_ = c.ep.Repost(buf)
		return
	}
	k.recv = buf
	rest, err := k.hdr.parse(buf.Bytes(), uint64(c.srv.cfg.MaxMessage))
	switch {
	case errors.Is(err, errShortHeader):
	case err != nil:
		k.refuse(err)
		return
	case k.hdr.proc == procDone || k.hdr.proc == procError:
		err = errHeader
	case k.hdr.proc == procMsg && len(rest) >= 8 && binary.BigEndian.Uint32(rest[4:]) != 0:
		// A reply to a backward call (RFC 8167 4), of which this server makes none.
		err = errHeader
	case k.hdr.replyHeaderLen() > c.inline:
		k.refuse(errHeader)
		return
	}
	if err != nil {
		c.count.dropped.Add(1)
		k.drop()
		return
	}
	k.inline = rest
	c.entry.Established()
	c.entry.Use()
	c.growCredits(running)
	k.begin()
}

// Busy implements [connlimit.Conn].
func (c *Conn) Busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running > 0
}

// End implements [connlimit.Conn].
func (c *Conn) End(err error) { c.ep.Disconnect(err) }

// Closed implements rdma.EndpointHandler.
func (c *Conn) Closed(err error) {
	close(c.done)
	c.mu.Lock()
	c.closed = true
	idle := c.running == 0
	c.mu.Unlock()
	level := c.srv.cfg.Logger.Info
	if err != nil {
		level = c.srv.cfg.Logger.Warn
	}
	level("connection closed", "id", c.info.ID, "transport", c.info.Transport, "remote", c.info.RemoteAddr, "calls", c.count.calls.Load(),
		"age", time.Since(c.opened).Round(time.Millisecond), "reason", reason(err))
	for _, w := range c.budget.Close() {
		k := w.(*call)
		k.memory = 0 // it was never counted
		k.drop()
	}
	if idle {
		c.release()
	}
}

func reason(err error) string {
	if err == nil {
		return "disconnected"
	}
	return err.Error()
}

// release releases the buffers of an ended connection whose calls have ended.
func (c *Conn) release() {
	c.mu.Lock()
	list := c.replies
	c.replies = nil
	c.mu.Unlock()
	for _, r := range list {
		r.buf.Release()
	}
	c.srv.remove(c)
}

// drain refuses new calls, and disconnects when the running ones have finished.
func (c *Conn) drain() {
	c.mu.Lock()
	c.draining = true
	idle := c.running == 0
	c.mu.Unlock()
	if idle {
		c.ep.Disconnect(nil)
	} else {
		c.ep.EndIfStalled(drainPatience)
	}
}

// getCall returns an unused call, and how many calls are running with it; nil while draining.
func (c *Conn) getCall() (k *call, running int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.draining {
		return nil, 0
	}
	c.running++
	if n := len(c.calls); n > 0 {
		k = c.calls[n-1]
		c.calls = c.calls[:n-1]
		return k, c.running
	}
	k = &call{c: c}
	k.rpc.Conn, k.rpc.Buffers = c.info, c.mem.Pool()
	return k, c.running
}

// putCall takes back a call whose reply has been sent, or that gets none.
func (c *Conn) putCall(k *call) {
	weight := k.memory
	k.reset()
	c.mu.Lock()
	c.calls = append(c.calls, k)
	c.running--
	idle, draining, closed := c.running == 0, c.draining, c.closed
	c.mu.Unlock()
	c.budget.Give(int64(weight))
	switch {
	case !idle:
	case closed:
		c.release()
	case draining:
		c.ep.Disconnect(nil)
	}
}

// tryReply returns a reply buffer, or nil if there is no memory now.
func (c *Conn) tryReply() *replyBuf {
	c.mu.Lock()
	if n := len(c.replies); n > 0 {
		r := c.replies[n-1]
		c.replies = c.replies[:n-1]
		c.mu.Unlock()
		return r
	}
	c.mu.Unlock()
	if buf, ok := c.mem.Pool().TryGet(c.srv.cfg.Inline); ok {
		return &replyBuf{buf}
	}
	return nil
}

// waitReply waits for one of the connection's reply buffers. At least one exists, and
// the call that has it does not wait for this goroutine. It returns nil when the connection has ended.
func (c *Conn) waitReply() *replyBuf {
	for {
		if r := c.tryReply(); r != nil {
			return r
		}
		c.mu.Lock()
		c.waiting++
		ready := len(c.replies) > 0
		c.mu.Unlock()
		if !ready {
			select {
			case <-c.replyCh:
			case <-c.done:
			}
		}
		c.mu.Lock()
		c.waiting--
		more := c.waiting > 0 && len(c.replies) > 0
		c.mu.Unlock()
		if more {
			c.signalReply()
		}
		select {
		case <-c.done:
			return nil
		default:
		}
	}
}

func (c *Conn) signalReply() {
	select {
	case c.replyCh <- struct{}{}:
	default:
	}
}

func (c *Conn) putReply(r *replyBuf) {
	c.mu.Lock()
	keep := !c.closed && len(c.replies) < keptReplies || c.waiting > 0
	if keep {
		c.replies = append(c.replies, r)
	}
	waiting := c.waiting > 0
	c.mu.Unlock()
	if !keep {
		r.buf.Release()
	} else if waiting {
		c.signalReply()
	}
}
