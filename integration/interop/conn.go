package interop

import (
	"context"
	"errors"
	"fmt"

	"fileserver/internal/slab"
	"fileserver/rdma"
)

// errEnded says that the peer ended the connection by a disconnect.
var errEnded = errors.New("interop: the peer has ended the connection")

// memory is registered memory.
type memory struct {
	buf *slab.Buf
	mr  rdma.MR
}

// register takes n bytes from the pool, clears them and registers them.
func register(ctx context.Context, pool *slab.Pool, pd rdma.PD, n int, access rdma.Access) (*memory, error) {
	buf, err := pool.Get(ctx, n)
	if err != nil {
		return nil, err
	}
	clear(buf.Bytes())
	mr, err := pd.RegMR(buf.Bytes(), access)
	if err != nil {
		buf.Release()
		return nil, err
	}
	return &memory{buf, mr}, nil
}

func (m *memory) close() error {
	err := m.mr.Deregister()
	m.buf.Release()
	return err
}

func (m *memory) bytes() []byte { return m.buf.Bytes() }

func (m *memory) sge(off, n int) rdma.SGE {
	return rdma.SGE{Addr: m.mr.Addr() + uint64(off), Length: uint32(n), LKey: m.mr.LKey()}
}

// conn is a connection with one completion queue. One goroutine uses it.
type conn struct {
	id     rdma.ID
	cq     rdma.CQ
	qp     rdma.QP
	batch  [16]rdma.WC
	other  []rdma.WC // completions that wait polled while it waited for another operation
	failed *rdma.WC  // the first that did not succeed
	over   bool      // a post has failed because the connection ended; completions may still be queued
}

// open creates the queue pair of an ID. If it fails, the caller still owns the ID.
func open(id rdma.ID, pd rdma.PD, sends, recvs int) (*conn, error) {
	cq, err := id.Device().CreateCQ(sends + recvs)
	if err != nil {
		return nil, err
	}
	qp, err := id.CreateQP(pd, rdma.QPConfig{SendCQ: cq, RecvCQ: cq, SendDepth: sends, RecvDepth: recvs})
	if err != nil {
		return nil, errors.Join(err, cq.Close())
	}
	return &conn{id: id, cq: cq, qp: qp}, nil
}

func (c *conn) close() error { return errors.Join(c.id.Close(), c.cq.Close()) }

// accept accepts a connection request with the READs that it asks for.
func (c *conn) accept() error {
	peer := c.id.Remote()
	return c.id.Accept(rdma.ConnParams{IRD: peer.IRD, ORD: peer.ORD, RNRRetry: 7})
}

func (c *conn) recv(id uint64, e rdma.SGE) error {
	return c.qp.PostRecv([]rdma.RecvWR{{ID: id, SGL: []rdma.SGE{e}}})
}

// posted filters the error of a post. If the connection has ended, poll returns that
// error, after the completions of everything that arrived before.
func (c *conn) posted(err error) error {
	if errors.Is(err, rdma.ErrNotConnected) {
		c.over = true
		return nil
	}
	return err
}

// poll waits for completions and returns only successes. They are valid until the next call.
func (c *conn) poll(ctx context.Context) ([]rdma.WC, error) {
	if c.failed != nil {
		return nil, c.failure(ctx, *c.failed)
	}
	n := c.cq.Poll(c.batch[:])
	for ; n == 0; n = c.cq.Poll(c.batch[:]) {
		if c.over {
			return nil, c.end(ctx)
		}
		if err := c.cq.Wait(ctx); err != nil {
			return nil, err
		}
	}
	for i, wc := range c.batch[:n] {
		if wc.Status != rdma.StatusSuccess {
			c.failed = &wc
			if i == 0 {
				return nil, c.failure(ctx, wc)
			}
			return c.batch[:i], nil // the completions before it are valid
		}
	}
	return c.batch[:n], nil
}

// failure returns the error of a completion that is not a success.
func (c *conn) failure(ctx context.Context, wc rdma.WC) error {
	if wc.Status != rdma.StatusWRFlushErr {
		return &rdma.CompletionError{Opcode: wc.Opcode, Status: wc.Status}
	}
	return c.end(ctx)
}

// end waits for the end of the connection and returns the reason.
func (c *conn) end(ctx context.Context) error {
	for {
		select {
		case ev, ok := <-c.id.Events():
			switch {
			case ok && ev.Type == rdma.EventEstablished:
			case ok && ev.Type == rdma.EventDisconnected && ev.Err == nil:
				return errEnded
			case ok:
				return fmt.Errorf("interop: the connection ended with event %d: %w", ev.Type, ev.Err)
			default:
				return errEnded
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// wait returns the next completion of an operation. It keeps those of other operations for later calls.
func (c *conn) wait(ctx context.Context, op rdma.Opcode) (rdma.WC, error) {
	for {
		for i, wc := range c.other {
			if wc.Opcode == op {
				c.other = append(c.other[:i], c.other[i+1:]...)
				return wc, nil
			}
		}
		wcs, err := c.poll(ctx)
		if err != nil {
			return rdma.WC{}, err
		}
		c.other = append(c.other, wcs...)
	}
}
