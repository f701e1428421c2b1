package v4

import (
	"fileserver/nfs/v4/proto"
	"fileserver/nfs/xdr"
)

// getFH is GETFH (RFC 8881 18.8).
func (c *compound) getFH() proto.Status {
	at := len(c.r.Head)
	b := xdr.AppendUint32(c.r.Head, 0)
	c.r.Head = closeOpaque(c.cur.append(b), at)
	return proto.OK
}
