package posix

import (
	"context"

	"golang.org/x/sys/unix"

	"fileserver/vfs"
)

// defaultMode is the mode of objects created without one: access for the owner only.
const (
	defaultFileMode = 0o600
	defaultDirMode  = 0o700
)

func modeOf(s *vfs.SetAttr, otherwise uint32) uint32 {
	if s != nil && s.Mask&vfs.AttrMode != 0 {
		return s.Mode & 0o7777
	}
	return otherwise
}

// named does the checks that all calls with the name of an entry need.
func (n *node) named(name string) error {
	if err := n.directory(); err != nil {
		return err
	}
	return checkName(name)
}

// exists returns the error of creating a name that c may not create. It is ErrExist if the name exists and c may
// know that, otherwise err.
func (n *node) exists(c *vfs.Cred, name string, err error) error {
	if err != vfs.ErrAccess || c.UID != 0 && n.require(c, mayExec) != nil {
		return err
	}
	var b cname
	var st unix.Statx_t
	b.set(name)
	if statxAt(n.fd, &b, unix.STATX_TYPE, &st) == 0 {
		return vfs.ErrExist
	}
	return err
}

// Create implements [vfs.Node].
func (n *node) Create(ctx context.Context, c *vfs.Cred, name string, excl bool, s *vfs.SetAttr) (vfs.Node, bool, error) {
	if err := n.fs.begin(ctx); err != nil {
		return nil, false, err
	}
	defer n.fs.budget.Leave()
	if err := n.named(name); err != nil {
		return nil, false, err
	}
	for try := 0; ; try++ {
		in, err := n.createNew(c, name, s)
		if err == nil {
			return in, true, nil
		}
		if err != vfs.ErrExist || excl {
			return nil, false, err
		}
		if err := n.require(c, mayExec); err != nil {
			return nil, false, err
		}
		in, err = n.child(name)
		if err == nil {
			return in, false, nil
		}
		if err != vfs.ErrNotFound || try > 16 { // it was removed in between: try again to create it
			return nil, false, err
		}
	}
}

func (n *node) createNew(c *vfs.Cred, name string, s *vfs.SetAttr) (*node, error) {
	if err := n.mayChangeNames(c); err != nil {
		return nil, n.exists(c, name, err)
	}
	var b cname
	b.set(name)
	fd, err := n.fs.retryFDs(func() (fd int, err error) {
		fd = -1
		err = n.fs.as(c, func() error {
			how := unix.OpenHow{
				Flags:   unix.O_RDWR | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC,
				Mode:    uint64(modeOf(s, defaultFileMode)),
				Resolve: beneath,
			}
			var e unix.Errno
			if fd, e = openBeneath(n.fd, &b, &how); e == unix.EXDEV { // something is mounted there
				e = unix.EEXIST
			}
			return status(e)
		})
		return fd, err
	})
	if err != nil {
		return nil, n.orStale(err)
	}
	n.changed()
	// The node's own descriptor is opened through the file that was created, because the name may be another file's
	// by now.
	b.setInt(0, fd)
	path, err := n.fs.retryFDs(func() (int, error) {
		p, e := openat(n.fs.proc, &b, unix.O_PATH|unix.O_CLOEXEC)
		return p, status(e)
	})
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	in, err := n.fs.adopt(path)
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	// A caller that created a file may write it, even if its mode forbids that.
	in.keep(slotRW, fd)
	n.fs.loc.note(in, &n.id, name)
	return in, n.finish(c, in, name, s, vfs.AttrMode)
}

// finish sets the attributes that a new object was not created with, and removes the object if that fails.
func (n *node) finish(c *vfs.Cred, in *node, name string, s *vfs.SetAttr, made vfs.AttrMask) error {
	if s == nil {
		return nil
	}
	rest := *s
	rest.Mask &^= made
	rest.GuardCtime = nil
	if rest.Mask == 0 && !rest.AtimeNow && !rest.MtimeNow {
		return nil
	}
	err := in.setAttr(c, &rest)
	if err != nil {
		n.undo(in, name)
		in.Release()
	}
	return err
}

