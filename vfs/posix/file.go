package posix

import (
	"context"
	"math"

	"golang.org/x/sys/unix"

	"fileserver/vfs"
)

// file is an open regular file. A node reuses its files after Close.
type file struct {
	n     *node
	h     *openFD
	c     vfs.Cred // without groups: it only decides about set-id bits
	flags vfs.OpenFlags
	next  *file // of the free list
}

// Open implements [vfs.Node].
func (n *node) Open(ctx context.Context, c *vfs.Cred, flags vfs.OpenFlags) (vfs.File, error) {
	if err := n.fs.begin(ctx); err != nil {
		return nil, err
	}
	defer n.fs.budget.Leave()
	switch n.kind {
	case vfs.KindRegular:
	case vfs.KindDirectory:
		return nil, vfs.ErrIsDir
	case vfs.KindSymlink:
		return nil, vfs.ErrSymlink
	default:
		return nil, vfs.ErrWrongType
	}
	if flags&(vfs.OpenRead|vfs.OpenWrite) == 0 {
		return nil, vfs.ErrInvalid
	}
	if err := n.mayOpen(c, flags); err != nil {
		return nil, err
	}
	d := &n.data
	d.mu.Lock()
	h, err := n.acquireLocked(flags&vfs.OpenWrite != 0)
	if err != nil {
		d.mu.Unlock()
		return nil, err
	}
	f := d.files
	if f == nil {
		f = new(file)
	} else {
		d.files = f.next
	}
	*f = file{n: n, h: h, c: vfs.Cred{UID: c.UID, GID: c.GID}, flags: flags}
	d.mu.Unlock()
	n.opens.Add(1)
	n.fs.cache.hold(n)
	return f, nil
}

func (n *node) mayOpen(c *vfs.Cred, flags vfs.OpenFlags) error {
	var want uint8
	if flags&vfs.OpenRead != 0 {
		want = mayRead
	}
	if flags&vfs.OpenWrite != 0 {
		want |= mayWrite
	}
	var st unix.Statx_t
	ok, err := n.allowed(c, want, &st)
	if err != nil {
		return err
	}
	if ok == want {
		return nil
	}
	if flags&vfs.AccessOwnerOverride != 0 && c.UID == st.Uid {
		if want&^ok&mayWrite != 0 && n.fs.readOnly() {
			return vfs.ErrReadOnly
		}
		return nil
	}
	if flags&vfs.ReadIfExecutable != 0 && want == mayRead {
		exec, err := n.allowed(c, mayExec, &st)
		if err != nil || exec != 0 {
			return err
		}
	}
	return n.fs.denied(want &^ ok)
}

// Close implements [vfs.File].
func (f *file) Close() error {
	n, d := f.n, &f.n.data
	d.mu.Lock()
	f.h.refs--
	*f = file{n: n, next: d.files}
	d.files = f
	d.mu.Unlock()
	if n.opens.Add(-1) == 0 && n.gone.Load() && n.fs.budget.TryEnter() { // otherwise it is closed with the node
		n.closeData() // the storage is free now
		n.fs.budget.Leave()
	}
	n.fs.cache.release(n)
	return nil
}

// ReadAt implements [vfs.File].
func (f *file) ReadAt(ctx context.Context, p []byte, off int64) (n int, eof bool, err error) {
	if err := f.n.fs.begin(ctx); err != nil {
		return 0, false, err
	}
	defer f.n.fs.budget.Leave()
	switch err := f.check(vfs.OpenRead, off, len(p)); {
	case err == vfs.ErrTooBig: // off+len(p) is beyond the largest file
		room := f.n.fs.caps.MaxFileSize - off
		if room <= 0 {
			return 0, true, nil
		}
		p = p[:room]
	case err != nil:
		return 0, false, err
	}
	fd := f.h.fd
	for n < len(p) {
		m, err := unix.Pread(fd, p[n:], off+int64(n))
		switch {
		case err == unix.EINTR:
		case err != nil:
			return n, false, statusOf(err)
		case m == 0:
			f.n.size.Store(0)
			return n, true, nil
		default:
			n += m
		}
	}
	// The read was complete, so eof depends on the size. If the size at the last look is larger, no system call is
	// needed. If the file has been truncated since, the next read returns eof.
	if off+int64(n) < f.n.size.Load() {
		return n, false, nil
	}
	// lseek(2) returns the size and is faster than statx(2).
	size, err := unix.Seek(fd, 0, unix.SEEK_END)
	if err != nil {
		return n, false, statusOf(err)
	}
	f.n.size.Store(size)
	return n, off+int64(n) >= size, nil
}

