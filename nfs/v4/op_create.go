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