// undo removes a name if it is still that of the object.
func (n *node) undo(in *node, name string) {
	if now, err := n.peek(name); err == nil {
		if now == in {
			flags := 0
			if in.kind == vfs.KindDirectory {
				flags = unix.AT_REMOVEDIR
			}
			_ = unix.Unlinkat(n.fd, name, flags)
			n.changed()
			in.refresh()
		}
		now.Release()
	}
}

// make runs the call that creates a name as c, and opens the new object.
func (n *node) make(c *vfs.Cred, name string, call func() error) (*node, error) {
	if err := n.named(name); err != nil {
		return nil, err
	}
	if err := n.mayChangeNames(c); err != nil {
		return nil, n.exists(c, name, err)
	}
	if err := n.as(c, call); err != nil {
		return nil, n.orStale(err)
	}
	n.changed()
	return n.child(name)
}

// as runs a call as c.
func (n *node) as(c *vfs.Cred, call func() error) error {
	return n.fs.as(c, func() error { return statusOf(again(call)) })
}

// Mkdir implements [vfs.Node].
func (n *node) Mkdir(ctx context.Context, c *vfs.Cred, name string, s *vfs.SetAttr) (vfs.Node, error) {
	if err := n.fs.begin(ctx); err != nil {
		return nil, err
	}
	defer n.fs.budget.Leave()
	mode := modeOf(s, defaultDirMode)
	in, err := n.make(c, name, func() error { return unix.Mkdirat(n.fd, name, mode) })
	if err != nil {
		return nil, err
	}
	// mkdir(2) ignores set-id bits: set-gid is inherited.
	if err := n.finish(c, in, name, s, vfs.AttrMode); err != nil {
		return nil, err
	}
	return in, nil
}

// Symlink implements [vfs.Node].
func (n *node) Symlink(ctx context.Context, c *vfs.Cred, name, target string, s *vfs.SetAttr) (vfs.Node, error) {
	if err := n.fs.begin(ctx); err != nil {
		return nil, err
	}
	defer n.fs.budget.Leave()
	if target == "" {
		return nil, vfs.ErrInvalid
	}
	in, err := n.make(c, name, func() error { return unix.Symlinkat(target, n.fd, name) })
	if err != nil {
		return nil, err
	}
	// Links have no mode of their own, nor a size to set.
	if err := n.finish(c, in, name, s, vfs.AttrMode|vfs.AttrSize); err != nil {
		return nil, err
	}
	return in, nil
}

// Mknod implements [vfs.Node].
func (n *node) Mknod(ctx context.Context, c *vfs.Cred, name string, kind vfs.Kind, dev vfs.Dev, s *vfs.SetAttr) (vfs.Node, error) {
	if err := n.fs.begin(ctx); err != nil {
		return nil, err
	}
	defer n.fs.budget.Leave()
	mode := modeOf(s, defaultFileMode)
	number := 0
	switch kind {
	case vfs.KindFIFO:
		mode |= unix.S_IFIFO
	case vfs.KindSocket:
		mode |= unix.S_IFSOCK
	case vfs.KindBlock, vfs.KindChar:
		mode |= unix.S_IFCHR
		if kind == vfs.KindBlock {
			mode = mode&^unix.S_IFMT | unix.S_IFBLK
		}
		if c.UID != 0 {
			return nil, vfs.ErrPerm
		}
		number = int(unix.Mkdev(dev.Major, dev.Minor))
	default:
		return nil, vfs.ErrWrongType
	}
	in, err := n.make(c, name, func() error { return unix.Mknodat(n.fd, name, mode, number) })
	if err != nil {
		return nil, err
	}
	if err := n.finish(c, in, name, s, vfs.AttrMode|vfs.AttrSize); err != nil {
		return nil, err
	}
	return in, nil
}

// Readlink implements [vfs.Node].
func (n *node) Readlink(ctx context.Context, _ *vfs.Cred) (string, error) {
	if err := n.fs.begin(ctx); err != nil {
		return "", err
	}
	defer n.fs.budget.Leave()
	if n.fs.closed.Load() {
		return "", vfs.ErrIO
	}
	if n.kind != vfs.KindSymlink {
		return "", vfs.ErrInvalid
	}
	var buf [unix.PathMax]byte
	l, err := unix.Readlinkat(n.fd, "", buf[:])
	if err != nil {
		return "", statusOf(err)
	}
	return string(buf[:l]), nil
}
