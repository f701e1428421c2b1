package posix

import (
	"context"

	"golang.org/x/sys/unix"

	"fileserver/vfs"
)

// up opens the directory above. It does not leave a mount: for the root of a mount it opens the root itself.
func up(fd int) (int, unix.Errno) {
	var dots cname
	dots.set("..")
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV,
	}
	return openat2(fd, &dots, &how)
}

// climb reports whether the directory of fd is the root or beneath it: [vfs.ErrStale] if not.
func (fs *FS) climb(fd int) error {
	var st unix.Statx_t
	if e := statxFD(fs.root.fd, unix.STATX_INO, &st); e != 0 {
		return status(e)
	}
	root, last := st.Ino, st
	for at, first := fd, true; ; first = false {
		e := statxFD(at, unix.STATX_INO, &st)
		inside := e == 0 && st.Ino == root && devOf(&st) == fs.dev
		top := e == 0 && !first && st.Ino == last.Ino && devOf(&st) == devOf(&last)
		next := -1
		if e == 0 && !inside && !top {
			last = st // with the device: subvolumes have roots of the same number
			next, e = up(at)
		}
		if !first {
			_ = unix.Close(at)
		}
		switch {
		case inside:
			return nil
		case top, e == unix.EXDEV, e == unix.ENOENT:
			return vfs.ErrStale
		case e != 0:
			return status(e)
		}
		at = next
	}
}

// stillBelow checks that the directory is still beneath the root, because local programs may have moved it away. It
// does so at most once per tick.
func (n *node) stillBelow(ctx context.Context) error {
	now := n.fs.tick.Load() | 1<<31 // never 0
	if n == n.fs.root || n.below.Load() == now {
		return nil
	}
	if err := n.fs.begin(ctx); err != nil {
		return err
	}
	defer n.fs.budget.Leave()
	if err := n.fs.climb(n.fd); err != nil {
		return err
	}
	n.below.Store(now)
	return nil
}

// Find implements [vfs.Finder].
func (fs *FS) Find(_ context.Context, dir vfs.Node) (vfs.Node, error) {
	d, ok := dir.(*node)
	if !ok || d.kind != vfs.KindDirectory {
		return nil, vfs.ErrNotFound
	}
	if err := fs.enter(); err != nil {
		return nil, err
	}
	defer fs.life.RUnlock()
	if d.object == fs.root.object {
		fs.cache.hold(fs.root)
		return fs.root, nil
	}
	fd, err := fs.retryFDs(func() (int, error) {
		fd, err := unix.FcntlInt(uintptr(d.fd), unix.F_DUPFD_CLOEXEC, 0)
		return fd, statusOf(err)
	})
	if err != nil {
		return nil, err
	}
	if err := fs.climb(fd); err != nil {
		_ = unix.Close(fd)
		return nil, vfs.ErrNotFound
	}
	n, err := fs.adopt(fd)
	if err != nil {
		return nil, err
	}
	return n, nil
}

// Parent implements [vfs.Node].
func (n *node) Parent(ctx context.Context, c *vfs.Cred) (vfs.Node, error) {
	if err := n.fs.begin(ctx); err != nil {
		return nil, err
	}
	defer n.fs.budget.Leave()
	if err := n.directory(); err != nil {
		return nil, err
	}
	if n == n.fs.root {
		n.fs.cache.hold(n)
		return n, nil
	}
	if err := n.require(c, mayExec); err != nil {
		return nil, err
	}
	fd, err := n.fs.retryFDs(func() (int, error) {
		fd, e := up(n.fd)
		if e == unix.EXDEV {
			return -1, vfs.ErrStale
		}
		return fd, status(e)
	})
	if err == vfs.ErrNotFound {
		err = vfs.ErrStale // removed
	}
	if err != nil {
		return nil, err
	}
	if err := n.fs.climb(fd); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	p, err := n.fs.adopt(fd)
	if err != nil {
		return nil, err
	}
	return p, nil
}
