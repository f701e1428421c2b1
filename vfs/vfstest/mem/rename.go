package mem

import (
	"context"

	"fileserver/vfs"
)

// Rename implements [vfs.Node].
func (in *inode) Rename(ctx context.Context, c *vfs.Cred, from string, toDir vfs.Node, to string) error {
	fs := in.fs
	if err := fs.begin(ctx, OpRename, in); err != nil {
		return err
	}
	dst, ok := toDir.(*inode)
	if !ok || dst.fs != fs {
		return vfs.ErrXDev
	}
	fs.ns.Lock()
	defer fs.ns.Unlock()
	src, err := in.find(c, from)
	if err != nil {
		return err
	}
	old, err := dst.find(c, to)
	if err != nil && err != vfs.ErrNotFound {
		return err
	}
	if src.kind == vfs.KindDirectory && src.contains(dst) {
		return vfs.ErrInvalid
	}
	if old != nil && old.kind == vfs.KindDirectory && old != in && old.contains(in) || old == in {
		return vfs.ErrNotEmpty
	}
	if old == src { // two names of one object: rename(2) does nothing
		return nil
	}
	if err := mayRename(c, in, src, dst, old); err != nil {
		return err
	}
	if fs.closed.Load() {
		return vfs.ErrIO
	}
	fs.rename(in, from, src, dst, to, old)
	return nil
}

// contains reports whether sub is in or below it. fs.ns is held.
func (in *inode) contains(sub *inode) bool {
	for {
		if sub == in {
			return true
		}
		if sub.dir.parent == sub {
			return false
		}
		sub = sub.dir.parent
	}
}

// mayRename checks permissions and types in the order Linux does.
func mayRename(c *vfs.Cred, from, src, to, old *inode) error {
	if err := from.mayRemove(c, src); err != nil {
		return err
	}
	srcDir := src.kind == vfs.KindDirectory
	if old == nil {
		if to.dead.Load() {
			return vfs.ErrNotFound
		}
		if !to.permits(c, mayWrite|mayExec) {
			return vfs.ErrAccess
		}
	} else {
		if err := to.mayRemove(c, old); err != nil {
			return err
		}
		switch oldDir := old.kind == vfs.KindDirectory; {
		case srcDir && !oldDir:
			return vfs.ErrNotDir
		case !srcDir && oldDir:
			return vfs.ErrIsDir
		}
	}
	if srcDir && from != to {
		if !src.permits(c, mayWrite) { // its ".." changes
			return vfs.ErrAccess
		}
		if old == nil && to.getattr().Nlink >= to.fs.opt.MaxLink {
			return vfs.ErrMaxLink
		}
	}
	if old != nil && srcDir && len(old.dir.names) > 0 {
		return vfs.ErrNotEmpty
	}
	return nil
}

// rename does what was checked. A replaced entry keeps its cookie.
func (fs *FS) rename(from *inode, name string, src, to *inode, toName string, old *inode) {
	touched := []*inode{from, src, to}
	if old != nil {
		touched = append(touched, old)
		old.refs.Add(1) // until it is marked dead
	}
	fs.journal.rename(change{from, name}, change{to, toName}, touched)
	t := now()
	from.dir.remove(name)
	if old != nil {
		to.dir.names[toName].in = src
	} else {
		to.dir.add(toName, src)
	}
	gone, come := 0, 0 // subdirectories
	if src.kind == vfs.KindDirectory {
		src.dir.parent = to
		gone = -1
		if old == nil {
			come = 1
		}
	}
	if from == to {
		from.modified(gone+come, t)
	} else {
		from.modified(gone, t)
		to.modified(come, t)
	}
	src.relink(0, t)
	if old != nil {
		old.unname(t)
		old.unref()
	}
}
