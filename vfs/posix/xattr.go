package posix

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"fileserver/vfs"
)

// userXattr is the namespace all extended attributes are kept in.
const userXattr = "user."

// maxXattr is the longest value the kernel takes, bytes.
const maxXattr = 64 << 10

// xattr prepares a call: the path that leads to the object, and the whole name.
func (n *node) xattr(c *vfs.Cred, name string, want uint8) (path, full string, err error) {
	switch {
	case n.fs.closed.Load():
		return "", "", vfs.ErrIO
	case name == "" || strings.IndexByte(name, 0) >= 0:
		return "", "", vfs.ErrInvalid
	case len(userXattr)+len(name) > maxName:
		return "", "", vfs.ErrNameTooLong
	case n.kind != vfs.KindRegular && n.kind != vfs.KindDirectory:
		return "", "", vfs.ErrUnsupported
	}
	if err := n.require(c, want); err != nil {
		return "", "", err
	}
	var p cname
	p.setFD(n.fd)
	return p.String(), userXattr + name, nil
}

// GetXattr implements [vfs.Xattrer].
func (n *node) GetXattr(ctx context.Context, c *vfs.Cred, name string) ([]byte, error) {
	if err := n.fs.begin(ctx); err != nil {
		return nil, err
	}
	defer n.fs.budget.Leave()
	path, full, err := n.xattr(c, name, mayRead)
	if err != nil {
		return nil, err
	}
	var buf [512]byte
	l, err := unix.Getxattr(path, full, buf[:])
	if err == unix.ERANGE {
		big := make([]byte, maxXattr)
		if l, err = unix.Getxattr(path, full, big); err == nil {
			return slices.Clip(big[:l]), nil
		}
	}
	if err != nil {
		return nil, statusOf(err)
	}
	return bytes.Clone(buf[:l]), nil
}

// SetXattr implements [vfs.Xattrer].
func (n *node) SetXattr(ctx context.Context, c *vfs.Cred, name string, value []byte, flags vfs.XattrFlags) error {
	if err := n.fs.begin(ctx); err != nil {
		return err
	}
	defer n.fs.budget.Leave()
	path, full, err := n.xattr(c, name, mayWrite)
	if err != nil {
		return err
	}
	how := 0
	switch flags {
	case vfs.XattrCreate:
		how = unix.XATTR_CREATE
	case vfs.XattrReplace:
		how = unix.XATTR_REPLACE
	}
	err = n.as(c, func() error { return unix.Setxattr(path, full, value, how) })
	n.changed()
	return err
}

// RemoveXattr implements [vfs.Xattrer].
func (n *node) RemoveXattr(ctx context.Context, c *vfs.Cred, name string) error {
	if err := n.fs.begin(ctx); err != nil {
		return err
	}
	defer n.fs.budget.Leave()
	path, full, err := n.xattr(c, name, mayWrite)
	if err != nil {
		return err
	}
	err = n.as(c, func() error { return unix.Removexattr(path, full) })
	n.changed()
	return err
}

// ListXattrs implements [vfs.Xattrer].
func (n *node) ListXattrs(ctx context.Context, c *vfs.Cred) ([]string, error) {
	if err := n.fs.begin(ctx); err != nil {
		return nil, err
	}
	defer n.fs.budget.Leave()
	path, _, err := n.xattr(c, "x", mayRead)
	if err != nil {
		return nil, err
	}
	// Most objects have few. If there are no names, the kernel says so for any size of the buffer.
	buf := make([]byte, 512)
	l, err := unix.Listxattr(path, buf)
	if err == unix.ERANGE {
		buf = make([]byte, maxXattr)
		l, err = unix.Listxattr(path, buf)
	}
	if l == 0 && err == nil {
		return nil, nil
	}
	if err != nil {
		return nil, statusOf(err)
	}
	var names []string
	for full := range strings.SplitSeq(string(buf[:l]), "\x00") {
		if name, ok := strings.CutPrefix(full, userXattr); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}
