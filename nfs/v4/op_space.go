package v4

import (
	"context"
	"math"

	"fileserver/nfs/v4/proto"
	"fileserver/nfs/v4/state"
	"fileserver/vfs"
)

type rangeArgs struct {
	sid    proto.StateID
	off, n uint64
}

func (a *rangeArgs) decode(c *compound) bool {
	a.sid, a.off, a.n = proto.DecodeStateID(c.d), c.d.Uint64(), c.d.Uint64()
	return c.badXDR()
}

// allocate is ALLOCATE (RFC 7862 15.1).
func (c *compound) allocate() proto.Status { return c.reserve(vfs.Allocator.Allocate) }

// reserve does what ALLOCATE and DEALLOCATE have in common.
func (c *compound) reserve(do func(vfs.Allocator, context.Context, int64, int64) error) proto.Status {
	var a rangeArgs
	if a.decode(c) {
		return proto.ErrBadXDR
	}
	off, n, st := signed(a.off, a.n)
	if st != proto.OK {
		return st
	}
	f, st := c.use(&c.cur, a.sid, state.ShareWrite)
	if st != proto.OK {
		return st
	}
	defer f.end()
	al, ok := f.File.(vfs.Allocator)
	if !ok {
		return proto.ErrNotSupp
	}
	if n == 0 {
		return proto.OK
	}
	if err := do(al, c.ctx, off, n); err != nil {
		return statusOf(err)
	}
	c.changes().Written(c.ctx, c.cur.node)
	return statusOf(f.Commit(c.ctx, off, n))
}

// deallocate is DEALLOCATE (RFC 7862 15.4).
func (c *compound) deallocate() proto.Status { return c.reserve(vfs.Allocator.Deallocate) }

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

type ioAdviseArgs struct {
	rangeArgs
	hints proto.Bitmap
}

func (a *ioAdviseArgs) decode(c *compound) bool {
	a.rangeArgs.decode(c)
	a.hints, _ = proto.DecodeBitmap(c.d)
	return c.badXDR()
}

// ioAdvise is IO_ADVISE (RFC 7862 15.5). No hint has an effect, so the set returned is empty.
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

// signed converts an offset and length to those of package vfs.
func signed(off, n uint64) (int64, int64, proto.Status) {
	if off > math.MaxInt64 || n > math.MaxInt64-off {
		return 0, 0, proto.ErrInval
	}
	return int64(off), int64(n), proto.OK
}
