package nfsrdma

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"fileserver/internal/slab"
	"fileserver/nfs/xdr"
	"fileserver/rdma"
)

// ClientConfig is what a Client needs.
type ClientConfig struct {
	// Memory is the registered memory for a device.
	Memory  func(rdma.Device) (*rdma.Memory, error)
	Credits int // requested; 0: DefaultCredits
	Inline  int // bytes, a multiple of 1024; 0: DefaultInline
	// SegmentSize splits chunks into segments of at most so many bytes, each with its own
	// key, like clients whose devices register few pages at once. 0: one segment.
	SegmentSize int
	// NoPrivateData omits the private data of RFC 8797, like old clients.
	NoPrivateData bool
	// NoInvalidate forbids the server to invalidate keys.
	NoInvalidate bool
}

// Client is the requester's side of a connection. It is for tests, measurements
// and diagnosis. It transports calls; their contents are the caller's.
type Client struct {
	cfg    ClientConfig
	mem    *rdma.Memory
	ep     *rdma.Endpoint
	inline int // longest message sent
	ended  chan struct{}
	hdr    header // of the current reply; only the completion goroutine uses it

	mu      sync.Mutex
	granted int // credits (RFC 8166 3.3.1): 1 before the first reply
	used    int
	turn    chan struct{} // closed and replaced when a credit may be free
	waiting int           // goroutines that wait for turn
	spare   []*pending
	calls   map[uint32]*pending
	err     error // why the connection ended
	stats   ClientStats
}

// ClientStats are figures of a client.
type ClientStats struct {
	Granted     int   // credits of the last reply
	Invalidated int64 // replies that invalidated a key
	Unmatched   int64 // replies that match no call
}

// pending is a call that waits for its reply.
type pending struct {
	req  *Request
	done chan error // capacity 1
	resp *Response
}

// Item is a piece of memory that the server reads or writes.
type Item struct {
	Pos      uint32 // of a Read chunk
	Buf      *slab.Buf
	Off, Len int
	// Segments name the memory if it is registered already, with keys that the
	// server may not invalidate ([ClientConfig].NoInvalidate).
	Segments []rdma.Segment
}

// Request is a call.
type Request struct {
	Head   []byte // the RPC message without what is in Reads
	Reads  []Item // parts the server pulls, in ascending order of Pos
	Writes []Item // where results may be placed
	Reply  *Item  // where a long reply may be placed
	// LongCall makes the server pull Head, too, from a copy in the Item's buffer (RFC 8166 3.5.3).
	LongCall *Item
}

// Response is a reply.
type Response struct {
	Head   []byte // the RPC message without what was placed in Writes
	Placed []int  // bytes in each of Writes
	Long   bool   // Head came through the Reply chunk
}

// RemoteError is an RDMA_ERROR in place of a reply (RFC 8166 4.5).
type RemoteError struct {
	Code      uint32 // 1 ERR_VERS, 2 ERR_CHUNK
	Low, High uint32 // versions, with ERR_VERS
}

// Error implements error.
func (e *RemoteError) Error() string {
	switch e.Code {
	case errVers:
		return fmt.Sprintf("nfsrdma: the server speaks versions %d to %d only (ERR_VERS)", e.Low, e.High)
	case errChunk:
		return "nfsrdma: the server refuses the chunks of the call, or has no room for its reply (ERR_CHUNK)"
	}
	return fmt.Sprintf("nfsrdma: RDMA_ERROR %d", e.Code)
}

// Dial connects to a server.
func Dial(ctx context.Context, p rdma.Provider, addr netip.AddrPort, cfg ClientConfig) (*Client, error) {
	if cfg.Credits == 0 {
		cfg.Credits = DefaultCredits
	}
	if cfg.Inline == 0 {
		cfg.Inline = DefaultInline
	}
	id, err := p.Resolve(ctx, addr)
	if err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg, granted: 1, turn: make(chan struct{}), calls: make(map[uint32]*pending), ended: make(chan struct{})}
	if c.mem, err = cfg.Memory(id.Device()); err != nil {
		return nil, errors.Join(err, id.Close())
	}
	c.ep, err = rdma.NewEndpoint(id, rdma.EndpointConfig{
		Memory: c.mem, SendDepth: cfg.Credits + 1, ReadDepth: -1, RecvDepth: cfg.Credits + 1, RecvSize: cfg.Inline, Handler: c,
	})
	if err != nil {
		return nil, errors.Join(err, id.Close(), c.mem.Release())
	}
	params := rdma.ConnParams{IRD: id.Device().Caps().MaxIRD, RNRRetry: 7}
	if !cfg.NoPrivateData {
		params.PrivateData = privateData{invalidate: !cfg.NoInvalidate, sendSize: cfg.Inline, recvSize: cfg.Inline}.append(nil)
	}
	if err := id.Connect(ctx, params); err != nil {
		c.ep.Disconnect(err)
		<-c.ended
		return nil, err
	}
	c.inline = min(cfg.Inline, parsePrivate(id.Remote().PrivateData).recvSize)
	c.ep.Start()
	return c, nil
}

// Inline is the longest message the client sends, header included, bytes.
func (c *Client) Inline() int { return c.inline }

// Stats returns the current figures.
func (c *Client) Stats() ClientStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Granted = c.granted
	return s
}

// Close disconnects, and waits until the client has released all memory.
func (c *Client) Close() error {
	c.ep.Disconnect(nil)
	<-c.ended
	return nil
}

