package v4

import (
	"math"

	"fileserver/nfs/v4/proto"
	"fileserver/vfs"
)

// commit is COMMIT (RFC 8881 18.3).
func (c *compound) commit() proto.Status {
	off, n := c.d.Uint64(), c.d.Uint32()
	if c.badXDR() {
		return proto.ErrBadXDR
	}
	if st := c.cur.regular(); st != proto.OK {
		return st
	}
	if off > math.MaxInt64 || int64(n) > math.MaxInt64-int64(off) {
		return proto.ErrInval
	}
	f, err := c.cur.node.Open(c.ctx, c.creds(), vfs.OpenWrite|vfs.AccessOwnerOverride)
	if vfs.StatusOf(err) == vfs.ErrAccess || vfs.StatusOf(err) == vfs.ErrReadOnly { // whoever wrote may have lost the right to since
		f, err = c.cur.node.Open(c.ctx, c.creds(), vfs.OpenRead|vfs.AccessOwnerOverride)
	}
	if err != nil {
		return statusOf(err)
	}
	err = f.Commit(c.ctx, int64(off), int64(n))
	_ = f.Close()
	if err != nil {
		c.srv.cfg.Verifier.Lost()
		return statusOf(err)
	}
	v := c.srv.cfg.Verifier.Current() // what was lost until now shows
	c.r.Head = append(c.r.Head, v[:]...)
	return proto.OK
}
