package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync/atomic"

	"fileserver/nfs/client"
	"fileserver/nfs/rpc"
	"fileserver/nfs/rpc/rpcclient"
	"fileserver/nfsrdma"
	"fileserver/rdma"
)

// rdmaCaller carries calls by RPC-over-RDMA (RFC 8166). It implements [client.Caller].
type rdmaCaller struct {
	t    *Target
	c    *nfsrdma.Client
	mem  connMemory
	cred []byte
	wire string
	xid  atomic.Uint32
}

// replyHead is the longest reply beside its bulk data that goes inline, bytes, RPC-over-RDMA header included.
const replyHead = 512

func dialRDMA(ctx context.Context, t *Target, addr netip.AddrPort, cred client.Cred) (*rdmaCaller, error) {
	r := &rdmaCaller{t: t, mem: connMemory{pool: t.Pool, invalidate: t.Invalidate}, cred: cred.Append(nil)}
	r.xid.Store(rand.Uint32())
	memory := func(d rdma.Device) (*rdma.Memory, error) {
		r.wire = d.Caps().Transport.String()
		return r.mem.get(d)
	}
	var err error
	r.c, err = nfsrdma.Dial(ctx, t.Provider, addr, nfsrdma.ClientConfig{
		Memory: memory, Credits: max(t.Depth+2, 8), NoInvalidate: !t.Invalidate,
	})
	if err != nil {
		return nil, errors.Join(err, r.mem.close())
	}
	return r, nil
}

// Close implements [client.Caller].
func (r *rdmaCaller) Close() error { return errors.Join(r.c.Close(), r.mem.close()) }

// NewSlot implements [client.Caller].
func (r *rdmaCaller) NewSlot(ctx context.Context, n int) (client.Slot, error) {
	s := &rdmaSlot{r: r}
	if n == 0 {
		return s, nil
	}
	var err error
	s.room, err = newRoom(ctx, r.mem.mem, n, !r.t.Invalidate)
	if err != nil {
		return nil, err
	}
	s.data = s.room.buf.Bytes()
	return s, nil
}

// rdmaSlot implements [client.Slot].
type rdmaSlot struct {
	r         *rdmaCaller
	room      room
	data      []byte
	req       nfsrdma.Request
	resp      nfsrdma.Response
	item      [1]nfsrdma.Item
	seg       [1]rdma.Segment
	offloaded bool
}

// Data implements [client.Slot].
func (s *rdmaSlot) Data() []byte { return s.data }

// Release implements [client.Slot].
func (s *rdmaSlot) Release() error {
	if s.data == nil {
		return nil
	}
	return s.room.release()
}

// Do implements [client.Slot].
func (s *rdmaSlot) Do(ctx context.Context, call *client.Call) error {
	r := s.r
	s.req.Head = rpc.AppendCall(s.req.Head[:0], r.xid.Add(1), call.Prog, call.Vers, call.Proc, rpc.AuthSys, r.cred)
	s.req.Head = append(s.req.Head, call.Args...)
	s.req.Reads, s.req.Writes, s.offloaded = nil, nil, false
	inline := r.c.Inline()
	switch {
	case call.Recv > 0 && (call.Recv >= r.t.RDMAMin || call.Recv+replyHead > inline):
		s.req.Writes = s.chunk(0, call.Recv)
	case call.Send > 0 && (call.Send >= r.t.RDMAMin || len(s.req.Head)+call.Send+replyHead > inline):
		s.req.Reads = s.chunk(uint32(len(s.req.Head)), call.Send)
	case call.Send > 0:
		s.req.Head = append(s.req.Head, s.data[:call.Send]...)
	}
	if err := r.c.Do(ctx, &s.req, &s.resp); err != nil {
		return err
	}
	stat, res, err := rpcclient.ParseReply(s.resp.Head)
	if err != nil {
		return err
	}
	if stat != rpc.Success {
		return &client.AcceptError{Prog: call.Prog, Vers: call.Vers, Proc: call.Proc, Stat: stat}
	}
	call.Results, call.Placed = res, nil
	if len(s.req.Writes) > 0 && s.resp.Placed[0] > 0 {
		if s.resp.Placed[0] > call.Recv {
			return fmt.Errorf("the server placed %d bytes where there was room for %d", s.resp.Placed[0], call.Recv)
		}
		call.Placed = s.data[:s.resp.Placed[0]]
	}
	return nil
}

// chunk names the first n bytes of the slot's memory.
func (s *rdmaSlot) chunk(pos uint32, n int) []nfsrdma.Item {
	s.offloaded = true
	s.item[0] = nfsrdma.Item{Pos: pos, Buf: s.room.buf, Len: n}
	if !s.r.t.Invalidate {
		s.seg[0] = s.room.seg
		s.seg[0].Length = uint32(n)
		s.item[0].Segments = s.seg[:]
	}
	return s.item[:]
}
