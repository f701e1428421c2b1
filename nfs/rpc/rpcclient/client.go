// Package rpcclient is an ONC RPC client over TCP (RFC 5531), for tests, benchmarks and diagnosis.
package rpcclient

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"

	"fileserver/nfs/rpc"
	"fileserver/nfs/xdr"
)

// MaxReply is the longest reply accepted, bytes.
const MaxReply = 16 << 20

// ErrDenied is a call refused for its credential or RPC version (RFC 5531 9 MSG_DENIED).
var ErrDenied = errors.New("rpcclient: call denied")

// Client is one connection. Its methods are safe for concurrent use.
type Client struct {
	nc     net.Conn
	flavor rpc.Flavor
	cred   []byte

	wmu  sync.Mutex // writing; before mu
	head []byte
	bufs [][]byte
	out  net.Buffers // what of bufs is still to be written

	mu      sync.Mutex
	xid     uint32
	pending map[uint32]*pending
	spare   []*pending
	err     error
	done    chan struct{}
}

type pending struct {
	into []byte
	body []byte
	err  error
	done chan struct{} // capacity 1
}

// New makes a client that uses nc, and owns it. cred is the body of the credential.
func New(nc net.Conn, flavor rpc.Flavor, cred []byte) *Client {
	c := &Client{
		nc: nc, flavor: flavor, cred: cred,
		xid: rand.Uint32(), pending: make(map[uint32]*pending), done: make(chan struct{}),
	}
	go c.read()
	return c
}

// Dial connects to addr ("host:port") with AUTH_SYS credentials, from a reserved port if it can ([DialReserved]).
func Dial(ctx context.Context, addr string, uid, gid uint32, groups ...uint32) (*Client, error) {
	nc, err := DialReserved(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return New(nc, rpc.AuthSys, rpc.AppendAuthSys(nil, 0, "rpcclient", uid, gid, groups)), nil
}

// Call is a call to be made.
type Call struct {
	Prog, Vers, Proc uint32
	Args             [][]byte // encoded, sent one behind the other
	XID              uint32   // 0: the next
	Into             []byte   // where the reply goes if it fits; may be nil
}

// Do makes a call and waits for the reply. results are what follows accept_stat, in Into if they fit. When
// ctx ends while the reply is coming in, the connection is ended: Into is the caller's again.
func (c *Client) Do(ctx context.Context, call Call) (stat rpc.AcceptStat, results []byte, err error) {
	xid, p, err := c.register(call.XID, call.Into)
	if err != nil {
		return 0, nil, err
	}
	if err := c.send(xid, &call); err != nil {
		c.nc.Close()
		c.forget(xid, p)
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return 0, nil, err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		c.forget(xid, p)
		return 0, nil, context.Cause(ctx)
	}
	body, err := p.body, p.err
	c.free(p)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return 0, nil, err
	}
	return parse(body)
}

// ParseReply takes a whole reply apart, of a transport of one's own: results are what follows accept_stat.
func ParseReply(b []byte) (stat rpc.AcceptStat, results []byte, err error) {
	if len(b) < 4 {
		return 0, nil, xdr.ErrShort
	}
	return parse(b[4:])
}

// register makes a call known to the reader of replies.
func (c *Client) register(xid uint32, into []byte) (uint32, *pending, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, nil, c.err
	}
	if xid == 0 {
		c.xid++
		xid = c.xid
	}
	var p *pending
	if n := len(c.spare); n > 0 {
		p, c.spare = c.spare[n-1], c.spare[:n-1]
	} else {
		p = &pending{done: make(chan struct{}, 1)}
	}
	p.into = into
	c.pending[xid] = p
	return xid, p, nil
}

// forget gives a call up, and waits for who reads its reply.
func (c *Client) forget(xid uint32, p *pending) {
	c.mu.Lock()
	waiting := c.pending[xid] == p
	if waiting {
		delete(c.pending, xid)
	}
	c.mu.Unlock()
	if !waiting {
		c.nc.Close()
		<-p.done
	}
	c.free(p)
}

func (c *Client) free(p *pending) {
	p.into, p.body, p.err = nil, nil, nil
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spare = append(c.spare, p)
}

func (c *Client) send(xid uint32, call *Call) error {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	c.head = rpc.AppendCall(append(c.head[:0], 0, 0, 0, 0), xid, call.Prog, call.Vers, call.Proc, c.flavor, c.cred)
	n := len(c.head) - 4
	c.bufs = append(c.bufs[:0], c.head)
	for _, a := range call.Args {
		n += len(a)
		c.bufs = append(c.bufs, a)
	}
	xdr.PutUint32(c.head, 0, 1<<31|uint32(n))
	c.out = c.bufs
	_, err := c.out.WriteTo(c.nc)
	clear(c.bufs)
	return err
}

// read takes replies from the connection until it ends.
func (c *Client) read() {
	defer close(c.done)
	r := &recordReader{r: bufio.NewReaderSize(c.nc, 64<<10)}
	var err error
	for err == nil {
		err = c.reply(r)
	}
	c.mu.Lock()
	c.err = fmt.Errorf("rpcclient: connection ended: %w", err)
	for xid, p := range c.pending {
		p.err = c.err
		p.done <- struct{}{}
		delete(c.pending, xid)
	}
	c.mu.Unlock()
}

func (c *Client) reply(r *recordReader) error {
	if err := r.begin(); err != nil {
		return err
	}
	if _, err := io.ReadFull(r, r.word[:]); err != nil {
		return err
	}
	id := binary.BigEndian.Uint32(r.word[:])
	c.mu.Lock()
	p := c.pending[id]
	delete(c.pending, id)
	c.mu.Unlock()
	if p == nil {
		_, err := io.Copy(io.Discard, r)
		return err
	}
	b, err := r.rest(p.into[:0])
	p.body, p.err = b, err
	p.done <- struct{}{}
	return err
}

// parse takes the header behind the xid apart.
func parse(b []byte) (rpc.AcceptStat, []byte, error) {
	d := xdr.NewDecoder(b)
	if d.Uint32() != 1 && d.Err() == nil {
		return 0, nil, fmt.Errorf("rpcclient: not a reply")
	}
	if d.Uint32() != 0 {
		return 0, nil, fmt.Errorf("%w: reject_stat %d, %d", ErrDenied, d.Uint32(), d.Uint32())
	}
	d.Uint32()
	d.Opaque(400)
	stat := d.Uint32()
	if err := d.Err(); err != nil {
		return 0, nil, fmt.Errorf("rpcclient: reply header: %w", err)
	}
	return rpc.AcceptStat(stat), d.Rest(), nil
}

// Conn is the connection, for those who want to harm it.
func (c *Client) Conn() net.Conn { return c.nc }

// Close ends the connection and all calls.
func (c *Client) Close() error {
	err := c.nc.Close()
	<-c.done
	return err
}