// check refuses accesses that the File was not opened for, and ranges beyond the largest file.
func (f *file) check(need vfs.OpenFlags, off int64, n int) error {
	switch {
	case f.n.fs.closed.Load():
		return vfs.ErrIO
	case f.flags&need == 0:
		return vfs.ErrAccess
	case off < 0:
		return vfs.ErrInvalid
	case int64(n) > math.MaxInt64-off || off+int64(n) > f.n.fs.caps.MaxFileSize:
		return vfs.ErrTooBig
	}
	return nil
}

// WriteAt implements [vfs.File].
func (f *file) WriteAt(ctx context.Context, p []byte, off int64, s vfs.Stability) (n int, err error) {
	if err := f.n.fs.begin(ctx); err != nil {
		return 0, err
	}
	defer f.n.fs.budget.Leave()
	if err := f.check(vfs.OpenWrite, off, len(p)); err != nil {
		return 0, err
	}
	if len(p) == 0 {
		return 0, nil
	}
	if n, err = f.write(p, off, s); full(err) && f.n.fs.reclaim() {
		var m int
		m, err = f.write(p[n:], off+int64(n), s)
		n += m
	}
	f.n.changed()
	if s == vfs.Unstable && !f.n.dirty.Load() {
		f.n.dirty.Store(true)
	}
	return n, err
}

// write writes, and clears set-id bits where POSIX demands it.
func (f *file) write(p []byte, off int64, s vfs.Stability) (int, error) {
	if f.n.setID.Load() && f.c.UID != 0 {
		return f.writeClearing(p, off, s)
	}
	return f.writeAll(p, off, s)
}

func (f *file) writeAll(p []byte, off int64, s vfs.Stability) (n int, err error) {
	flags := 0
	switch s {
	case vfs.DataSync:
		flags = unix.RWF_DSYNC
	case vfs.FileSync:
		flags = unix.RWF_SYNC
	}
	for n < len(p) {
		var m int
		var e error
		if flags == 0 {
			m, e = unix.Pwrite(f.h.fd, p[n:], off+int64(n))
		} else if r, errno := pwritev2(f.h.fd, p[n:], off+int64(n), flags); errno == 0 {
			m = r
		} else {
			e = errno
		}
		switch {
		case e == unix.EINTR:
		case e != nil:
			if flags != 0 && e == unix.EIO {
				f.n.fs.writeFailed(f.n, e)
			}
			return n, statusOf(e)
		case m == 0:
			return n, vfs.ErrIO
		default:
			n += m
		}
	}
	return n, nil
}

// writeClearing writes, and clears the set-id bits that a write by the caller's process would clear.
func (f *file) writeClearing(p []byte, off int64, s vfs.Stability) (int, error) {
	var n int
	err := f.n.fs.asOnce(&f.c, func() (err error) {
		n, err = f.writeAll(p, off, s)
		return err
	})
	var st unix.Statx_t
	if f.n.statx(statPerm, &st) == nil && f.n.setID.Load() {
		// A server with CAP_FSETID that does its own checks: the kernel does not clear the bits.
		mode := uint32(st.Mode&0o7777) &^ unix.S_ISUID
		if mode&unix.S_IXGRP != 0 {
			mode &^= unix.S_ISGID
		}
		if f.n.chmod(mode) == nil {
			f.n.setID.Store(false)
		}
	}
	return n, err
}

// Commit implements [vfs.File]. Concurrent calls for one object share an fdatasync(2); the range is not used.
func (f *file) Commit(ctx context.Context, off, n int64) error {
	if err := f.n.fs.begin(ctx); err != nil {
		return err
	}
	defer f.n.fs.budget.Leave()
	if off < 0 || n < 0 {
		return vfs.ErrInvalid
	}
	if f.n.fs.closed.Load() {
		return vfs.ErrIO
	}
	return f.n.stabilize(f.h.fd, false)
}

// GetAttr implements [vfs.File].
func (f *file) GetAttr(ctx context.Context, mask vfs.AttrMask) (vfs.Attr, error) {
	if err := f.n.fs.begin(ctx); err != nil {
		return vfs.Attr{}, err
	}
	defer f.n.fs.budget.Leave()
	return f.n.getAttr(mask)
}
