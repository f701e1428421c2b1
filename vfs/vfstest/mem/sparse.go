package mem

import (
	"context"

	"fileserver/vfs"
)

// span checks a range of bytes. The end is at most the largest file.
func (f *file) span(off, n int64) (start, end uint64, err error) {
	switch {
	case off < 0 || n < 0:
		return 0, 0, vfs.ErrInvalid
	case n > f.in.fs.opt.MaxFileSize-off:
		return 0, 0, vfs.ErrTooBig
	}
	return uint64(off), uint64(off) + uint64(n), nil
}

// allocating begins Allocate and Deallocate. It returns with the inode's lock held, unless there is an error.
func (f *file) allocating(ctx context.Context, off, n int64) (start, end uint64, err error) {
	if err := f.begin(ctx, OpAllocate, vfs.OpenWrite); err != nil {
		return 0, 0, err
	}
	if start, end, err = f.span(off, n); err != nil {
		return 0, 0, err
	}
	if n == 0 {
		return 0, 0, vfs.ErrInvalid // fallocate(2)
	}
	f.in.mu.Lock()
	if f.in.fs.closed.Load() {
		f.in.mu.Unlock()
		return 0, 0, vfs.ErrIO
	}
	return start, end, nil
}

// Allocate implements [vfs.Allocator]: all of it, or nothing with [vfs.ErrNoSpace]. What is allocated counts as data.
func (f *file) Allocate(ctx context.Context, off, n int64) error {
	start, end, err := f.allocating(ctx, off, n)
	if err != nil {
		return err
	}
	in := f.in
	defer in.mu.Unlock()
	first, last := start/blockSize, (end-1)/blockSize
	missing := int64(last - first + 1)
	in.data.from(first, last+1, func(uint64) { missing-- })
	if missing > (1<<63-1)/blockSize || !in.fs.reserve(missing*blockSize) {
		return vfs.ErrNoSpace
	}
	in.fs.used.Add(-missing * blockSize) // writable takes it again
	for bi := first; bi <= last; bi++ {
		if in.data.get(bi) == nil && in.writable(bi, true) == nil {
			return vfs.ErrNoSpace
		}
	}
	f.grow(end)
	return nil
}

// Deallocate implements [vfs.Allocator].
func (f *file) Deallocate(ctx context.Context, off, n int64) error {
	start, end, err := f.allocating(ctx, off, n)
	if err != nil {
		return err
	}
	in := f.in
	defer in.mu.Unlock()
	// Nothing is behind the end of the file, so that the last block may go as a whole.
	if end >= in.attr.Size {
		end = (in.attr.Size + blockSize - 1) / blockSize * blockSize
	}
	if start < end {
		in.punch(start, end)
	}
	f.grow(0)
	return nil
}

// SeekData implements [vfs.Seeker].
func (f *file) SeekData(ctx context.Context, off int64) (int64, error) {
	return f.seek(ctx, off, func(d *data, off, size uint64) (uint64, bool) {
		bi, ok := d.nextData(off / blockSize)
		at := max(bi*blockSize, off)
		return at, ok && at < size
	})
}

// SeekHole implements [vfs.Seeker].
func (f *file) SeekHole(ctx context.Context, off int64) (int64, error) {
	return f.seek(ctx, off, func(d *data, off, size uint64) (uint64, bool) {
		return min(max(d.nextHole(off/blockSize)*blockSize, off), size), true
	})
}

func (f *file) seek(ctx context.Context, off int64, next func(d *data, off, size uint64) (uint64, bool)) (int64, error) {
	if err := f.begin(ctx, OpSeek, 0); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, vfs.ErrInvalid
	}
	in := f.in
	in.mu.RLock()
	defer in.mu.RUnlock()
	if uint64(off) >= in.attr.Size {
		return 0, vfs.ErrNoData
	}
	at, ok := next(&in.data, uint64(off), in.attr.Size)
	if !ok {
		return 0, vfs.ErrNoData
	}
	return int64(at), nil
}
