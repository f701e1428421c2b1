package smbtest

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"fileserver/internal/slab"
	"fileserver/smb/transport"
)

// Timeout is how long tests wait for a message or an event that must come.
const Timeout = 20 * time.Second

// Wire carries the messages of a client.
type Wire interface {
	// Send sends a message.
	Send(msg []byte) error
	// Recv returns the next message. The error is ErrTimeout if none comes within d; any other error means that the connection has ended.
	Recv(d time.Duration) ([]byte, error)
	// Close ends the connection.
	Close()
}

// Errors of a Wire.
var (
	ErrEnded   = errors.New("smbtest: the connection has ended")
	ErrTimeout = errors.New("smbtest: no message within the time allowed")
)

// Pipe is the client's end of an in-process connection. It implements [Wire].
type Pipe struct {
	pool *slab.Pool
	conn *pipeConn

	order   sync.Mutex // held while a method of the handler runs; taken before mu
	handler transport.Handler

	mu          sync.Mutex
	ended       bool
	reason      error
	inbox       [][]byte
	wake        chan struct{}     // capacity 1
	memory      map[uint32][]byte // by token
	invalidated []uint32
}

// pipeConn is the server's end: a [transport.Conn].
type pipeConn struct {
	p    *Pipe
	info transport.Info
	rdma bool
}

// NewPipe connects a client to a server's handler. With rdma the server reaches memory that the client registers.
func NewPipe(t testing.TB, pool *slab.Pool, handler func(transport.Conn) transport.Handler, rdma bool) *Pipe {
	p := &Pipe{pool: pool, wake: make(chan struct{}, 1), memory: map[uint32][]byte{}}
	p.conn = &pipeConn{p: p, rdma: rdma, info: transport.Info{
		ID: 1, Transport: "mem", RemoteAddr: netip.MustParseAddrPort("127.0.0.1:1"), LocalAddr: netip.MustParseAddrPort("127.0.0.1:445"),
	}}
	if rdma {
		p.conn.info.MaxMessage, p.conn.info.MaxReadWrite = 1<<20, 8<<20
	}
	p.handler = handler(p.conn)
	t.Cleanup(p.Close)
	return p
}

// Register makes b reachable by the server under a token.
func (p *Pipe) Register(token uint32, b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.memory[token] = b
}

// Invalidated returns the tokens that the server has invalidated, in order.
func (p *Pipe) Invalidated() []uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]uint32(nil), p.invalidated...)
}

// Send implements [Wire].
func (p *Pipe) Send(msg []byte) error {
	buf, ok := p.pool.TryGet(len(msg) + 16)
	if !ok {
		return errors.New("smbtest: the pool is exhausted")
	}
	buf.SetLen(len(msg))
	copy(buf.Bytes(), msg)
	p.order.Lock()
	defer p.order.Unlock()
	p.mu.Lock()
	ended := p.ended
	p.mu.Unlock()
	if ended {
		buf.Release()
		return ErrEnded
	}
	p.handler.Message(buf)
	return nil
}

// Recv implements [Wire].
func (p *Pipe) Recv(d time.Duration) ([]byte, error) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		p.mu.Lock()
		if len(p.inbox) > 0 {
			m := p.inbox[0]
			p.inbox = p.inbox[1:]
			p.mu.Unlock()
			return m, nil
		}
		ended := p.ended
		p.mu.Unlock()
		if ended {
			return nil, ErrEnded
		}
		select {
		case <-p.wake:
		case <-timer.C:
			return nil, ErrTimeout
		}
	}
}

// Close implements [Wire].
func (p *Pipe) Close() { p.end(nil) }

// Reason returns why the server ended the connection.
func (p *Pipe) Reason() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reason
}

func (p *Pipe) end(err error) {
	p.mu.Lock()
	if p.ended {
		p.mu.Unlock()
		return
	}
	p.ended, p.reason = true, err
	p.signalLocked()
	p.mu.Unlock()
	go func() {
		p.order.Lock()
		defer p.order.Unlock()
		p.handler.Closed(err)
	}()
}

// signalLocked wakes Recv.
func (p *Pipe) signalLocked() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Info implements [transport.Conn].
func (c *pipeConn) Info() *transport.Info { return &c.info }

// Send implements [transport.Conn].
func (c *pipeConn) Send(o *transport.Outgoing) error {
	p := c.p
	p.mu.Lock()
	defer p.mu.Unlock()
	defer o.Release()
	if p.ended {
		return ErrEnded
	}
	if m := c.info.MaxMessage; m > 0 && o.Len() > m {
		return fmt.Errorf("smbtest: a message of %d bytes; the client accepts %d", o.Len(), m)
	}
	if !c.rdma && (len(o.Place) > 0 || o.HasInvalidate) {
		panic("smbtest: the server uses RDMA on a connection without RDMA")
	}
	var data, msg []byte
	for i := range o.Place {
		data = append(data, o.Place[i].Bytes()...)
	}
	for _, d := range o.Into {
		m := p.memory[d.Token]
		n := min(len(data), int(d.Length))
		if n == 0 {
			continue
		}
		copy(m[d.Offset:], data[:n])
		data = data[n:]
	}
	if len(data) > 0 {
		panic("smbtest: the server places more data than the descriptors hold")
	}
	for i := range o.Pieces {
		msg = append(msg, o.Pieces[i].Bytes()...)
	}
	if o.HasInvalidate {
		if p.memory[o.Invalidate] == nil {
			panic("smbtest: the server invalidates an unknown token")
		}
		delete(p.memory, o.Invalidate)
		p.invalidated = append(p.invalidated, o.Invalidate)
	}
	p.inbox = append(p.inbox, msg)
	p.signalLocked()
	return nil
}

// Disconnect implements [transport.Conn].
func (c *pipeConn) Disconnect(err error, _ bool) { c.p.end(err) }

// Placer implements [transport.Conn].
func (c *pipeConn) Placer() transport.Placer {
	if !c.rdma {
		return nil
	}
	return c
}

// Read implements [transport.Placer].
func (c *pipeConn) Read(buf *slab.Buf, off, n int, from []transport.Descriptor, done transport.Completion) error {
	p := c.p
	b := buf.Bytes()[off : off+n]
	p.mu.Lock()
	for _, d := range from {
		k := min(len(b), int(d.Length))
		m := p.memory[d.Token]
		if uint64(len(m)) < d.Offset+uint64(k) {
			p.mu.Unlock()
			return errors.New("smbtest: a descriptor extends beyond the registered memory")
		}
		copy(b[:k], m[d.Offset:])
		b = b[k:]
	}
	p.mu.Unlock()
	if len(b) > 0 {
		return errors.New("smbtest: the descriptors are shorter than the read")
	}
	go done.Completed(nil)
	return nil
}
