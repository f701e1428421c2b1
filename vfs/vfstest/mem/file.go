package mem

import (
	"context"
	"sync"
	"sync/atomic"

	"fileserver/vfs"
)

// file is an open of a regular file. It implements [vfs.File], [vfs.Allocator], [vfs.Seeker], [vfs.Cloner] and [vfs.Copier].
type file struct {
	in     *inode
	flags  vfs.OpenFlags
	root   bool // writing leaves the set-id bits alone
	closed atomic.Bool
}

// fileList keeps closed files for the next Open, but lets others be used first, so that use after Close is found.
type fileList struct {
	mu   sync.Mutex
	ring [64]*file
	head int
	n    int
}

func (l *fileList) get() *file {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n < len(l.ring) {
		return new(file)
	}
	f := l.ring[l.head]
	l.head = (l.head + 1) % len(l.ring)
	l.n--
	return f
}

func (l *fileList) put(f *file) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n < len(l.ring) {
		l.ring[(l.head+l.n)%len(l.ring)] = f
		l.n++
	}
}

// Open implements [vfs.Node]. Directories fail with [vfs.ErrIsDir], symbolic links with [vfs.ErrSymlink],
// everything else but regular files with [vfs.ErrWrongType].
func (in *inode) Open(ctx context.Context, c *vfs.Cred, flags vfs.OpenFlags) (vfs.File, error) {
	fs := in.fs
	if err := fs.begin(ctx, OpOpen, in); err != nil {
		return nil, err
	}
	switch in.kind {
	case vfs.KindRegular:
	case vfs.KindDirectory:
		return nil, vfs.ErrIsDir
	case vfs.KindSymlink:
		return nil, vfs.ErrSymlink
	default:
		return nil, vfs.ErrWrongType
	}
	var want uint32
	if flags&vfs.OpenRead != 0 {
		want |= mayRead
	}
	if flags&vfs.OpenWrite != 0 {
		want |= mayWrite
	}
	if want == 0 {
		return nil, vfs.ErrInvalid
	}
	in.mu.RLock()
	ok := permits(&in.attr, c, want) || flags&vfs.AccessOwnerOverride != 0 && c.UID == in.attr.UID ||
		flags&vfs.ReadIfExecutable != 0 && want == mayRead && permits(&in.attr, c, mayExec)
	in.mu.RUnlock()
	if !ok {
		return nil, vfs.ErrAccess
	}
	f := fs.files.get()
	f.in, f.flags, f.root = in, flags, c.UID == 0
	f.closed.Store(false)
	in.refs.Add(1)
	fs.opens.Add(1)
	return f, nil
}

// Close implements [vfs.File].
func (f *file) Close() error {
	if !f.closed.CompareAndSwap(false, true) {
		panic("mem: file closed twice")
	}
	in := f.in
	in.fs.opens.Add(-1)
	in.unref()
	in.fs.files.put(f)
	return nil
}

// begin is the start of every call; it fails unless the file was opened for all of want.
func (f *file) begin(ctx context.Context, op Op, want vfs.OpenFlags) error {
	if f.closed.Load() {
		return vfs.ErrServerFault
	}
	if f.flags&want != want {
		return vfs.ErrAccess
	}
	return f.in.fs.begin(ctx, op, f.in)
}

// GetAttr implements [vfs.File].
func (f *file) GetAttr(ctx context.Context, mask vfs.AttrMask) (vfs.Attr, error) {
	if err := f.begin(ctx, OpGetAttr, 0); err != nil {
		return vfs.Attr{}, err
	}
	return f.in.getattr(), nil
}

// ReadAt implements [vfs.File].
func (f *file) ReadAt(ctx context.Context, p []byte, off int64) (n int, eof bool, err error) {
	if err := f.begin(ctx, OpRead, vfs.OpenRead); err != nil {
		return 0, false, err
	}
	if off < 0 {
		return 0, false, vfs.ErrInvalid
	}
	in := f.in
	in.mu.RLock()
	defer in.mu.RUnlock()
	size := in.attr.Size
	if uint64(off) >= size {
		return 0, true, nil
	}
	n = int(min(uint64(len(p)), size-uint64(off)))
	in.data.read(p[:n], uint64(off))
	return n, uint64(off)+uint64(n) >= size, nil
}

// WriteAt implements [vfs.File].
func (f *file) WriteAt(ctx context.Context, p []byte, off int64, s vfs.Stability) (n int, err error) {
	if err := f.begin(ctx, OpWrite, vfs.OpenWrite); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, vfs.ErrInvalid
	}
	if len(p) == 0 {
		return 0, nil
	}
	room := f.in.fs.opt.MaxFileSize - off
	if room <= 0 {
		return 0, vfs.ErrTooBig
	}
	if int64(len(p)) > room {
		p, err = p[:room], vfs.ErrTooBig
	}
	n, e := f.write(p, uint64(off))
	if e != nil {
		err = e
	}
	if n > 0 && s != vfs.Unstable {
		if e := f.commit(ctx, uint64(off), uint64(off)+uint64(n), s == vfs.FileSync); e != nil {
			return 0, e
		}
	}
	return n, err
}

func (f *file) write(p []byte, off uint64) (n int, err error) {
	in := f.in
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.fs.closed.Load() {
		return 0, vfs.ErrIO
	}
	n = in.write(p, off)
	if n < len(p) {
		err = vfs.ErrNoSpace
	}
	if n > 0 {
		f.grow(off + uint64(n))
	}
	return n, err
}

// grow notes that data up to end were written. in.mu is held.
func (f *file) grow(end uint64) {
	in := f.in
	if end > in.attr.Size {
		if in.fs.opt.Crashable {
			in.undo.start(in.attr.Size)
		}
		in.attr.Size = end
	}
	if !f.root {
		in.attr.Mode = dropSetID(in.attr.Mode, true)
	}
	in.touchData(now())
}

// Commit implements [vfs.File].
func (f *file) Commit(ctx context.Context, off, n int64) error {
	if f.closed.Load() {
		return vfs.ErrServerFault
	}
	if off < 0 || n < 0 {
		return vfs.ErrInvalid
	}
	end := uint64(off) + uint64(n)
	if n == 0 {
		end = ^uint64(0)
	}
	return f.commit(ctx, uint64(off), end, false)
}

func (f *file) commit(ctx context.Context, off, end uint64, all bool) error {
	in := f.in
	if err := in.fs.begin(ctx, OpCommit, in); err != nil {
		return err
	}
	if err := in.commit(off, end, all); err != nil {
		return err
	}
	if all {
		return in.fs.journal.sync(in)
	}
	return nil
}

func (in *inode) commit(off, end uint64, all bool) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.fs.closed.Load() {
		return vfs.ErrIO
	}
	in.undo.commit(in.attr.Size, off, end)
	if all {
		in.undo.syncMeta(in.attr.Size)
	}
	return nil
}
