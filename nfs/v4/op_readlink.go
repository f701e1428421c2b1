package v4

import (
	"fileserver/nfs/v4/proto"
	"fileserver/nfs/xdr"
	"fileserver/vfs"
)

// readlink is READLINK (RFC 8881 18.24).
func (c *compound) readlink() proto.Status {
	switch c.cur.kind() {
	case vfs.KindSymlink:
	case vfs.KindDirectory:
		return proto.ErrIsDir
	default:
		return proto.ErrWrongType
	}
	text, err := c.cur.node.Readlink(c.ctx, c.creds())
	if err != nil {
		return statusOf(err)
	}
	i := c.payloads
	c.payloads++
	if !c.call.Conn.RDMA() {
		c.r.Head = xdr.AppendString(c.r.Head, text)
		return proto.OK
	}
	if len(text) > c.call.PayloadLimit(i, c.r.Len()+4) {
		return proto.ErrTooSmall
	}
	buf, err := c.call.Buffers.Get(c.ctx, len(text))
	if err != nil {
		return proto.ErrDelay
	}
	copy(buf.Bytes(), text)
	c.r.AppendPayload(buf, 0, len(text), true)
	return proto.OK
}