// Do sends a call and waits for its reply. The XID is that of req.Head, and must
// not be in use. When ctx ends Do disconnects, because the server may still be placing data.
func (c *Client) Do(ctx context.Context, req *Request, resp *Response) error {
	var keys registrations
	if len(req.Head) < 4 {
		return errors.New("nfsrdma: a call without an XID")
	}
	buf, err := c.mem.Pool().Get(ctx, c.inline)
	if err != nil {
		return err
	}
	n, err := c.marshal(buf.Bytes(), req, &keys)
	if err != nil {
		buf.Release()
		return errors.Join(err, keys.drop())
	}
	p := c.newPending(req, resp)
	xid := binary.BigEndian.Uint32(req.Head)
	if err := c.enter(ctx, xid, p); err != nil {
		buf.Release()
		return errors.Join(err, keys.drop())
	}
	op := c.ep.NewSendOp()
	op.Send(buf, n)
	err = c.ep.Post(ctx, op)
	if err == nil {
		select {
		case err = <-p.done:
		case <-ctx.Done():
			c.ep.Disconnect(context.Cause(ctx))
			<-c.ended
			err = context.Cause(ctx)
		}
	}
	c.leave(xid, p)
	if len(keys) == 0 {
		return err
	}
	return errors.Join(err, keys.drop())
}

// newPending returns a pending call, an unused one if there is any.
func (c *Client) newPending(req *Request, resp *Response) *pending {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.spare)
	if n == 0 {
		return &pending{req: req, resp: resp, done: make(chan error, 1)}
	}
	p := c.spare[n-1]
	c.spare = c.spare[:n-1]
	p.req, p.resp = req, resp
	return p
}

// enter waits for a credit and registers the call.
func (c *Client) enter(ctx context.Context, xid uint32, p *pending) error {
	for {
		c.mu.Lock()
		switch {
		case c.err != nil:
			defer c.mu.Unlock()
			return c.err
		case c.calls[xid] != nil:
			defer c.mu.Unlock()
			return fmt.Errorf("nfsrdma: XID %#x is in use", xid)
		case c.used < c.granted:
			c.used++
			c.calls[xid] = p
			c.mu.Unlock()
			return nil
		}
		turn := c.turn
		c.waiting++
		c.mu.Unlock()
		var err error
		select {
		case <-turn:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		c.mu.Lock()
		c.waiting--
		c.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

func (c *Client) leave(xid uint32, p *pending) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, open := c.calls[xid]; open { // no reply: Closed may still be about to send on p.done, so it is not reused
		delete(c.calls, xid)
	} else {
		select {
		case <-p.done: // a reply that came after ctx ended
		default:
		}
		p.req, p.resp = nil, nil
		c.spare = append(c.spare, p)
	}
	c.used--
	c.wakeLocked()
}

// wakeLocked wakes the goroutines that wait for a credit.
func (c *Client) wakeLocked() {
	if c.waiting == 0 {
		return
	}
	close(c.turn)
	c.turn = make(chan struct{})
}

// Received implements rdma.EndpointHandler.
func (c *Client) Received(buf *slab.Buf, _ uint32, invalidated bool) {
	h := &c.hdr
	rest, err := h.parseLists(buf.Bytes(), 0)
	c.mu.Lock()
	p := c.calls[h.xid]
	if err != nil || p == nil {
		c.stats.Unmatched++
		p = nil
	} else {
		delete(c.calls, h.xid)
		c.granted = min(max(int(h.credit), 1), c.cfg.Credits)
		c.wakeLocked()
	}
	if invalidated {
		c.stats.Invalidated++
	}
	c.mu.Unlock()
	if p != nil {
		err = p.fill(h, rest)
	}
	_ = c.ep.Repost(buf)
	if p != nil {
		p.done <- err
	}
}

// fill fills the Response from a reply.
func (p *pending) fill(h *header, rest []byte) error {
	r := p.resp
	r.Placed, r.Long = r.Placed[:0], h.proc == procNoMsg
	if h.proc == procError {
		d := xdr.NewDecoder(rest)
		e := &RemoteError{Code: d.Uint32()}
		if e.Code == errVers {
			e.Low, e.High = d.Uint32(), d.Uint32()
		}
		return errors.Join(e, d.Err())
	}
	if len(h.reads) > 0 || len(h.writes) != len(p.req.Writes) || h.hasReply != (p.req.Reply != nil) {
		return fmt.Errorf("%w: the reply's chunk lists differ from the call's", errHeader)
	}
	for i := range h.writes {
		if int(h.writes[i].length) > p.req.Writes[i].Len {
			return fmt.Errorf("%w: %d bytes were placed in a chunk of %d", errHeader, h.writes[i].length, p.req.Writes[i].Len)
		}
		r.Placed = append(r.Placed, int(h.writes[i].length))
	}
	if !r.Long {
		if h.reply.length != 0 {
			return fmt.Errorf("%w: a reply both inline and in the Reply chunk", errHeader)
		}
		r.Head = append(r.Head[:0], rest...)
		return nil
	}
	it := p.req.Reply
	if it == nil || len(rest) > 0 || int(h.reply.length) > it.Len {
		return fmt.Errorf("%w: a long reply of %d bytes does not fit the Reply chunk", errHeader, h.reply.length)
	}
	r.Head = append(r.Head[:0], it.Buf.Bytes()[it.Off:it.Off+int(h.reply.length)]...)
	return nil
}

// Closed implements rdma.EndpointHandler.
func (c *Client) Closed(err error) {
	if err == nil {
		err = rdma.ErrNotConnected
	}
	c.mu.Lock()
	c.err = err
	for _, p := range c.calls {
		p.done <- err
	}
	clear(c.calls)
	c.wakeLocked()
	c.mu.Unlock()
	close(c.ended)
}
