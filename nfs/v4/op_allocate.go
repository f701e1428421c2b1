package v4

import (
	"context"

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
