package v4

import (
	"fileserver/nfs"
	"fileserver/nfs/rpc"
	"fileserver/nfs/v4/proto"
)

// pseudoFlavors are those of the pseudo file system: any.
var pseudoFlavors = []rpc.Flavor{rpc.AuthSys, rpc.AuthNone}

// secInfo is SECINFO (RFC 8881 18.29). It consumes the current filehandle.
func (c *compound) secInfo() proto.Status {
	raw := c.d.Opaque(proto.MaxName)
	if c.badXDR() {
		return proto.ErrBadXDR
	}
	t, st := c.find(raw)
	if st != proto.OK {
		return notDir(st)
	}
	c.flavors(t.export)
	c.cur = target{}
	return proto.OK
}

func (c *compound) flavors(e *nfs.Export) {
	list := pseudoFlavors
	if e != nil {
		list = e.Flavors
	}
	c.uint32(uint32(len(list)))
	for _, f := range list {
		c.uint32(uint32(f))
	}
}

// secInfoNoName is SECINFO_NO_NAME (RFC 8881 18.45). It consumes the current filehandle.
func (c *compound) secInfoNoName() proto.Status {
	style := c.d.Uint32()
	if c.badXDR() || style > 1 {
		return proto.ErrBadXDR
	}
	e := c.cur.export
	if style == 1 {
		t, st := c.parent()
		if st != proto.OK {
			return notDir(st)
		}
		e = t.export
	}
	c.flavors(e)
	c.cur = target{}
	return proto.OK
}
