package v4

import (
	"strings"

	"fileserver/nfs"
	"fileserver/nfs/v4/proto"
	"fileserver/nfs/xdr"
	"fileserver/vfs"
	"fileserver/vfs/lock"
)

// Limits of extended attributes, bytes: those of Linux.
const (
	maxXattrName  = 255
	maxXattrValue = 64 << 10
)

// xattrs is the current filehandle's extended attributes, and the name that was asked for.
func (c *compound) xattrs(raw []byte) (vfs.Xattrer, string, proto.Status) {
	if c.cur.pseudo != nil {
		return nil, "", proto.ErrNotSupp
	}
	x, ok := c.cur.node.(vfs.Xattrer)
	name := string(raw)
	switch {
	case !ok:
		return nil, "", proto.ErrNotSupp
	case name == "" || strings.IndexByte(name, 0) >= 0:
		return nil, "", proto.ErrInval
	case len(name) > maxXattrName:
		return nil, "", proto.ErrNameTooLong
	}
	return x, name, proto.OK
}

// getXattr is GETXATTR (RFC 8276 8.4.1).
func (c *compound) getXattr() proto.Status {
	raw := c.d.Opaque(proto.MaxName)
	if c.badXDR() {
		return proto.ErrBadXDR
	}
	x, name, st := c.xattrs(raw)
	if st != proto.OK {
		return st
	}
	v, err := x.GetXattr(c.ctx, c.creds(), name)
	if err != nil {
		return statusOf(err)
	}
	if len(v)+8 > c.room() {
		return proto.ErrTooSmall
	}
	c.r.Head = xdr.AppendOpaque(c.r.Head, v)
	return proto.OK
}

// claimXattr claims access to an extended attribute of the current object, which SMB clients may have open as a stream. It
// respects their share modes and recalls what they cache. The caller closes the claim.
func (c *compound) claimXattr(name string, access lock.Access) (xattrClaim, proto.Status) {
	locks := c.srv.cfg.Locks
	for range maxOpenTries {
		key, open := locks.Stream(c.cur.node.Identity(), name)
		if !open {
			return xattrClaim{}, proto.OK
		}
		o, rc, err := locks.OpenRecall(key, lock.CacheKey{}, access, 0, nfs.KeepToChange)
		switch {
		case rc != nil:
			if !nfs.Answered(c.ctx, rc) {
				return xattrClaim{}, proto.ErrDelay
			}
		case err != nil:
			return xattrClaim{}, proto.ErrAccess
		default:
			return xattrClaim{o}, proto.OK
		}
	}
	return xattrClaim{}, proto.ErrDelay
}

// xattrClaim is a claim on an extended attribute, if there needs to be one.
type xattrClaim struct{ o *lock.Open }

// Close gives the claim up.
func (x xattrClaim) Close() {
	if x.o != nil {
		x.o.Close()
	}
}

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
	claim, st := c.claimXattr(name, lock.Write)
	if st != proto.OK {
		return st
	}
	defer claim.Close()
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

// removeXattr is REMOVEXATTR (RFC 8276 8.4.4).
func (c *compound) removeXattr() proto.Status {
	raw := c.d.Opaque(proto.MaxName)
	if c.badXDR() {
		return proto.ErrBadXDR
	}
	x, name, st := c.xattrs(raw)
	if st != proto.OK {
		return st
	}
	n := c.cur.node
	claim, st := c.claimXattr(name, lock.Write|lock.Delete)
	if st != proto.OK {
		return st
	}
	defer claim.Close()
	defer c.lockDir(&c.cur).Unlock()
	before := c.change(n)
	if err := x.RemoveXattr(c.ctx, c.creds(), name); err != nil {
		return statusOf(err)
	}
	c.changes().Xattrs(c.ctx, n)
	if st := c.stable(c.cur.export, n); st != proto.OK {
		return st
	}
	c.changeInfo(before, c.change(n))
	return proto.OK
}
