package nfsrdma

import (
	"encoding/binary"
	"errors"
	"fmt"

	"fileserver/nfs/xdr"
	"fileserver/rdma"
)

// registrations are the memory regions of one call. Those that the server has invalidated must be deregistered, too.
type registrations []rdma.MR

func (k *registrations) drop() error {
	var errs []error
	for _, mr := range *k {
		errs = append(errs, mr.Deregister())
	}
	*k = nil
	return errors.Join(errs...)
}

// marshal builds the message of a call in room, registers the memory of its chunks,
// and returns the length of the message.
func (c *Client) marshal(room []byte, req *Request, keys *registrations) (int, error) {
	proc := uint32(procMsg)
	if req.LongCall != nil {
		proc = procNoMsg
	}
	b := appendFixed(room[:0], binary.BigEndian.Uint32(req.Head), uint32(c.cfg.Credits), proc)
	var err error
	if it := req.LongCall; it != nil {
		if len(req.Head) > it.Len {
			return 0, fmt.Errorf("nfsrdma: a call of %d bytes in a chunk of %d", len(req.Head), it.Len)
		}
		copy(it.Buf.Bytes()[it.Off:], req.Head)
		if b, err = c.appendRead(b, Item{Buf: it.Buf, Off: it.Off, Len: len(req.Head)}, keys); err != nil {
			return 0, err
		}
	}
	for _, it := range req.Reads {
		if b, err = c.appendRead(b, it, keys); err != nil {
			return 0, err
		}
	}
	b = xdr.AppendUint32(b, 0)
	for i := range req.Writes {
		if b, err = c.appendWrite(b, &req.Writes[i], keys); err != nil {
			return 0, err
		}
	}
	b = xdr.AppendUint32(b, 0)
	if req.Reply == nil {
		b = xdr.AppendUint32(b, 0)
	} else if b, err = c.appendWrite(b, req.Reply, keys); err != nil {
		return 0, err
	}
	if req.LongCall == nil {
		b = append(b, req.Head...)
	}
	if len(b) > c.inline {
		return 0, fmt.Errorf("nfsrdma: a message of %d bytes, the server takes %d", len(b), c.inline)
	}
	return len(b), nil
}

func (c *Client) appendRead(b []byte, it Item, keys *registrations) ([]byte, error) {
	for _, s := range it.Segments {
		b = appendSegment(xdr.AppendUint32(xdr.AppendUint32(b, 1), it.Pos), s)
	}
	if len(it.Segments) > 0 {
		return b, nil
	}
	err := c.register(it, rdma.AccessRemoteRead, keys, func(s rdma.Segment) {
		b = appendSegment(xdr.AppendUint32(xdr.AppendUint32(b, 1), it.Pos), s)
	})
	return b, err
}

func (c *Client) appendWrite(b []byte, it *Item, keys *registrations) ([]byte, error) {
	b = xdr.AppendUint32(b, 1)
	if len(it.Segments) > 0 {
		b = xdr.AppendUint32(b, uint32(len(it.Segments)))
		for _, s := range it.Segments {
			b = appendSegment(b, s)
		}
		return b, nil
	}
	at, n := len(b), uint32(0)
	b = xdr.AppendUint32(b, 0)
	err := c.register(*it, rdma.AccessLocalWrite|rdma.AccessRemoteWrite, keys, func(s rdma.Segment) {
		b = appendSegment(b, s)
		n++
	})
	xdr.PutUint32(b, at, n)
	return b, err
}

// register registers an item's memory, and calls add with each of its segments.
func (c *Client) register(it Item, access rdma.Access, keys *registrations, add func(rdma.Segment)) error {
	mem := it.Buf.Bytes()[it.Off : it.Off+it.Len]
	for len(mem) > 0 {
		n := len(mem)
		if c.cfg.SegmentSize > 0 {
			n = min(n, c.cfg.SegmentSize)
		}
		mr, err := c.mem.PD().RegMR(mem[:n:n], access)
		if err != nil {
			return err
		}
		*keys = append(*keys, mr)
		add(rdma.Segment{Addr: mr.Addr(), Length: uint32(n), RKey: mr.RKey()})
		mem = mem[n:]
	}
	return nil
}
