package smb

import (
	"context"

	"fileserver/smb/namespace"
	"fileserver/vfs"
)

// streamFile is one open's view of a named stream as a file. Its CREATE has checked the open's rights. Each change
// writes the whole data: it is small, and an extended attribute is only changed as a whole.
type streamFile struct {
	srv  *Server
	fs   vfs.FS
	node vfs.Node // the open's
	s    *stream
}

// named reports whether the open is of a named stream. A stream that was renamed to be the file's data is not one.
func (o *Open) named() bool {
	if o.stream == nil {
		return false
	}
	s := o.stream.s
	s.io.RLock()
	defer s.io.RUnlock()
	return s.main == nil
}

// loadLocked reads the data. The caller holds s.io.
func (f *streamFile) loadLocked(ctx context.Context) (namespace.StreamRef, []byte, error) {
	ref, gone := f.srv.streams.where(f.s)
	if gone {
		return ref, nil, vfs.ErrStale
	}
	data, err := namespace.LoadStream(ctx, f.node, ref)
	if vfs.StatusOf(err) == vfs.ErrNoAttr {
		err = vfs.ErrStale // another client has removed it
	}
	return ref, data, err
}

// storeLocked replaces the data, which changes the file's times (MS-FSA 2.1.4.17). The caller holds s.io for writing.
func (f *streamFile) storeLocked(ctx context.Context, ref namespace.StreamRef, data []byte) error {
	err := namespace.StoreStream(ctx, f.node, ref, data, vfs.XattrReplace)
	switch {
	case vfs.StatusOf(err) == vfs.ErrNoAttr:
		return vfs.ErrStale
	case err != nil:
		return err
	}
	// If the server may not set the time of last write, the time of change still shows the change.
	_ = f.node.SetAttr(ctx, root, &vfs.SetAttr{Mask: vfs.AttrMtime, MtimeNow: true})
	return nil
}

// create creates the stream without data. It returns [vfs.ErrExist] if the stream exists.
func (f *streamFile) create(ctx context.Context) error {
	f.s.io.Lock()
	defer f.s.io.Unlock()
	ref, gone := f.srv.streams.where(f.s)
	if gone {
		return vfs.ErrExist // the stream existed a moment ago: the caller tries again
	}
	return namespace.StoreStream(ctx, f.node, ref, nil, vfs.XattrCreate)
}

// size is the length of the data, bytes.
func (f *streamFile) size(ctx context.Context) (uint64, error) {
	f.s.io.RLock()
	defer f.s.io.RUnlock()
	if f.s.main != nil {
		a, err := f.s.main.GetAttr(ctx, vfs.AttrSize)
		return a.Size, err
	}
	_, data, err := f.loadLocked(ctx)
	return uint64(len(data)), err
}

// ReadAt implements [vfs.File].
func (f *streamFile) ReadAt(ctx context.Context, p []byte, off int64) (n int, eof bool, err error) {
	f.s.io.RLock()
	defer f.s.io.RUnlock()
	if f.s.main != nil {
		return f.s.main.ReadAt(ctx, p, off)
	}
	_, data, err := f.loadLocked(ctx)
	if err != nil {
		return 0, false, err
	}
	if off < int64(len(data)) {
		n = copy(p, data[off:])
	}
	return n, off+int64(n) >= int64(len(data)), nil
}

// WriteAt implements [vfs.File].
func (f *streamFile) WriteAt(ctx context.Context, p []byte, off int64, s vfs.Stability) (int, error) {
	f.s.io.Lock()
	defer f.s.io.Unlock()
	if f.s.main != nil {
		return f.s.main.WriteAt(ctx, p, off, s)
	}
	if off > namespace.MaxStream || off+int64(len(p)) > namespace.MaxStream {
		return 0, vfs.ErrNoSpace
	}
	ref, data, err := f.loadLocked(ctx)
	if err != nil {
		return 0, err
	}
	data = sized(data, max(len(data), int(off)+len(p)))
	copy(data[off:], p)
	if err = f.storeLocked(ctx, ref, data); err == nil && s != vfs.Unstable {
		err = f.fs.SyncMeta(ctx, f.node)
	}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// truncate sets the size. It fills an extension with zeros.
func (f *streamFile) truncate(ctx context.Context, size uint64) error {
	f.s.io.Lock()
	defer f.s.io.Unlock()
	if f.s.main != nil {
		return f.node.SetAttr(ctx, root, &vfs.SetAttr{Mask: vfs.AttrSize, Size: size})
	}
	if size > namespace.MaxStream {
		return vfs.ErrNoSpace
	}
	ref, data, err := f.loadLocked(ctx)
	if err != nil || len(data) == int(size) {
		return err
	}
	return f.storeLocked(ctx, ref, sized(data, int(size)))
}

// sized returns data with a length of n, extended with zeros, and with room for the byte that ends a value.
func sized(data []byte, n int) []byte {
	if n <= len(data) {
		return data[:n]
	}
	all := make([]byte, n, n+1)
	copy(all, data)
	return all
}

// Commit implements [vfs.File].
func (f *streamFile) Commit(ctx context.Context, off, n int64) error {
	f.s.io.RLock()
	defer f.s.io.RUnlock()
	if f.s.main != nil {
		return f.s.main.Commit(ctx, off, n)
	}
	return f.fs.SyncMeta(ctx, f.node)
}

// GetAttr implements [vfs.File]: the attributes of the file, with the size of the stream.
func (f *streamFile) GetAttr(ctx context.Context, mask vfs.AttrMask) (vfs.Attr, error) {
	a, err := f.node.GetAttr(ctx, mask)
	if err != nil || mask&(vfs.AttrSize|vfs.AttrUsed) == 0 {
		return a, err
	}
	a.Kind = vfs.KindRegular
	if a.Size, err = f.size(ctx); err != nil {
		return a, err
	}
	a.Used = streamAllocation(a.Size)
	a.Mask |= vfs.AttrSize | vfs.AttrUsed
	return a, nil
}

// Close implements [vfs.File]. It does nothing: Open.end detaches the open from the stream.
func (f *streamFile) Close() error { return nil }

// streamAllocation is the storage, in bytes, of a stream of the given size. It counts as NTFS does for a stream that
// is stored in the file's record.
func streamAllocation(size uint64) uint64 { return (size + 7) &^ 7 }
