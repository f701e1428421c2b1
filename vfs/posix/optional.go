package posix

import (
	"context"

	"golang.org/x/sys/unix"

	"fileserver/vfs"
)

var (
	_ vfs.FS        = (*FS)(nil)
	_ vfs.Node      = (*node)(nil)
	_ vfs.Xattrer   = (*node)(nil)
	_ vfs.Namer     = (*node)(nil)
	_ vfs.Watcher   = (*node)(nil)
	_ vfs.File      = (*file)(nil)
	_ vfs.Allocator = (*file)(nil)
	_ vfs.Seeker    = (*file)(nil)
	_ vfs.Cloner    = (*file)(nil)
	_ vfs.Copier    = (*file)(nil)
)

// span checks a range given as two int64.
func (f *file) span(need vfs.OpenFlags, off, n int64) error {
	if n < 0 {
		return vfs.ErrInvalid
	}
	if err := f.check(need, off, 0); err != nil {
		return err
	}
	if n > f.n.fs.caps.MaxFileSize-off {
		return vfs.ErrTooBig
	}
	return nil
}

func (f *file) fallocate(mode uint32, off, n int64) error {
	if err := f.span(vfs.OpenWrite, off, n); err != nil {
		return err
	}
	if n == 0 {
		return vfs.ErrInvalid
	}
	err := f.n.as(&f.c, func() error { return unix.Fallocate(f.h.fd, mode, off, n) })
	f.n.changed()
	f.n.dirty.Store(true)
	return err
}

// Allocate implements [vfs.Allocator].
func (f *file) Allocate(ctx context.Context, off, n int64) error {
	if err := f.n.fs.begin(ctx); err != nil {
		return err
	}
	defer f.n.fs.budget.Leave()
	return f.fallocate(0, off, n)
}

// Deallocate implements [vfs.Allocator].
func (f *file) Deallocate(ctx context.Context, off, n int64) error {
	if err := f.n.fs.begin(ctx); err != nil {
		return err
	}
	defer f.n.fs.budget.Leave()
	return f.fallocate(unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n)
}

func (f *file) seek(off int64, whence int) (int64, error) {
	if f.n.fs.closed.Load() {
		return 0, vfs.ErrIO
	}
	if off < 0 {
		return 0, vfs.ErrInvalid
	}
	at, err := unix.Seek(f.h.fd, off, whence)
	if err == unix.EINVAL { // beyond the largest file
		err = unix.ENXIO
	}
	return at, statusOf(err)
}

// SeekData implements [vfs.Seeker].
func (f *file) SeekData(ctx context.Context, off int64) (int64, error) {
	if err := f.n.fs.begin(ctx); err != nil {
		return 0, err
	}
	defer f.n.fs.budget.Leave()
	return f.seek(off, unix.SEEK_DATA)
}

// SeekHole implements [vfs.Seeker].
func (f *file) SeekHole(ctx context.Context, off int64) (int64, error) {
	if err := f.n.fs.begin(ctx); err != nil {
		return 0, err
	}
	defer f.n.fs.budget.Leave()
	return f.seek(off, unix.SEEK_HOLE)
}

// source checks the other file of a copy.
func (f *file) source(src vfs.File, srcOff, off, n int64) (*file, error) {
	s, ok := src.(*file)
	if !ok || s.n.fs != f.n.fs {
		return nil, vfs.ErrXDev
	}
	if err := s.span(vfs.OpenRead, srcOff, n); err != nil {
		return nil, err
	}
	return s, f.span(vfs.OpenWrite, off, n)
}

// CloneFrom implements [vfs.Cloner].
func (f *file) CloneFrom(ctx context.Context, src vfs.File, srcOff, off, n int64) error {
	if err := f.n.fs.begin(ctx); err != nil {
		return err
	}
	defer f.n.fs.budget.Leave()
	s, err := f.source(src, srcOff, off, n)
	if err != nil {
		return err
	}
	r := unix.FileCloneRange{Src_fd: int64(s.h.fd), Src_offset: uint64(srcOff), Src_length: uint64(n), Dest_offset: uint64(off)}
	err = unix.IoctlFileCloneRange(f.h.fd, &r)
	if err == unix.EXDEV {
		err = unix.EOPNOTSUPP
	}
	f.n.changed()
	f.n.dirty.Store(true)
	return statusOf(err)
}

// copyMax is the most that one copy_file_range(2) is asked to copy, because the call cannot be interrupted.
const copyMax = 64 << 20

// CopyFrom implements [vfs.Copier].
func (f *file) CopyFrom(ctx context.Context, src vfs.File, srcOff, off, n int64) (done int64, err error) {
	if err := f.n.fs.begin(ctx); err != nil {
		return 0, err
	}
	defer f.n.fs.budget.Leave()
	s, err := f.source(src, srcOff, off, n)
	if err != nil {
		return 0, err
	}
	defer func() {
		f.n.changed()
		f.n.dirty.Store(true)
	}()
	for done < n && ctx.Err() == nil {
		from, to := srcOff+done, off+done
		var m int
		err := f.n.as(&f.c, func() (err error) {
			m, err = unix.CopyFileRange(s.h.fd, &from, f.h.fd, &to, int(min(n-done, copyMax)), 0)
			return err
		})
		switch {
		case err == vfs.ErrXDev:
			return done, vfs.ErrUnsupported
		case err != nil:
			return done, err
		case m == 0: // the end of src
			return done, nil
		}
		done += int64(m)
	}
	return done, ctx.Err()
}
