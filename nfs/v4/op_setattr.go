package v4

import (
	"fileserver/nfs"
	"fileserver/nfs/v4/proto"
	"fileserver/nfs/v4/state"
	"fileserver/vfs"
)

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
