package smb

import (
	"context"
	"math"

	"fileserver/smb/namespace"
	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/notify"
)

// fsctlSetSparse notes whether the file may have holes. Clients see the file as sparse if this note says so,
// regardless of the storage that it occupies (MS-FSA 2.1.5.10.36).
func fsctlSetSparse(ctx context.Context, r *request, q *wire.IoctlRequest) ([]byte, wire.Status) {
	o := r.open
	switch {
	case o.stream == nil && o.object().Kind() != vfs.KindRegular:
		return nil, wire.StatusInvalidParameter
	case o.granted&(wire.FileWriteData|wire.FileAppendData|wire.FileWriteAttributes) == 0:
		return nil, wire.StatusAccessDenied
	case o.share.readOnly():
		return nil, wire.StatusMediaWriteProtected
	case !o.share.FS.Caps().Holes, o.stream != nil: // a stream has no holes
		return nil, wire.StatusNotSupported
	}
	m := namespace.LoadMeta(ctx, o.object())
	if !m.Known {
		m.Known, m.Attributes = true, wire.FileAttributeArchive
	}
	old := m
	if wire.ParseSetSparse(q.Input) {
		m.Attributes |= wire.FileAttributeSparseFile
	} else {
		m.Attributes &^= wire.FileAttributeSparseFile
	}
	if m == old {
		return nil, wire.StatusSuccess
	}
	if err := namespace.StoreMeta(ctx, o.object(), &m); err != nil {
		return nil, statusOf(err)
	}
	o.changed(ctx, notify.Attributes)
	return nil, wire.StatusSuccess
}

// sparse reports whether clients see the file as sparse.
func (o *Open) sparse(ctx context.Context) bool {
	if o.stream != nil {
		return false
	}
	m := namespace.LoadMeta(ctx, o.object())
	return m.Attributes&wire.FileAttributeSparseFile != 0
}

// fsctlSetZeroData sets a range to zeros, up to the end of the file (MS-FSA 2.1.5.10.37).
func fsctlSetZeroData(ctx context.Context, r *request, q *wire.IoctlRequest) ([]byte, wire.Status) {
	z, err := wire.ParseZeroData(q.Input)
	o := r.open
	switch {
	case err != nil, z.Offset > math.MaxInt64, z.Beyond > math.MaxInt64, z.Offset > z.Beyond, o.dir:
		return nil, wire.StatusInvalidParameter
	case o.granted&wire.FileWriteData == 0 || o.file == nil:
		return nil, wire.StatusAccessDenied
	case o.lockedByOthers(z.Offset, z.Beyond-z.Offset, true):
		return nil, wire.StatusFileLockConflict
	}
	return r.recalledFsctl(ctx, q, func(_ context.Context, r *request, _ *wire.IoctlRequest) ([]byte, bool, wire.Status) {
		changed, st := r.open.zero(r.conn.ctx, int64(z.Offset), int64(z.Beyond)) // the connection's context: without holes this may take long
		return nil, changed, st
	})
}

// zero sets [off, end) to zeros, up to the end of the file, and reports whether there was anything to change. The
// storage of a file that is not sparse stays allocated.
func (o *Open) zero(ctx context.Context, off, end int64) (changed bool, st wire.Status) {
	a, err := o.file.GetAttr(ctx, vfs.AttrSize)
	if err != nil {
		return false, statusOf(err)
	}
	if end = min(end, int64(min(a.Size, math.MaxInt64))); off >= end {
		return false, wire.StatusSuccess
	}
	if al, ok := o.file.(vfs.Allocator); ok {
		if err = al.Deallocate(ctx, off, end-off); err == nil && !o.sparse(ctx) {
			err = al.Allocate(ctx, off, end-off)
		}
		if vfs.StatusOf(err) != vfs.ErrUnsupported {
			return true, statusOf(err)
		}
	}
	return true, o.writeZeros(ctx, off, end)
}

// zeros is written where a file system has no holes.
var zeros [256 << 10]byte

