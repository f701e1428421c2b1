package v4

import (
	"fileserver/nfs/v4/proto"
	"fileserver/nfs/xdr"
	"fileserver/vfs"
)

type setXattrArgs struct {
	how         uint32 // setxattr_option4
	name, value []byte
}

func (a *setXattrArgs) decode(c *compound) bool {
	a.how, a.name, a.value = c.d.Uint32(), c.d.Opaque(proto.MaxName), c.d.Opaque(1<<20)
	if a.how > 2 {
		c.d.Fail(xdr.ErrBadValue)
	}
	return c.badXDR()
}

// setXattr is SETXATTR (RFC 8276 8.4.2).
func (c *compound) setXattr() proto.Status {
	var a setXattrArgs
	if a.decode(c) {
		return proto.ErrBadXDR
	}
	x, name, st := c.xattrs(a.name)
	if st != proto.OK {
		return st
	}
	if len(a.value) > maxXattrValue {
		return proto.ErrXattr2Big
	}
	n := c.cur.node
	defer c.lockDir(&c.cur).Unlock()
	before := c.change(n)
	// SETXATTR4_EITHER, _CREATE and _REPLACE are 0, 1 and 2, as vfs.XattrFlags are.
	if err := x.SetXattr(c.ctx, c.creds(), name, a.value, vfs.XattrFlags(a.how)); err != nil {
		return statusOf(err)
	}
	c.changes().Xattrs(c.ctx, n)
	if st := c.stable(c.cur.export, n); st != proto.OK {
		return st
	}
	c.changeInfo(before, c.change(n))
	return proto.OK
}
