package smb

import (
	"context"
	"math"

	"fileserver/smb/wire"
	"fileserver/vfs"
)

// Limits of server-side copies (MS-SMB2 3.3.3, appendix A): chunks of a request, bytes of a chunk, and bytes of a
// request.
const (
	maxChunks     = 256
	maxChunk      = 1 << 20
	maxChunkTotal = 16 << 20
)

// fsctlResumeKey returns the key by which requests of the same session name the open as the source of copies (MS-SMB2
// 3.3.5.15.5).
func fsctlResumeKey(_ context.Context, r *request, q *wire.IoctlRequest) ([]byte, wire.Status) {
	if q.MaxOutputResponse < 32 {
		return nil, wire.StatusInvalidParameter
	}
	var k wire.ResumeKey
	le.PutUint64(k[:], r.open.id.Persistent)
	le.PutUint64(k[8:], r.open.id.Volatile)
	return wire.AppendResumeKey(nil, k), wire.StatusSuccess
}

// fsctlCopychunk copies between files of the server (MS-SMB2 3.3.5.15.6).
func fsctlCopychunk(ctx context.Context, r *request, q *wire.IoctlRequest) ([]byte, wire.Status) {
	c, err := wire.ParseCopychunks(q.Input)
	if err != nil || q.MaxOutputResponse < 12 {
		return nil, wire.StatusInvalidParameter
	}
	total := uint64(0)
	for i := range c.Len() {
		n := c.At(i).Length
		if total += uint64(n); n == 0 || n > maxChunk {
			return r.copychunkLimits()
		}
	}
	if c.Len() > maxChunks || total > maxChunkTotal {
		return r.copychunkLimits()
	}
	o := r.open
	switch {
	case o.dir:
		return nil, wire.StatusInvalidDeviceRequest
	case o.granted&(wire.FileWriteData|wire.FileAppendData) == 0 || o.file == nil,
		q.Code == wire.FsctlSrvCopychunk && o.granted&wire.FileReadData == 0:
		return nil, wire.StatusAccessDenied
	}
	return r.recalledFsctl(ctx, q, copychunks)
}

// copychunkLimits refuses the request with an answer that says what the limits are (MS-SMB2 3.3.5.15.6.2).
func (r *request) copychunkLimits() ([]byte, wire.Status) {
	r.keepBody = true
	return (&wire.CopychunkResponse{Chunks: maxChunks, ChunkBytes: maxChunk, TotalBytes: maxChunkTotal}).Append(nil), wire.StatusInvalidParameter
}

func copychunks(ctx context.Context, r *request, q *wire.IoctlRequest) (out []byte, changed bool, st wire.Status) {
	c, err := wire.ParseCopychunks(q.Input)
	if err != nil {
		return nil, false, wire.StatusInvalidParameter
	}
	src := r.session.open(wire.FileID{Persistent: le.Uint64(c.Source[:]), Volatile: le.Uint64(c.Source[8:])})
	if src == nil {
		return nil, false, wire.StatusObjectNameNotFound
	}
	defer src.release()
	switch {
	case src.dir:
		return nil, false, wire.StatusInvalidDeviceRequest
	case src.granted&(wire.FileReadData|wire.FileExecute) == 0 || src.file == nil:
		return nil, false, wire.StatusAccessDenied
	}
	var done wire.CopychunkResponse
	for i := range c.Len() {
		var n uint32
		if n, st = r.copychunk(ctx, src, c.At(i)); st != wire.StatusSuccess {
			done.ChunkBytes = n
			done.TotalBytes += n
			break
		}
		done.Chunks++
		done.TotalBytes += n
	}
	r.keepBody = true
	return done.Append(nil), done.TotalBytes > 0, st
}

