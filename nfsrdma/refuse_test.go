package nfsrdma

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"fileserver/rdma"
	"fileserver/rdma/rdmatest/mem"
)

// raw sends a message as it is; a reply to it is unmatched.
func (c *Client) raw(ctx context.Context, msg []byte) error {
	buf, err := c.mem.Pool().Get(ctx, len(msg))
	if err != nil {
		return err
	}
	copy(buf.Bytes(), msg)
	op := c.ep.NewSendOp()
	op.Send(buf, len(msg))
	return c.ep.Post(ctx, op)
}

// ask sends a message as it is and waits for the reply to its XID.
func (c *Client) ask(t *testing.T, msg []byte) (Response, error) {
	t.Helper()
	xid := binary.BigEndian.Uint32(msg)
	p := &pending{req: &Request{}, resp: &Response{}, done: make(chan error, 1)}
	if err := c.enter(t.Context(), xid, p); err != nil {
		t.Fatal(err)
	}
	defer c.leave(xid, p)
	if err := c.raw(t.Context(), msg); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-p.done:
		return *p.resp, err
	case <-time.After(10 * time.Second):
		t.Fatal("no reply")
		panic("unreachable")
	}
}

func TestErrorReplies(t *testing.T) {
	e := newEnv(t, options{caps: mem.IWARPCaps()})
	c := e.dial(ClientConfig{})
	msg := hdr(procMsg).end().end().end().inline(40)
	binary.BigEndian.PutUint32(msg[4:], 2)
	var remote *RemoteError
	if _, err := c.ask(t, msg); !errors.As(err, &remote) || *remote != (RemoteError{Code: errVers, Low: 1, High: 1}) {
		t.Errorf("version 2: %v", err)
	}
	many := hdr(procMsg).end()
	for range 20 {
		many.array(seg(1, 8, 0), seg(1, 8, 0), seg(1, 8, 0), seg(1, 8, 0), seg(1, 8, 0), seg(1, 8, 0), seg(1, 8, 0), seg(1, 8, 0), seg(1, 8, 0), seg(1, 8, 0))
	}
	small := e.dial(ClientConfig{NoPrivateData: true}) // may not be sent more than 1024 bytes
	for name, m := range map[string][]byte{
		"bad position":      hdr(procMsg).read(6, seg(1, 8, 0)).end().end().end().inline(40),
		"too much to read":  hdr(procMsg).read(8, seg(1, DefaultMaxMessage+1, 0)).end().end().end().inline(40),
		"unknown procedure": hdr(77).end().end().end().inline(40),
		"cut short":         hdr(procMsg).end().b,
	} {
		if _, err := c.ask(t, m); !errors.As(err, &remote) || remote.Code != errChunk {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := small.ask(t, many.end().end().inline(40)); !errors.As(err, &remote) || remote.Code != errChunk {
		t.Errorf("lists too long to return: %v", err)
	}
	do(t, c, &Request{Head: head(doHead, 5)}) // the connection is none the worse
	if s := strings.Count(e.logs.String(), "call refused"); s != 2 {
		t.Errorf("%d log lines for refused calls of two connections, want the first of each", s)
	}
}

func TestMessagesThatAreNoCalls(t *testing.T) {
	e := newEnv(t, options{caps: mem.IWARPCaps(), server: Config{Credits: 4}})
	c := e.dial(ClientConfig{})
	reply := hdr(procMsg).end().end().end().inline(40)
	binary.BigEndian.PutUint32(reply[minHeader+4:], 1)
	for _, m := range [][]byte{
		{1, 2, 3},
		hdr(procDone).b,
		hdr(procError).inline(8),
		reply,
	} {
		for range 4 { // as many as there are credits: each must be taken off the queue and posted again
			if err := c.raw(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		do(t, c, &Request{Head: head(doHead, 5)})
	}
	if s := e.srv.Conns()[0].Stats(); s.Dropped != 16 || s.Calls != 4 {
		t.Errorf("%+v", s)
	}
}

func TestReadFails(t *testing.T) {
	e := newEnv(t, options{caps: mem.IWARPCaps()})
	c := e.dial(ClientConfig{})
	do(t, c, &Request{Head: head(doHead, 5)})
	// A key that nobody knows: the READ fails, and with it the connection.
	msg := append(hdr(procMsg).read(12, seg(0xdead, 4096, 0)).end().end().end().b, head(doEcho)...)
	if err := c.raw(t.Context(), msg); err != nil {
		t.Fatal(err)
	}
	select {
	case <-c.ended:
	case <-time.After(10 * time.Second):
		t.Fatal("the connection goes on")
	}
	do(t, e.dial(ClientConfig{}), &Request{Head: head(doHead, 5)})
}

func TestFaults(t *testing.T) {
	for name, f := range map[string]mem.Fault{
		"lost before the reply": {At: mem.AtWork, Op: []rdma.Opcode{rdma.OpSend, rdma.OpSendInvalidate}, Drop: true},
		"lost before the READ":  {At: mem.AtWork, Op: []rdma.Opcode{rdma.OpRead}, Drop: true},
		"lost before the WRITE": {At: mem.AtWork, Op: []rdma.Opcode{rdma.OpWrite}, Drop: true},
		"bad key of a WRITE":    {At: mem.AtWork, Op: []rdma.Opcode{rdma.OpWrite}, BadKey: true},
		"send queue refuses":    {At: mem.AtPostSend, Err: rdma.ErrQueueFull},
		"receive refused":       {At: mem.AtPostRecv, Err: rdma.ErrQueueFull},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, options{caps: mem.IWARPCaps()})
			c := e.dial(ClientConfig{})
			echo(t, e, c, 9000)
			e.p.Device(0).Inject(f)
			src, dst := e.buf(9000), e.buf(9000)
			h := xdrEcho(9000)
			err := c.Do(t.Context(), &Request{
				Head: h, Reads: []Item{{Pos: uint32(len(h)), Buf: src, Len: 9000}}, Writes: []Item{{Buf: dst, Len: 9000}},
			}, &Response{})
			if err == nil {
				t.Error("the call was answered")
			}
			e.p.Device(0).Heal()
			echo(t, e, e.dial(ClientConfig{}), 9000)
		})
	}
}

func xdrEcho(n uint32) []byte {
	return append(head(doEcho), byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}
