package mem

import (
	"context"

	"fileserver/vfs"
)

// Link implements [vfs.Node]. A directory fails with [vfs.ErrIsDir].
func (in *inode) Link(ctx context.Context, c *vfs.Cred, name string, target vfs.Node) error {
	fs := in.fs
	if err := fs.begin(ctx, OpLink, in); err != nil {
		return err
	}
	t, ok := target.(*inode)
	if !ok || t.fs != fs {
		return vfs.ErrXDev
	}
	fs.ns.Lock()
	defer fs.ns.Unlock()
	switch _, err := in.find(c, name); {
	case err == nil:
		return vfs.ErrExist
	case err != vfs.ErrNotFound:
		return err
	case t.kind == vfs.KindDirectory:
		return vfs.ErrIsDir
	case in.dead.Load() || t.dead.Load():
		return vfs.ErrNotFound
	case !in.permits(c, mayWrite|mayExec):
		return vfs.ErrAccess
	case t.getattr().Nlink >= fs.opt.MaxLink:
		return vfs.ErrMaxLink
	case fs.closed.Load():
		return vfs.ErrIO
	}
	fs.journal.names(change{in, name}, in, t)
	in.dir.add(name, t)
	at := now()
	t.relink(1, at)
	in.modified(0, at)
	return nil
}

// relink changes the number of names of an object. fs.ns is held for writing.
func (in *inode) relink(n int, t vfs.Time) {
	in.mu.Lock()
	in.attr.Nlink = uint32(int(in.attr.Nlink) + n)
	in.touch(t)
	in.mu.Unlock()
}

// modified notes that a directory's entries changed, and its number of subdirectories by n.
func (in *inode) modified(n int, t vfs.Time) {
	in.mu.Lock()
	in.attr.Nlink = uint32(int(in.attr.Nlink) + n)
	in.touchData(t)
	in.mu.Unlock()
}

// Remove implements [vfs.Node].
func (in *inode) Remove(ctx context.Context, c *vfs.Cred, name string, dir bool) error {
	fs := in.fs
	if err := fs.begin(ctx, OpRemove, in); err != nil {
		return err
	}
	fs.ns.Lock()
	defer fs.ns.Unlock()
	victim, err := in.find(c, name)
	if err != nil {
		return err
	}
	if err := in.mayRemove(c, victim); err != nil {
		return err
	}
	isDir := victim.kind == vfs.KindDirectory
	switch {
	case dir && !isDir:
		return vfs.ErrNotDir
	case !dir && isDir:
		return vfs.ErrIsDir
	case isDir && len(victim.dir.names) > 0:
		return vfs.ErrNotEmpty
	case fs.closed.Load():
		return vfs.ErrIO
	}
	fs.journal.names(change{in, name}, in, victim)
	victim.refs.Add(1) // until it is marked dead
	t := now()
	in.dir.remove(name)
	if isDir {
		in.modified(-1, t)
	} else {
		in.modified(0, t)
	}
	victim.unname(t)
	victim.unref()
	return nil
}

// unname takes a name away from an object, which may be its last. fs.ns is held for writing.
func (in *inode) unname(t vfs.Time) {
	n := -1
	if in.kind == vfs.KindDirectory {
		n = -2
	}
	in.relink(n, t)
	if in.getattr().Nlink == 0 {
		in.dead.Store(true)
	}
}