// copychunk copies one range. It either copies the whole range or returns an error.
func (r *request) copychunk(ctx context.Context, src *Open, k wire.Copychunk) (uint32, wire.Status) {
	dst, n := r.open, uint64(k.Length)
	switch {
	case k.SourceOffset > math.MaxInt64-n, k.TargetOffset > math.MaxInt64-n:
		return 0, wire.StatusInvalidParameter
	case src.lockedByOthers(k.SourceOffset, n, false), dst.lockedByOthers(k.TargetOffset, n, true):
		return 0, wire.StatusFileLockConflict
	}
	a, err := src.file.GetAttr(ctx, vfs.AttrSize)
	if err != nil {
		return 0, statusOf(err)
	}
	if k.SourceOffset+n > a.Size {
		return 0, wire.StatusInvalidViewSize
	}
	from, to := int64(k.SourceOffset), int64(k.TargetOffset)
	overlap := src.key == dst.key && from < to+int64(n) && to < from+int64(n)
	if cp, ok := dst.file.(vfs.Copier); ok && !overlap && src.stream == nil && src.share.FS == dst.share.FS {
		m, err := cp.CopyFrom(ctx, src.file, from, to, int64(n))
		switch {
		case err == nil && m == int64(n):
			return uint32(m), wire.StatusSuccess
		case err != nil && vfs.StatusOf(err) != vfs.ErrUnsupported && vfs.StatusOf(err) != vfs.ErrAccess:
			return uint32(m), statusOf(err)
		}
	}
	return r.copyThrough(ctx, src, from, to, int(n))
}

// copyThrough reads the whole range before it writes, so that the ranges may overlap.
func (r *request) copyThrough(ctx context.Context, src *Open, from, to int64, n int) (uint32, wire.Status) {
	buf, err := r.conn.memory(n)
	if err != nil {
		return 0, wire.StatusInsufficientResources
	}
	defer buf.Release()
	m, _, err := src.file.ReadAt(ctx, buf.Bytes(), from)
	switch {
	case err != nil:
		return 0, statusOf(err)
	case m < n:
		return 0, wire.StatusInvalidViewSize
	}
	w, err := r.open.file.WriteAt(ctx, buf.Bytes(), to, vfs.Unstable)
	return uint32(w), statusOf(err)
}

// fsctlDuplicate makes a range share storage with one of another file, or of its own (MS-FSA 2.1.5.10.4, 2.1.5.10.5).
func fsctlDuplicate(ctx context.Context, r *request, q *wire.IoctlRequest) ([]byte, wire.Status) {
	d, err := duplicateOf(q)
	o := r.open
	switch {
	case err != nil, d.SourceOffset > math.MaxInt64, d.TargetOffset > math.MaxInt64, d.Count > math.MaxInt64,
		d.SourceOffset+d.Count > math.MaxInt64, d.TargetOffset+d.Count > math.MaxInt64, d.Flags&^wire.DuplicateExtentsSourceAtomic != 0, o.dir:
		return nil, wire.StatusInvalidParameter
	case o.granted&wire.FileWriteData == 0 || o.file == nil:
		return nil, wire.StatusAccessDenied
	case !o.share.FS.Caps().Clones:
		return nil, wire.StatusNotSupported
	}
	return r.recalledFsctl(ctx, q, duplicate)
}

func duplicateOf(q *wire.IoctlRequest) (wire.DuplicateExtents, error) {
	if q.Code == wire.FsctlDuplicateExtentsToFileEx {
		return wire.ParseDuplicateExtentsEx(q.Input)
	}
	return wire.ParseDuplicateExtents(q.Input)
}

func duplicate(ctx context.Context, r *request, q *wire.IoctlRequest) (out []byte, changed bool, st wire.Status) {
	d, err := duplicateOf(q)
	if err != nil {
		return nil, false, wire.StatusInvalidParameter
	}
	src, o := r.session.open(d.Source), r.open
	if src == nil {
		return nil, false, wire.StatusInvalidHandle
	}
	defer src.release()
	cl, ok := o.file.(vfs.Cloner)
	switch {
	case src.dir || src.share.FS != o.share.FS:
		return nil, false, wire.StatusInvalidParameter
	case src.granted&wire.FileReadData == 0 || src.file == nil:
		return nil, false, wire.StatusAccessDenied
	case !ok || src.stream != nil || src.sparse(ctx) && !o.sparse(ctx):
		return nil, false, wire.StatusNotSupported
	case src.lockedByOthers(d.SourceOffset, d.Count, false), o.lockedByOthers(d.TargetOffset, d.Count, true):
		return nil, false, wire.StatusFileLockConflict
	case d.Count == 0:
		return nil, false, wire.StatusSuccess
	}
	st = statusOf(cl.CloneFrom(ctx, src.file, int64(d.SourceOffset), int64(d.TargetOffset), int64(d.Count)))
	return nil, !st.Failed(), st
}
