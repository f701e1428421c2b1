package v4

import (
	"fileserver/nfs/v4/proto"
	"fileserver/nfs/v4/state"
	"fileserver/nfs/xdr"
)

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
