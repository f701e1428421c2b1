package v4

import (
	"math"

	"fileserver/internal/slab"
	"fileserver/nfs/v4/proto"
	"fileserver/nfs/v4/state"
	"fileserver/nfs/xdr"
	"fileserver/vfs"
)

// afterData is what is kept free in a reply for operations behind READ, bytes: a GETATTR usually.
const afterData = 1024

type readArgs struct {
	sid   proto.StateID
	off   uint64
	count uint32
}

func (a *readArgs) decode(c *compound) bool {
	a.sid, a.off, a.count = proto.DecodeStateID(c.d), c.d.Uint64(), c.d.Uint32()
	return c.badXDR()
}

// read is READ (RFC 8881 18.22).
func (c *compound) read() proto.Status {
	var a readArgs
	if a.decode(c) {
		return proto.ErrBadXDR
	}
	f, st := c.use(&c.cur, a.sid, state.ShareRead)
	if st != proto.OK {
		return st
	}
	defer f.end()
	buf, n, eof, st := c.readInto(&f, a.off, a.count, 8)
	if st != proto.OK {
		return st
	}
	c.bool(eof)
	c.r.AppendPayload(buf, 0, n, true)
	return proto.OK
}

// readInto reads into a buffer, which is the caller's, as much as the client asks for and can take: the next result eligible
// for direct placement, behind head more bytes of this one.
func (c *compound) readInto(f *access, off uint64, count uint32, head int) (buf *slab.Buf, n int, eof bool, st proto.Status) {
	after := 0
	if c.index+1 < c.count {
		after = afterData
	}
	limit := c.call.PayloadLimit(c.payloads, c.r.Len()+head+after)
	limit = min(limit, int(c.srv.cfg.MaxIO), max(0, c.limit-c.r.Len()-head-after))
	c.payloads++
	want := int(min(uint64(count), uint64(limit)))
	if off > math.MaxInt64 { // behind the end of every file (RFC 8881 18.22.3)
		want = 0
	} else {
		want = int(min(int64(want), math.MaxInt64-int64(off)))
	}
	buf, err := c.call.Buffer(c.ctx, want)
	if err != nil {
		return nil, 0, false, proto.ErrDelay
	}
	switch {
	case off > math.MaxInt64:
		eof = true
	case want == 0:
		a, err := f.GetAttr(c.ctx, vfs.AttrSize)
		if err != nil {
			buf.Release()
			return nil, 0, false, statusOf(err)
		}
		eof = off >= a.Size
	default:
		n, eof, err = f.ReadAt(c.ctx, buf.Bytes(), int64(off))
		if err != nil {
			buf.Release()
			return nil, 0, false, statusOf(err)
		}
	}
	return buf, n, eof, proto.OK
}

// readPlus is READ_PLUS (RFC 7862 15.10). All is answered as one segment of data, which is always right. Its data are not
// eligible for direct placement (RFC 8267 6).
func (c *compound) readPlus() proto.Status {
	var a readArgs
	if a.decode(c) {
		return proto.ErrBadXDR
	}
	f, st := c.use(&c.cur, a.sid, state.ShareRead)
	if st != proto.OK {
		return st
	}
	defer f.end()
	inline := max(0, c.call.Limits.Inline-c.r.Len()-afterData)
	buf, n, eof, st := c.readInto(&f, a.off, uint32(min(uint64(a.count), uint64(inline))), 24)
	c.payloads-- // not of the results eligible
	if st != proto.OK {
		return st
	}
	c.bool(eof)
	if n == 0 {
		buf.Release()
		c.uint32(0)
		return proto.OK
	}
	c.uint32(1)
	c.uint32(contentData)
	c.uint64(a.off)
	if c.call.Conn.RDMA() {
		c.r.Head = xdr.AppendOpaque(c.r.Head, buf.Bytes()[:n])
		buf.Release()
		return proto.OK
	}
	c.r.AppendPayload(buf, 0, n, false)
	return proto.OK
}
