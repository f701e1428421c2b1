package v4

import (
	"fileserver/nfs/v4/proto"
	"fileserver/nfs/xdr"
)

// listXattrs is LISTXATTRS (RFC 8276 8.4.3). A cookie is how many names, in their order, were listed before.
func (c *compound) listXattrs() proto.Status {
	cookie, limit := c.d.Uint64(), c.d.Uint32()
	if c.badXDR() {
		return proto.ErrBadXDR
	}
	x, _, st := c.xattrs([]byte("any"))
	if st != proto.OK {
		return st
	}
	names, err := x.ListXattrs(c.ctx, c.creds())
	if err != nil {
		return statusOf(err)
	}
	if cookie > uint64(len(names)) {
		return proto.ErrBadCookie
	}
	room := min(int(min(limit, 1<<30)), c.room()) - 16 // cookie, count, eof
	names = names[cookie:]
	n := 0
	for _, name := range names {
		if room -= 4 + len(name) + xdr.Pad(len(name)); room < 0 {
			break
		}
		n++
	}
	if n == 0 && len(names) > 0 || room < 0 && n == 0 {
		return proto.ErrTooSmall
	}
	c.uint64(cookie + uint64(n))
	c.uint32(uint32(n))
	for _, name := range names[:n] {
		c.r.Head = xdr.AppendString(c.r.Head, name)
	}
	c.bool(n == len(names))
	return proto.OK
}
