package mem

import (
	"context"

	"fileserver/vfs"
)

// Lookup implements [vfs.Node].
func (in *inode) Lookup(ctx context.Context, c *vfs.Cred, name string) (vfs.Node, error) {
	if err := in.fs.begin(ctx, OpLookup, in); err != nil {
		return nil, err
	}
	in.fs.ns.RLock()
	defer in.fs.ns.RUnlock()
	child, err := in.find(c, name)
	if err != nil {
		return nil, err
	}
	return child.ref(), nil
}

// find looks a name up for c. fs.ns is held.
func (in *inode) find(c *vfs.Cred, name string) (*inode, error) {
	if err := in.search(c); err != nil {
		return nil, err
	}
	if err := vfs.CheckName(name, maxName); err != nil {
		return nil, err
	}
	if child := in.dir.get(name); child != nil {
		return child, nil
	}
	return nil, vfs.ErrNotFound
}

// Parent implements [vfs.Node].
func (in *inode) Parent(ctx context.Context, c *vfs.Cred) (vfs.Node, error) {
	if err := in.fs.begin(ctx, OpParent, in); err != nil {
		return nil, err
	}
	in.fs.ns.RLock()
	defer in.fs.ns.RUnlock()
	if err := in.search(c); err != nil {
		return nil, err
	}
	if in.dead.Load() {
		return nil, vfs.ErrStale
	}
	return in.dir.parent.ref(), nil
}

// Create implements [vfs.Node].
func (in *inode) Create(ctx context.Context, c *vfs.Cred, name string, excl bool, s *vfs.SetAttr) (vfs.Node, bool, error) {
	n, created, err := in.make(ctx, c, OpCreate, name, s, &inode{kind: vfs.KindRegular}, excl)
	if err != nil {
		return nil, false, err
	}
	return n, created, nil
}

// Mkdir implements [vfs.Node].
func (in *inode) Mkdir(ctx context.Context, c *vfs.Cred, name string, s *vfs.SetAttr) (vfs.Node, error) {
	return in.makeNew(ctx, c, OpMkdir, name, s, &inode{kind: vfs.KindDirectory})
}

// Symlink implements [vfs.Node].
func (in *inode) Symlink(ctx context.Context, c *vfs.Cred, name, target string, s *vfs.SetAttr) (vfs.Node, error) {
	switch {
	case target == "":
		return nil, vfs.ErrInvalid
	case len(target) >= 4096:
		return nil, vfs.ErrNameTooLong
	}
	return in.makeNew(ctx, c, OpSymlink, name, s, &inode{kind: vfs.KindSymlink, target: target})
}

// Mknod implements [vfs.Node]. Devices are for uid 0.
func (in *inode) Mknod(ctx context.Context, c *vfs.Cred, name string, kind vfs.Kind, dev vfs.Dev, s *vfs.SetAttr) (vfs.Node, error) {
	switch kind {
	case vfs.KindFIFO, vfs.KindSocket:
		dev = vfs.Dev{}
	case vfs.KindBlock, vfs.KindChar:
		if c.UID != 0 {
			return nil, vfs.ErrPerm
		}
	default:
		return nil, vfs.ErrWrongType
	}
	return in.makeNew(ctx, c, OpMknod, name, s, &inode{kind: kind, attr: vfs.Attr{Rdev: dev}})
}

func (in *inode) makeNew(ctx context.Context, c *vfs.Cred, op Op, name string, s *vfs.SetAttr, like *inode) (vfs.Node, error) {
	n, _, err := in.make(ctx, c, op, name, s, like, true)
	if err != nil {
		return nil, err
	}
	return n, nil
}

// make makes an object of the kind, target and device of like.
func (in *inode) make(ctx context.Context, c *vfs.Cred, op Op, name string, s *vfs.SetAttr, like *inode, excl bool) (*inode, bool, error) {
	fs := in.fs
	if err := fs.begin(ctx, op, in); err != nil {
		return nil, false, err
	}
	if s == nil {
		s = &vfs.SetAttr{}
	}
	fs.ns.Lock()
	defer fs.ns.Unlock()
	switch there, err := in.find(c, name); {
	case err == nil && excl:
		return nil, false, vfs.ErrExist
	case err == nil:
		return there.ref(), false, nil
	case err != vfs.ErrNotFound:
		return nil, false, err
	case in.dead.Load():
		return nil, false, vfs.ErrNotFound
	}
	parent := in.getattr()
	if !permits(&parent, c, mayWrite|mayExec) {
		return nil, false, vfs.ErrAccess
	}
	isDir := like.kind == vfs.KindDirectory
	if isDir && parent.Nlink >= fs.opt.MaxLink {
		return nil, false, vfs.ErrMaxLink
	}
	t := now()
	child := fs.newInode(like.kind, t)
	child.target, child.attr.Rdev = like.target, like.attr.Rdev
	child.own(c, &parent)
	if err := child.mayChange(c, s, true); err != nil {
		return nil, false, err
	}
	if fs.closed.Load() {
		return nil, false, vfs.ErrIO
	}
	if n := fs.count.Add(1); fs.opt.MaxFiles > 0 && n > fs.opt.MaxFiles {
		fs.count.Add(-1)
		return nil, false, vfs.ErrNoSpace
	}
	child.furnish(c, s, &parent, t)
	if isDir {
		child.dir = newDir(in)
	}

	fs.journal.names(change{in, name}, in, child)
	fs.enter(child)
	in.dir.add(name, child)
	if isDir {
		in.modified(1, t)
	} else {
		in.modified(0, t)
	}
	return child.ref(), true, nil
}

// own gives a new object its owner and group: those of c, but the group of a set-gid directory.
func (in *inode) own(c *vfs.Cred, parent *vfs.Attr) {
	in.attr.UID, in.attr.GID = c.UID, c.GID
	if parent.Mode&modeSetGID != 0 {
		in.attr.GID = parent.GID
	}
}

// furnish sets the attributes a new object is made with.
func (in *inode) furnish(c *vfs.Cred, s *vfs.SetAttr, parent *vfs.Attr, t vfs.Time) {
	a := &in.attr
	first := *s
	first.Mask &^= vfs.AttrMode
	mode := uint32(0)
	if s.Mask&vfs.AttrMode != 0 {
		mode = s.Mode & 0o7777
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if first.Mask&vfs.AttrSize != 0 {
		in.truncate(s.Size)
	}
	in.change(c, &first, t)
	switch in.kind {
	case vfs.KindSymlink:
		a.Mode, a.Size = 0o777, uint64(len(in.target))
	case vfs.KindDirectory:
		a.Nlink = 2
		a.Mode = mode&0o1777 | parent.Mode&modeSetGID
	default:
		if c.UID != 0 && !c.InGroup(a.GID) {
			mode &^= modeSetGID
		}
		a.Mode = mode
	}
}
