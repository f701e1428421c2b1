package posix

import (
	"context"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"fileserver/vfs"
)

// Where implements [vfs.Namer], as far as the kernel remembers the name by which the object was reached.
func (n *node) Where(ctx context.Context) (vfs.Node, string, error) {
	if n.fs.closed.Load() {
		return nil, "", vfs.ErrIO
	}
	if n == n.fs.root {
		return nil, "", vfs.ErrNotFound
	}
	rel, err := n.fs.pathOf(n.fd)
	if err != nil {
		return nil, "", err
	}
	elems := strings.Split(rel, "/")
	system := &vfs.Cred{}
	dir, err := n.fs.Root(ctx)
	for _, e := range elems[:len(elems)-1] {
		if err != nil {
			return nil, "", err
		}
		up := dir
		dir, err = up.Lookup(ctx, system, e)
		up.Release()
	}
	if err != nil {
		return nil, "", err
	}
	name := elems[len(elems)-1]
	in, err := dir.Lookup(ctx, system, name)
	if err == nil {
		if in.Handle() != n.h {
			err = vfs.ErrNotFound
		}
		in.Release()
	}
	if err != nil {
		dir.Release()
		return nil, "", err
	}
	return dir, name, nil
}

// pathOf returns the path of a descriptor's object below the root, as the kernel knows it; it may be out of date.
func (fs *FS) pathOf(fd int) (string, error) {
	root, err := fs.link(fs.mount)
	if err != nil {
		return "", err
	}
	p, err := fs.link(fd)
	if err != nil {
		return "", err
	}
	rel, ok := strings.CutPrefix(p, strings.TrimSuffix(root, "/")+"/")
	if !ok || rel == "" || path.Clean(rel) != rel {
		return "", vfs.ErrNotFound
	}
	return rel, nil
}

// link is where a descriptor's object is in the process's view.
func (fs *FS) link(fd int) (string, error) {
	var buf [unix.PathMax]byte
	n, err := unix.Readlinkat(fs.proc, strconv.Itoa(fd), buf[:])
	if err != nil {
		return "", statusOf(err)
	}
	if n == len(buf) {
		return "", vfs.ErrNotFound
	}
	return string(buf[:n]), nil
}
