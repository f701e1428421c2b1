package mem

import (
	"context"

	"fileserver/vfs"
)

// source checks the file to copy from.
func (f *file) source(src vfs.File) (*file, error) {
	s, ok := src.(*file)
	switch {
	case !ok || s.in.fs != f.in.fs:
		return nil, vfs.ErrXDev
	case s.closed.Load():
		return nil, vfs.ErrServerFault
	case s.flags&vfs.OpenRead == 0:
		return nil, vfs.ErrAccess
	}
	return s, nil
}

// lockBoth locks a source and a destination, which may be the same.
func lockBoth(src, dst *inode) (unlock func()) {
	switch {
	case src == dst:
		dst.mu.Lock()
		return dst.mu.Unlock
	case src.attr.FileID < dst.attr.FileID:
		src.mu.Lock()
		dst.mu.Lock()
	default:
		dst.mu.Lock()
		src.mu.Lock()
	}
	return func() { src.mu.Unlock(); dst.mu.Unlock() }
}

// CloneFrom implements [vfs.Cloner]. The offsets are multiples of the block size (4096), and so is the length unless it ends
// at the end of src and at or behind that of the file ([vfs.ErrInvalid]). The ranges may not overlap.
func (f *file) CloneFrom(ctx context.Context, srcFile vfs.File, srcOff, off, n int64) error {
	if err := f.begin(ctx, OpClone, vfs.OpenWrite); err != nil {
		return err
	}
	s, err := f.source(srcFile)
	if err != nil {
		return err
	}
	src, dst := s.in, f.in
	defer lockBoth(src, dst)()
	if dst.fs.closed.Load() {
		return vfs.ErrIO
	}
	if srcOff < 0 || off < 0 || n < 0 || uint64(srcOff) > src.attr.Size {
		return vfs.ErrInvalid
	}
	if n == 0 {
		n = int64(src.attr.Size) - srcOff
	}
	from, to, err := f.cloneSpan(src, srcOff, off, n)
	if err != nil || n == 0 {
		return err
	}
	blocks := (uint64(n) + blockSize - 1) / blockSize
	missing := int64(0)
	for i := range blocks {
		if src.data.get(from+i) != nil && dst.data.get(to+i) == nil {
			missing++
		}
	}
	if !dst.fs.reserve(missing * blockSize) {
		return vfs.ErrNoSpace
	}
	for i := range blocks {
		dst.share(src, from+i, to+i)
	}
	f.grow(uint64(off + n))
	return nil
}

// cloneSpan checks the ranges of a clone and returns their first blocks.
func (f *file) cloneSpan(src *inode, srcOff, off, n int64) (from, to uint64, err error) {
	end := uint64(srcOff) + uint64(n)
	switch {
	case srcOff%blockSize != 0 || off%blockSize != 0 || end > src.attr.Size:
		return 0, 0, vfs.ErrInvalid
	case n > f.in.fs.opt.MaxFileSize-off:
		return 0, 0, vfs.ErrTooBig
	case n%blockSize != 0 && (end != src.attr.Size || uint64(off)+uint64(n) < f.in.attr.Size):
		return 0, 0, vfs.ErrInvalid
	case src == f.in && srcOff < off+n && off < srcOff+n:
		return 0, 0, vfs.ErrInvalid
	}
	return uint64(srcOff) / blockSize, uint64(off) / blockSize, nil
}

// share makes block to the same as block from of src; the capacity is reserved.
func (in *inode) share(src *inode, from, to uint64) {
	b, old := src.data.get(from), in.data.get(to)
	if b == nil && old == nil {
		return
	}
	if in.fs.opt.Crashable {
		in.undo.write(in.attr.Size, to, old)
	}
	if b == nil {
		in.drop(to)
		return
	}
	if old == nil {
		in.attr.Used += blockSize
	}
	src.data.set(from, b, true)
	in.data.set(to, b, true)
}

// CopyFrom implements [vfs.Copier]. The ranges may not overlap ([vfs.ErrInvalid]).
func (f *file) CopyFrom(ctx context.Context, srcFile vfs.File, srcOff, off, n int64) (int64, error) {
	if err := f.begin(ctx, OpCopy, vfs.OpenWrite); err != nil {
		return 0, err
	}
	s, err := f.source(srcFile)
	if err != nil {
		return 0, err
	}
	src, dst := s.in, f.in
	defer lockBoth(src, dst)()
	switch {
	case dst.fs.closed.Load():
		return 0, vfs.ErrIO
	case srcOff < 0 || off < 0 || n < 0:
		return 0, vfs.ErrInvalid
	case uint64(srcOff) >= src.attr.Size:
		return 0, nil
	}
	n = min(n, int64(src.attr.Size)-srcOff)
	if n > dst.fs.opt.MaxFileSize-off {
		return 0, vfs.ErrTooBig
	}
	if src == dst && srcOff < off+n && off < srcOff+n {
		return 0, vfs.ErrInvalid
	}
	var buf block
	for done := int64(0); done < n; {
		p := buf[:min(n-done, blockSize)]
		src.data.read(p, uint64(srcOff+done))
		w := dst.write(p, uint64(off+done))
		done += int64(w)
		if w > 0 {
			f.grow(uint64(off + done))
		}
		if w < len(p) {
			return done, vfs.ErrNoSpace
		}
	}
	return n, nil
}
