package v4

import (
	"bytes"

	"fileserver/nfs"
	"fileserver/nfs/v4/proto"
	"fileserver/nfs/v4/state"
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

// getAttr is GETATTR (RFC 8881 18.7). Attributes that are not supported are left out.
func (c *compound) getAttr() proto.Status {
	want, _ := proto.DecodeBitmap(c.d)
	if c.badXDR() {
		return proto.ErrBadXDR
	}
	if w := want.And(writeOnly); !w.IsEmpty() {
		return proto.ErrInval
	}
	var v values
	if st := c.values(&c.cur, want, &v); st != proto.OK {
		return st
	}
	c.r.Head = c.appendAttrs(c.r.Head, want, &v)
	return proto.OK
}

type setAttrArgs struct {
	sid   proto.StateID
	attrs fattr
}

func (a *setAttrArgs) decode(c *compound) bool {
	a.sid, a.attrs = proto.DecodeStateID(c.d), decodeFattr(c.d)
	return c.badXDR()
}

// setAttr is SETATTR (RFC 8881 18.30). Its result is a bitmap whatever the status: the dispatcher adds an empty one to errors.
func (c *compound) setAttr() proto.Status {
	var a setAttrArgs
	if a.decode(c) {
		return proto.ErrBadXDR
	}
	set, st := c.setAttrs(&a.attrs, settable)
	if st != proto.OK {
		return st
	}
	if set.Mask&vfs.AttrSize != 0 {
		if st := c.mayResize(a.sid); st != proto.OK {
			return st
		}
	} else if st := c.resolve(&a.sid); st != proto.OK {
		return st
	}
	if set.Mask != 0 {
		if err := c.cur.node.SetAttr(c.ctx, c.creds(), &set); err != nil {
			return statusOf(err)
		}
		c.changes().Set(c.ctx, c.cur.node, set.Mask)
		if st := c.stable(c.cur.export, c.cur.node); st != proto.OK {
			return st
		}
	}
	c.r.Head = a.attrs.mask.Append(c.r.Head)
	return proto.OK
}

// mayResize reports whether the stateid allows to change the size: as for WRITE.
func (c *compound) mayResize(sid proto.StateID) proto.Status {
	if st := c.cur.regular(); st != proto.OK {
		if st == proto.ErrIsDir {
			return st
		}
		return proto.ErrInval
	}
	if st := c.resolve(&sid); st != proto.OK {
		return st
	}
	key := c.cur.key()
	if sid.IsSpecial() {
		if st := c.anonymous(&sid, &key, state.ShareWrite); st != proto.OK {
			return st
		}
		return c.recall(&key, nfs.KeepToChange)
	}
	r, st := c.client.Use(&sid, &key, state.ShareWrite)
	if st != proto.OK {
		return st
	}
	r.Release()
	return c.recall(&key, nfs.KeepToChange)
}

// verify is VERIFY (RFC 8881 18.31).
func (c *compound) verify() proto.Status {
	same, st := c.compare()
	if st == proto.OK && !same {
		return proto.ErrNotSame
	}
	return st
}

// compare decodes attributes and compares them with those of the current filehandle.
func (c *compound) compare() (same bool, st proto.Status) {
	f := decodeFattr(c.d)
	if c.badXDR() {
		return false, proto.ErrBadXDR
	}
	if st := c.unsupported(&f, c.gettable()); st != proto.OK {
		return false, st
	}
	if f.mask.Has(proto.AttrRdAttrError) {
		return false, proto.ErrInval
	}
	var v values
	if st := c.values(&c.cur, f.mask, &v); st != proto.OK {
		return false, st
	}
	// Every value has one encoding: equal attributes are equal bytes.
	have := c.appendAttrs(nil, f.mask, &v)
	want := f.mask.Append(nil)
	return bytes.Equal(have[len(want)+4:], f.vals), proto.OK
}

// nverify is NVERIFY (RFC 8881 18.15).
func (c *compound) nverify() proto.Status {
	same, st := c.compare()
	if st == proto.OK && same {
		return proto.ErrSame
	}
	return st
}
