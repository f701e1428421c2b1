package posix

import (
	"context"

	"golang.org/x/sys/unix"

	"fileserver/vfs"
)

// refresh checks whether the object still has a name after one was removed. If it has none and is not in use,
// refresh frees its storage at once.
func (n *node) refresh() {
	n.changed()
	var st unix.Statx_t
	if n.statx(unix.STATX_NLINK, &st) != nil || st.Nlink > 0 {
		return
	}
	n.fs.loc.forget(n)
	if n.opens.Load() == 0 {
		n.closeData()
	}
}

// victim returns the object whose name is about to be removed, or nil if there is none.
func (n *node) victim(name string) (*node, error) {
	v, err := n.peek(name)
	if err == vfs.ErrNotFound {
		return nil, nil
	}
	return v, err
}

// entry returns the object whose name c wants to remove, and checks that c may search the directory.
func (n *node) entry(c *vfs.Cred, name string) (*node, error) {
	if err := n.require(c, mayExec); err != nil {
		return nil, err
	}
	return n.peek(name)
}

// Remove implements [vfs.Node].
func (n *node) Remove(ctx context.Context, c *vfs.Cred, name string, dir bool) error {
	if err := n.fs.begin(ctx); err != nil {
		return err
	}
	defer n.fs.budget.Leave()
	if err := n.named(name); err != nil {
		return err
	}
	v, err := n.entry(c, name)
	if err != nil {
		return err
	}
	defer v.Release()
	if err := n.mayChangeNames(c); err != nil {
		return err
	}
	if err := n.maySticky(c, v); err != nil {
		return err
	}
	flags := 0
	if dir {
		flags = unix.AT_REMOVEDIR
	}
	err = n.as(c, func() error { return unix.Unlinkat(n.fd, name, flags) })
	if err == vfs.ErrExist { // POSIX allows EEXIST for a directory that is not empty
		err = vfs.ErrNotEmpty
	}
	if err != nil {
		return err
	}
	n.changed()
	v.refresh()
	return nil
}

// ours returns other as a node of this file system.
func (n *node) ours(other vfs.Node) (*node, error) {
	o, ok := other.(*node)
	if !ok || o.fs != n.fs {
		return nil, vfs.ErrXDev
	}
	return o, nil
}

// Link implements [vfs.Node].
func (n *node) Link(ctx context.Context, c *vfs.Cred, name string, target vfs.Node) error {
	if err := n.fs.begin(ctx); err != nil {
		return err
	}
	defer n.fs.budget.Leave()
	t, err := n.ours(target)
	if err != nil {
		return err
	}
	if err := n.named(name); err != nil {
		return err
	}
	if t.kind == vfs.KindDirectory {
		return vfs.ErrIsDir
	}
	if err := n.mayLink(c, t); err != nil {
		return n.exists(c, name, err)
	}
	var path cname
	path.setInt(0, t.fd)
	// AT_EMPTY_PATH would need CAP_DAC_READ_SEARCH; the link in /proc leads to the object itself, even to a symbolic link.
	err = n.as(c, func() error { return unix.Linkat(n.fs.proc, path.String(), n.fd, name, unix.AT_SYMLINK_FOLLOW) })
	if err == vfs.ErrNotFound && t.isGone() {
		return vfs.ErrStale
	}
	if err != nil {
		return n.orStale(err)
	}
	n.changed()
	t.changed()
	n.fs.loc.note(t, &n.id, name)
	return nil
}

func (n *node) isGone() bool {
	var st unix.Statx_t
	return n.statx(unix.STATX_NLINK, &st) == nil && st.Nlink == 0
}

// Rename implements [vfs.Node].
func (n *node) Rename(ctx context.Context, c *vfs.Cred, from string, toDir vfs.Node, to string) error {
	if err := n.fs.begin(ctx); err != nil {
		return err
	}
	defer n.fs.budget.Leave()
	d, err := n.ours(toDir)
	if err != nil {
		return err
	}
	if err := n.named(from); err != nil {
		return err
	}
	if err := d.named(to); err != nil {
		return err
	}
	if err := d.require(c, mayExec); err != nil {
		return err
	}
	moved, err := n.entry(c, from)
	if err != nil {
		return err
	}
	defer moved.Release()
	old, err := d.victim(to)
	if err != nil {
		return err
	}
	if old != nil {
		defer old.Release()
	}
	if err := n.mayMove(c, d, moved, old); err != nil {
		return err
	}
	if err := n.as(c, func() error { return unix.Renameat2(n.fd, from, d.fd, to, 0) }); err != nil {
		return d.orStale(err)
	}
	if old == moved { // both are names of one object, so rename(2) changes nothing
		return nil
	}
	n.changed()
	d.changed()
	moved.changed()
	if old != nil {
		old.refresh()
	}
	n.fs.loc.note(moved, &d.id, to)
	return nil
}