func (o *Open) writeZeros(ctx context.Context, off, end int64) wire.Status {
	for off < end {
		if ctx.Err() != nil {
			return wire.StatusCancelled
		}
		n, err := o.file.WriteAt(ctx, zeros[:min(end-off, int64(len(zeros)))], off, vfs.Unstable)
		if err != nil {
			return statusOf(err)
		}
		off += int64(n)
	}
	return wire.StatusSuccess
}

// fsctlQueryAllocatedRanges lists the parts of a range that hold data: the whole range, if the file is not sparse
// (MS-FSA 2.1.5.10.22).
func fsctlQueryAllocatedRanges(ctx context.Context, r *request, q *wire.IoctlRequest) ([]byte, wire.Status) {
	w, err := wire.ParseRange(q.Input)
	o := r.open
	switch {
	case err != nil, !w.Valid(), o.dir:
		return nil, wire.StatusInvalidParameter
	case o.granted&wire.FileReadData == 0 || o.file == nil:
		return nil, wire.StatusAccessDenied
	}
	a, err := o.file.GetAttr(ctx, vfs.AttrSize)
	if err != nil {
		return nil, statusOf(err)
	}
	off, end := int64(w.Offset), int64(min(w.Offset+w.Length, a.Size))
	seeker, ok := o.file.(vfs.Seeker)
	whole := !ok || !o.sparse(ctx)
	room := int(q.MaxOutputResponse) / 16
	var out []byte
	for off < end {
		data, hole := off, end
		if !whole {
			if data, err = seeker.SeekData(ctx, off); vfs.StatusOf(err) == vfs.ErrNoData {
				break
			}
			if err == nil {
				hole, err = seeker.SeekHole(ctx, data)
			}
			if err != nil {
				return nil, statusOf(err)
			}
			if hole = min(hole, end); data >= hole {
				break
			}
		}
		if room == 0 {
			if len(out) == 0 {
				return nil, wire.StatusBufferTooSmall
			}
			return out, wire.StatusBufferOverflow
		}
		room--
		out = (&wire.Range{Offset: uint64(data), Length: uint64(hole - data)}).Append(out)
		off = hole
	}
	return out, wire.StatusSuccess
}

// trimUnit is the unit, in bytes, to which trimmed ranges are rounded: storage is not freed in smaller pieces.
const trimUnit = 4096

// fsctlTrim frees the storage of ranges that the client does not need any more (MS-FSA 2.1.5.10.6, MS-FSCC 2.3.15).
func fsctlTrim(ctx context.Context, r *request, q *wire.IoctlRequest) ([]byte, wire.Status) {
	key, ranges, err := wire.ParseTrim(q.Input)
	o := r.open
	switch {
	case err != nil, key != 0, ranges.Len() == 0, o.dir:
		return nil, wire.StatusInvalidParameter
	case o.granted&wire.FileWriteData == 0 || o.file == nil:
		return nil, wire.StatusAccessDenied
	}
	if al, ok := o.file.(vfs.Allocator); !ok || al == nil || !o.share.FS.Caps().Holes {
		return nil, wire.StatusNotSupported
	}
	return r.recalledFsctl(ctx, q, trim)
}

func trim(ctx context.Context, r *request, q *wire.IoctlRequest) (out []byte, changed bool, st wire.Status) {
	_, ranges, err := wire.ParseTrim(q.Input)
	if err != nil {
		return nil, false, wire.StatusInvalidParameter
	}
	a, err := r.open.file.GetAttr(ctx, vfs.AttrSize)
	if err != nil {
		return nil, false, statusOf(err)
	}
	done := uint32(0)
	for w := range ranges.All() {
		if !w.Valid() || r.open.lockedByOthers(w.Offset, w.Length, true) {
			break
		}
		off := (w.Offset + trimUnit - 1) / trimUnit * trimUnit
		end := min(w.Offset+w.Length, a.Size) / trimUnit * trimUnit
		if off < end {
			if err := r.open.file.(vfs.Allocator).Deallocate(ctx, int64(off), int64(end-off)); err != nil {
				return nil, changed, statusOf(err)
			}
			changed = true
		}
		done++
	}
	if q.MaxOutputResponse < 4 {
		return nil, changed, wire.StatusSuccess
	}
	return wire.AppendTrimmed(nil, done), changed, wire.StatusSuccess
}
