package v4

import (
	"math"

	"fileserver/nfs/v4/proto"
	"fileserver/nfs/v4/state"
	"fileserver/nfs/xdr"
	"fileserver/vfs"
)

type writeArgs struct {
	sid  proto.StateID
	off  uint64
	how  uint32
	data xdr.Payload
}

func (a *writeArgs) decode(c *compound) bool {
	a.sid, a.off, a.how = proto.DecodeStateID(c.d), c.d.Uint64(), c.d.Uint32()
	a.data = c.d.Payload(1 << 30)
	if a.how > uint32(vfs.FileSync) {
		c.d.Fail(xdr.ErrBadValue)
	}
	return c.badXDR()
}

// write is WRITE (RFC 8881 18.32).
func (c *compound) write() proto.Status {
	var a writeArgs
	if a.decode(c) {
		return proto.ErrBadXDR
	}
	f, st := c.use(&c.cur, a.sid, state.ShareWrite)
	if st != proto.OK {
		return st
	}
	defer f.end()
	data := a.data.Data
	if a.off > math.MaxInt64 || int64(len(data)) > math.MaxInt64-int64(a.off) {
		return proto.ErrFBig
	}
	data = data[:min(len(data), int(c.srv.cfg.MaxIO))] // a short write is the client's to continue
	v := c.srv.cfg.Verifier.Current()
	n := 0
	if len(data) > 0 {
		var err error
		if n, err = f.WriteAt(c.ctx, data, int64(a.off), vfs.Stability(a.how)); err != nil {
			return statusOf(err)
		}
		c.changes().Written(c.ctx, c.cur.node)
	}
	c.uint32(uint32(n))
	c.uint32(a.how)
	c.r.Head = append(c.r.Head, v[:]...)
	return proto.OK
}

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
	if vfs.StatusOf(err) == vfs.ErrAccess || vfs.StatusOf(err) == vfs.ErrReadOnly { // the writer may have lost the right to write since
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
