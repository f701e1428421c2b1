package v4

import (
	"fileserver/nfs/v4/proto"
	"fileserver/vfs"
)

// maxLink is the longest text of a symbolic link, bytes.
const maxLink = 4096

type createArgs struct {
	kind  uint32
	link  []byte
	dev   vfs.Dev
	name  []byte
	attrs fattr
}

func (a *createArgs) decode(c *compound) bool {
	a.kind = c.d.Uint32()
	switch a.kind {
	case 5:
		a.link = c.d.Payload(maxLink + 1).Data
	case 3, 4:
		a.dev = vfs.Dev{Major: c.d.Uint32(), Minor: c.d.Uint32()}
	}
	a.name = c.d.Opaque(proto.MaxName)
	a.attrs = decodeFattr(c.d)
	return c.badXDR()
}

// create is CREATE (RFC 8881 18.4): of anything but regular files.
func (c *compound) create() proto.Status {
	var a createArgs
	if a.decode(c) {
		return proto.ErrBadXDR
	}
	if st := c.directory(); st != proto.OK {
		return notDir(st)
	}
	kinds := [...]vfs.Kind{2: vfs.KindDirectory, 3: vfs.KindBlock, 4: vfs.KindChar, 5: vfs.KindSymlink, 6: vfs.KindSocket, 7: vfs.KindFIFO}
	if a.kind >= uint32(len(kinds)) || kinds[a.kind] == vfs.KindUnknown {
		return proto.ErrBadType
	}
	kind := kinds[a.kind]
	name, st := c.name(a.name)
	if st != proto.OK {
		return st
	}
	ok := settable
	ok.Clear(proto.AttrSize)
	set, st := c.setAttrs(&a.attrs, ok)
	if st != proto.OK {
		return st
	}
	dir, cred := c.cur.node, c.creds()
	defer c.lockDir(&c.cur).Unlock()
	before := c.change(dir)
	var n vfs.Node
	var err error
	switch kind {
	case vfs.KindDirectory:
		n, err = dir.Mkdir(c.ctx, cred, name, &set)
	case vfs.KindSymlink:
		switch {
		case len(a.link) == 0:
			return proto.ErrInval
		case len(a.link) > maxLink:
			return proto.ErrNameTooLong
		}
		n, err = dir.Symlink(c.ctx, cred, name, string(a.link), &set)
	default:
		n, err = dir.Mknod(c.ctx, cred, name, kind, a.dev, &set)
	}
	if err != nil {
		return statusOf(err)
	}
	c.changes().Added(c.ctx, dir, name, kind)
	t := c.hold(c.cur.export, n)
	if st := c.stable(t.export, dir, n); st != proto.OK {
		return st
	}
	c.changeInfo(before, c.change(dir))
	c.r.Head = a.attrs.mask.Append(c.r.Head)
	c.setCurrent(t)
	return proto.OK
}

// notDir is the status of an operation on names below what is not a directory.
func notDir(st proto.Status) proto.Status {
	if st == proto.ErrSymlink {
		return proto.ErrNotDir
	}
	return st
}

// link is LINK (RFC 8881 18.9): of the saved filehandle into the current one.
func (c *compound) link() proto.Status {
	raw := c.d.Opaque(proto.MaxName)
	if c.badXDR() {
		return proto.ErrBadXDR
	}
	if st := c.directory(); st != proto.OK {
		return notDir(st)
	}
	switch {
	case c.saved.kind() == vfs.KindDirectory:
		return proto.ErrIsDir
	case c.saved.export != c.cur.export:
		return proto.ErrXDev
	}
	name, st := c.name(raw)
	if st != proto.OK {
		return st
	}
	dir := c.cur.node
	defer c.lockDir(&c.cur).Unlock()
	before := c.change(dir)
	if err := dir.Link(c.ctx, c.creds(), name, c.saved.node); err != nil {
		return statusOf(err)
	}
	c.changes().Added(c.ctx, dir, name, c.saved.kind())
	if st := c.stable(c.cur.export, dir, c.saved.node); st != proto.OK {
		return st
	}
	c.changeInfo(before, c.change(dir))
	return proto.OK
}

// remove is REMOVE (RFC 8881 18.25): of a directory or anything else.
func (c *compound) remove() proto.Status {
	raw := c.d.Opaque(proto.MaxName)
	if c.badXDR() {
		return proto.ErrBadXDR
	}
	if st := c.directory(); st != proto.OK {
		return notDir(st)
	}
	name, st := c.name(raw)
	if st != proto.OK {
		return st
	}
	if st := c.recallName(&c.cur, name); st != proto.OK {
		return st
	}
	dir, cred := c.cur.node, c.creds()
	defer c.lockDir(&c.cur).Unlock()
	before := c.change(dir)
	was := c.changes().Named(c.ctx, dir, name)
	err := dir.Remove(c.ctx, cred, name, false)
	if vfs.StatusOf(err) == vfs.ErrIsDir {
		err = dir.Remove(c.ctx, cred, name, true)
	}
	if err != nil {
		return statusOf(err)
	}
	c.changes().Removed(c.ctx, dir, name, was)
	if st := c.stable(c.cur.export, dir); st != proto.OK {
		return st
	}
	c.changeInfo(before, c.change(dir))
	return proto.OK
}

// rename is RENAME (RFC 8881 18.26): from the saved filehandle to the current one.
func (c *compound) rename() proto.Status {
	from, to := c.d.Opaque(proto.MaxName), c.d.Opaque(proto.MaxName)
	if c.badXDR() {
		return proto.ErrBadXDR
	}
	if st := c.directory(); st != proto.OK {
		return notDir(st)
	}
	switch {
	case c.saved.kind() != vfs.KindDirectory:
		return proto.ErrNotDir
	case c.saved.readOnly():
		return proto.ErrROFS
	case c.saved.export != c.cur.export:
		return proto.ErrXDev
	}
	oldName, st := c.name(from)
	if st != proto.OK {
		return st
	}
	newName, st := c.name(to)
	if st != proto.OK {
		return st
	}
	if st := c.recallName(&c.saved, oldName); st != proto.OK {
		return st
	}
	if st := c.recallName(&c.cur, newName); st != proto.OK {
		return st
	}
	src, dst := c.saved.node, c.cur.node
	one, two := c.srv.cfg.Locks.LockNames2(src.Identity(), dst.Identity())
	defer one.Unlock()
	defer two.Unlock()
	srcBefore, dstBefore := c.change(src), c.change(dst)
	told := c.changes()
	was, replaced := told.Named(c.ctx, src, oldName), told.Named(c.ctx, dst, newName)
	if err := src.Rename(c.ctx, c.creds(), oldName, dst, newName); err != nil {
		return statusOf(err)
	}
	told.Renamed(c.ctx, src, oldName, was, dst, newName, replaced)
	if st := c.stable(c.cur.export, src, dst); st != proto.OK {
		return st
	}
	c.changeInfo(srcBefore, c.change(src))
	c.changeInfo(dstBefore, c.change(dst))
	return proto.OK
}
