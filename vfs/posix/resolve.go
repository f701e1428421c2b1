package posix

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"

	"fileserver/vfs"
)

// locator opens objects by their authenticated identities.
type locator interface {
	// open returns an O_PATH descriptor; ErrStale if there is no such object any more.
	open(id *identity) (int, error)
	// note records that the object of n was seen under this name.
	note(n *node, parent *identity, name string)
	// noteID is note for an object without a node; name is copied.
	noteID(id identity, parent *identity, name string)
	// forget records that the object does not exist any more.
	forget(n *node)
	close() error
}

// identifier makes identities.
type identifier struct {
	native bool // idNative, otherwise idTable
	handle bool // the verifier of idTable is the kernel's handle
}

func (i identifier) identify(fd int, st *unix.Statx_t) (identity, error) {
	var h fileHandle
	if i.native || i.handle {
		if e := nameToHandle(fd, &h); e != 0 {
			return identity{}, status(e)
		}
	}
	switch {
	case i.native:
		id, ok := nativeIdentity(&h)
		if !ok {
			return id, fmt.Errorf("%w: handle of the kernel too long (%d bytes)", vfs.ErrServerFault, h.size)
		}
		return id, nil
	case i.handle:
		return tableIdentity(st, &h), nil
	}
	return tableIdentity(st, nil), nil
}

// chooseIdentity sets fs.ids by what works for the root, open as fd.
func (fs *FS) chooseIdentity(mode HandleMode, fd int, fsType int64) error {
	var h fileHandle
	e := nameToHandle(fd, &h)
	// A FUSE daemon forgets its handles when it restarts.
	fs.ids.handle = e == 0 && fsType != unix.FUSE_SUPER_MAGIC
	if mode != HandleTable && fs.ids.handle {
		if _, ok := nativeIdentity(&h); ok {
			again, e := openByHandle(fs.mount, &h, unix.O_PATH|unix.O_CLOEXEC)
			if e == 0 {
				_ = unix.Close(again)
				fs.ids.native = true
			}
		}
	}
	if mode == HandleNative && !fs.ids.native {
		return errNoNative
	}
	return nil
}

// kernelLocator is the locator of HandleNative.
type kernelLocator struct{ fs *FS }

func (l kernelLocator) open(id *identity) (int, error) {
	var h fileHandle
	id.kernelHandle(&h)
	fd, e := openByHandle(l.fs.mount, &h, unix.O_PATH|unix.O_CLOEXEC)
	switch e {
	case 0:
		return fd, nil
	case unix.EINVAL, unix.ENOENT:
		return -1, vfs.ErrStale
	}
	return -1, status(e)
}

func (kernelLocator) note(*node, *identity, string)      {}
func (kernelLocator) noteID(identity, *identity, string) {}
func (kernelLocator) forget(*node)                       {}
func (kernelLocator) close() error                       { return nil }

// openLocator sets fs.loc. tag distinguishes this root and share from others in the state directory.
func (fs *FS) openLocator(cfg *Config, tag []byte) (err error) {
	if fs.ids.native {
		fs.loc = kernelLocator{fs}
		return nil
	}
	fs.loc, err = openTable(fs, cfg.StateDir, tag)
	return err
}

// Resolve implements [vfs.FS].
func (fs *FS) Resolve(ctx context.Context, h vfs.Handle) (vfs.Node, error) {
	if fs.closed.Load() {
		return nil, vfs.ErrIO
	}
	id, mac, ok := parse(&h)
	if !ok {
		return nil, vfs.ErrBadHandle
	}
	n := fs.cache.get(&id)
	if n == nil {
		if !fs.sign.verify(&id, &mac) {
			return nil, vfs.ErrStale
		}
		var err error
		if n, err = fs.resolveSlow(ctx, id); err != nil {
			return nil, err
		}
	}
	if err := n.usable(ctx, &h); err != nil {
		n.Release()
		return nil, err
	}
	return n, nil
}

// usable reports whether a node found by the handle may be given out.
func (n *node) usable(ctx context.Context, h *vfs.Handle) error {
	if n.h != *h {
		return vfs.ErrStale // a forged end
	}
	if n.gone.Load() && n.opens.Load() == 0 {
		return vfs.ErrStale
	}
	if n.kind == vfs.KindDirectory {
		return n.stillBelow(ctx)
	}
	return nil
}

