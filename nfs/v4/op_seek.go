package v4

import (
	"math"

	"fileserver/nfs/v4/proto"
	"fileserver/nfs/v4/state"
	"fileserver/vfs"
)

// Contents of a file (RFC 7862 9.1.2).
const (
	contentData = iota
	contentHole
)

type seekArgs struct {
	sid  proto.StateID
	off  uint64
	what uint32
}

func (a *seekArgs) decode(c *compound) bool {
	a.sid, a.off, a.what = proto.DecodeStateID(c.d), c.d.Uint64(), c.d.Uint32()
	return c.badXDR()
}

// seek is SEEK (RFC 7862 15.11). A backend that knows no holes has data up to the end.
func (c *compound) seek() proto.Status {
	var a seekArgs
	if a.decode(c) {
		return proto.ErrBadXDR
	}
	if a.what > contentHole {
		return proto.ErrUnionNotSupp
	}
	f, st := c.use(&c.cur, a.sid, state.ShareRead)
	if st != proto.OK {
		return st
	}
	defer f.end()
	at, err := f.GetAttr(c.ctx, vfs.AttrSize)
	if err != nil {
		return statusOf(err)
	}
	if a.off >= at.Size || a.off > math.MaxInt64 {
		return proto.ErrNXIO
	}
	off := int64(a.off)
	s, ok := f.File.(vfs.Seeker)
	switch {
	case !ok && a.what == contentHole:
		off = int64(at.Size)
	case !ok:
	case a.what == contentHole:
		off, err = s.SeekHole(c.ctx, off)
	default:
		off, err = s.SeekData(c.ctx, off)
	}
	if vfs.StatusOf(err) == vfs.ErrNoData { // a hole up to the end
		c.bool(true)
		c.uint64(at.Size)
		return proto.OK
	}
	if err != nil {
		return statusOf(err)
	}
	c.bool(uint64(off) >= at.Size)
	c.uint64(uint64(off))
	return proto.OK
}
