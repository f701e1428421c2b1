package v4

import (
	"fileserver/nfs/v4/proto"
	"fileserver/nfs/v4/state"
)

type ioAdviseArgs struct {
	rangeArgs
	hints proto.Bitmap
}

func (a *ioAdviseArgs) decode(c *compound) bool {
	a.rangeArgs.decode(c)
	a.hints, _ = proto.DecodeBitmap(c.d)
	return c.badXDR()
}

// ioAdvise is IO_ADVISE (RFC 7862 15.5). It is taken note of: no hint changes anything, which the empty set says.
func (c *compound) ioAdvise() proto.Status {
	var a ioAdviseArgs
	if a.decode(c) {
		return proto.ErrBadXDR
	}
	f, st := c.use(&c.cur, a.sid, state.ShareRead)
	if st == proto.ErrOpenMode {
		f, st = c.use(&c.cur, a.sid, state.ShareWrite)
	}
	if st != proto.OK {
		return st
	}
	f.end()
	var none proto.Bitmap
	c.r.Head = none.Append(c.r.Head)
	return proto.OK
}