func (fs *FS) resolveSlow(ctx context.Context, id identity) (*node, error) {
	if err := fs.begin(ctx); err != nil {
		return nil, err
	}
	defer fs.budget.Leave()
	if err := fs.enter(); err != nil {
		return nil, err
	}
	defer fs.life.RUnlock()
	fd, err := fs.retryFDs(func() (int, error) { return fs.loc.open(&id) })
	if err != nil {
		return nil, err
	}
	var st unix.Statx_t
	if e := statxFD(fd, statPerm|unix.STATX_INO|unix.STATX_BTIME, &st); e != 0 {
		_ = unix.Close(fd)
		return nil, status(e)
	}
	if st.Nlink == 0 {
		_ = unix.Close(fd)
		return nil, vfs.ErrStale
	}
	return fs.intern(fd, &id, &st), nil
}

// adopt returns the node for an O_PATH descriptor: a new one, or the one in the cache. It owns fd.
func (fs *FS) adopt(fd int) (*node, error) {
	var st unix.Statx_t
	if e := statxFD(fd, statPerm|unix.STATX_INO|unix.STATX_BTIME, &st); e != 0 {
		_ = unix.Close(fd)
		return nil, status(e)
	}
	id, err := fs.ids.identify(fd, &st)
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	if n := fs.cache.get(&id); n != nil {
		_ = unix.Close(fd)
		return n, nil
	}
	return fs.intern(fd, &id, &st), nil
}

func (fs *FS) intern(fd int, id *identity, st *unix.Statx_t) *node {
	n := &node{fs: fs, id: *id, h: fs.sign.sign(id), object: identityOf(st), kind: kindOf(st.Mode), fd: fd}
	n.learn(st)
	fs.live.Add(1)
	if in := fs.cache.put(n); in != n {
		n.destroy()
		return in
	}
	return n
}

// retryFDs calls open. If there are no descriptors left and it can close unused ones, it calls open again.
func (fs *FS) retryFDs(open func() (int, error)) (int, error) {
	fd, err := open()
	for try := 0; err == vfs.ErrTooManyFiles && try < 4; try++ {
		if fs.open.shrink(64)+fs.cache.shrink(64) == 0 {
			break
		}
		fd, err = open()
	}
	return fd, err
}

// beneath are the flags to open a name in a directory: no symbolic link is followed and no mount is entered.
const beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV

// openPath opens the object of a name in the directory, O_PATH: EXDEV if something is mounted there.
func openPath(dir int, name *cname) (int, unix.Errno) {
	return openBeneath(dir, name, &unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: beneath})
}

// openBeneath is openat2 of one name. The kernel says EXDEV not only for a mount but also when the object is
// renamed to another directory while it is being opened; so openBeneath tries again.
func openBeneath(dir int, name *cname, how *unix.OpenHow) (int, unix.Errno) {
	const enough = 1000
	for try := 0; ; try++ {
		fd, e := openat2(dir, name, how)
		if e != unix.EXDEV && e != unix.EAGAIN || try == enough {
			return fd, e
		}
		var st unix.Statx_t
		if statxAt(dir, name, unix.STATX_TYPE, &st) == 0 && st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0 {
			return -1, e
		}
	}
}

// child opens a name of the directory as the server itself, and notes that the object has it.
func (n *node) child(name string) (*node, error) {
	in, err := n.peek(name)
	if err == nil {
		n.fs.loc.note(in, &n.id, name)
	}
	return in, err
}

// peek is child for a name that is about to be removed.
func (n *node) peek(name string) (*node, error) {
	var c cname
	c.set(name)
	fd, err := n.fs.retryFDs(func() (int, error) {
		fd, e := openPath(n.fd, &c)
		if e == unix.EXDEV { // something is mounted there
			return -1, vfs.ErrAccess
		}
		return fd, status(e)
	})
	if err != nil {
		return nil, n.orStale(err)
	}
	return n.fs.adopt(fd)
}

// orStale returns ErrStale in place of err if the directory itself has been removed.
func (n *node) orStale(err error) error {
	if err == vfs.ErrNotFound {
		var st unix.Statx_t
		if n.statx(unix.STATX_NLINK, &st) == nil && st.Nlink == 0 {
			return vfs.ErrStale
		}
	}
	return err
}

// directory checks that the node is a directory of a file system that is open.
func (n *node) directory() error {
	if n.fs.closed.Load() {
		return vfs.ErrIO
	}
	if n.kind != vfs.KindDirectory {
		return vfs.ErrNotDir
	}
	return nil
}

// Lookup implements [vfs.Node].
func (n *node) Lookup(ctx context.Context, c *vfs.Cred, name string) (vfs.Node, error) {
	if err := n.fs.begin(ctx); err != nil {
		return nil, err
	}
	defer n.fs.budget.Leave()
	if err := n.directory(); err != nil {
		return nil, err
	}
	if err := checkName(name); err != nil {
		return nil, err
	}
	if err := n.require(c, mayExec); err != nil {
		return nil, err
	}
	in, err := n.child(name)
	if err != nil {
		return nil, err
	}
	return in, nil
}
