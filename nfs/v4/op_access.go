package v4

import (
	"fileserver/nfs/v4/proto"
	"fileserver/vfs"
)

// accessAll are the bits of ACCESS4args.access that RFC 8881 defines; they are those of vfs.Access.
const accessAll = 0x3f

// access is ACCESS (RFC 8881 18.1).
func (c *compound) access() proto.Status {
	want := c.d.Uint32()
	if c.badXDR() {
		return proto.ErrBadXDR
	}
	if c.minor >= 2 && want&^uint32(accessAll|accessXattr) != 0 || c.minor < 2 && want&^uint32(accessAll) != 0 {
		return proto.ErrInval
	}
	var supported, have uint32
	if c.cur.pseudo != nil {
		supported = want
		have = want & uint32(vfs.AccessRead|vfs.AccessLookup)
	} else {
		may := vfs.AccessRead | vfs.AccessModify | vfs.AccessExtend
		if c.cur.kind() == vfs.KindDirectory {
			may |= vfs.AccessLookup | vfs.AccessDelete
		} else {
			may |= vfs.AccessExecute
		}
		supported = want & uint32(may)
		got, err := c.cur.node.Access(c.ctx, c.creds(), vfs.Access(supported)|c.xattrNeeds(want))
		if err != nil {
			return statusOf(err)
		}
		have = supported & uint32(got)
		if _, ok := c.cur.node.(vfs.Xattrer); ok {
			supported |= want & accessXattr
			have |= xattrGranted(got) & want
		}
		if c.cur.export.ReadOnly {
			have &^= uint32(vfs.AccessModify|vfs.AccessExtend|vfs.AccessDelete) | accessXattrWrite
		}
	}
	c.uint32(supported)
	c.uint32(have)
	return proto.OK
}

// Rights to extended attributes (RFC 8276 8.5.1): they go with those to the data.
const (
	accessXattrRead  = 0x40
	accessXattrWrite = 0x80
	accessXattrList  = 0x100
	accessXattr      = accessXattrRead | accessXattrWrite | accessXattrList
)

func (c *compound) xattrNeeds(want uint32) (a vfs.Access) {
	if want&(accessXattrRead|accessXattrList) != 0 {
		a |= vfs.AccessRead
	}
	if want&accessXattrWrite != 0 {
		a |= vfs.AccessModify
	}
	return a
}

func xattrGranted(got vfs.Access) (x uint32) {
	if got&vfs.AccessRead != 0 {
		x |= accessXattrRead | accessXattrList
	}
	if got&vfs.AccessModify != 0 {
		x |= accessXattrWrite
	}
	return x
}
