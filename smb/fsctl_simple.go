package smb

import (
	"context"
	"math"

	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/notify"
)

// changeData is the part of an FSCTL that changes the file's data. changed reports whether it has changed any data,
// which is possible even if it fails.
type changeData func(context.Context, *request, *wire.IoctlRequest) (out []byte, changed bool, st wire.Status)

// recalledFsctl runs run once no other client caches the file's data. If it has to wait for that, it returns
// statusParked, and the whole FSCTL runs again afterwards. If the open writes through, the changes are stable when
// recalledFsctl returns.
func (r *request) recalledFsctl(ctx context.Context, q *wire.IoctlRequest, run changeData) ([]byte, wire.Status) {
	if rc := r.open.recall(0); rc != nil {
		return nil, r.await(rc)
	}
	times := r.open.keepTimes(ctx)
	out, changed, st := run(ctx, r, q)
	if !changed {
		return out, st
	}
	r.open.restoreTimes(ctx, &times)
	r.open.changed(ctx, notify.Size|notify.LastWrite)
	if r.open.writesThrough() {
		if err := r.open.file.Commit(ctx, 0, 0); err != nil && !st.Failed() {
			st = statusOf(err)
		}
	}
	return out, st
}

// fsctlObjectID returns the object ID of a file. The ID is derived from the file's identity (MS-FSA 2.1.5.10.2,
// 2.1.5.10.12).
func fsctlObjectID(ctx context.Context, r *request, q *wire.IoctlRequest) ([]byte, wire.Status) {
	if q.MaxOutputResponse < 64 {
		return nil, wire.StatusInvalidParameter
	}
	a, err := r.open.object().GetAttr(ctx, vfs.AttrFileID)
	if err != nil {
		return nil, statusOf(err)
	}
	id := wire.ObjectID{BirthVolumeID: r.open.share.FS.Caps().FSID}
	le.PutUint64(id.ObjectID[:], a.FileID)
	le.PutUint64(id.ObjectID[8:], r.open.share.volume())
	id.BirthObjectID = id.ObjectID
	return id.Append(nil), wire.StatusSuccess
}

// fsctlGetCompression says that the file is not compressed (MS-FSA 2.1.5.10.9).
func fsctlGetCompression(_ context.Context, _ *request, q *wire.IoctlRequest) ([]byte, wire.Status) {
	if q.MaxOutputResponse < 2 {
		return nil, wire.StatusInvalidParameter
	}
	return wire.AppendCompressionFormat(nil, wire.CompressionFormatNone), wire.StatusSuccess
}

// fsctlSetCompression accepts only "not compressed", which every file is (MS-FSA 2.1.5.10.30).
func fsctlSetCompression(_ context.Context, r *request, q *wire.IoctlRequest) ([]byte, wire.Status) {
	f, err := wire.ParseCompressionFormat(q.Input)
	switch {
	case err != nil:
		return nil, wire.StatusInvalidParameter
	case r.open.granted&(wire.FileWriteData|wire.FileAppendData) == 0:
		return nil, wire.StatusAccessDenied
	case f != wire.CompressionFormatNone:
		return nil, wire.StatusNotSupported
	}
	return nil, wire.StatusSuccess
}

// fsctlSnapshots says that there are none (MS-SMB2 3.3.5.15.1).
func fsctlSnapshots(_ context.Context, r *request, q *wire.IoctlRequest) ([]byte, wire.Status) {
	switch {
	case q.MaxOutputResponse < 16:
		return nil, wire.StatusInvalidParameter
	case r.open.granted&wire.FileReadData == 0:
		return nil, wire.StatusAccessDenied
	}
	return wire.AppendSnapshots(nil), wire.StatusSuccess
}

// fsctlFileRegions says that all of the file is valid, because unwritten parts read as zeros (MS-FSA 2.1.5.10.23).
func fsctlFileRegions(ctx context.Context, r *request, q *wire.IoctlRequest) ([]byte, wire.Status) {
	w, err := wire.ParseFileRegions(q.Input)
	switch {
	case err != nil, !w.Valid() && w.Length != math.MaxInt64, r.open.dir, w.Usage != wire.FileRegionUsageValidCachedData:
		return nil, wire.StatusInvalidParameter
	case q.MaxOutputResponse < 16:
		return nil, wire.StatusBufferTooSmall
	}
	i, err := r.open.info(ctx)
	if err != nil {
		return nil, statusOf(err)
	}
	var regions []wire.FileRegions
	if size := i.size(); w.Offset < size && w.Length > 0 {
		w.Length = min(w.Length, size-w.Offset)
		regions = append(regions, w)
	}
	out, all := wire.AppendFileRegions(nil, regions, int(q.MaxOutputResponse))
	if !all {
		return out, wire.StatusBufferOverflow
	}
	return out, wire.StatusSuccess
}

// fsctlPathname says that any name may be tried (MS-FSA 2.1.5.10.19).
func fsctlPathname(context.Context, *request, *wire.IoctlRequest) ([]byte, wire.Status) {
	return nil, wire.StatusSuccess
}

// fsctlPipeWait finds no pipe to wait for (MS-SMB2 3.3.5.15.10).
func fsctlPipeWait(_ context.Context, r *request, q *wire.IoctlRequest) ([]byte, wire.Status) {
	if !r.tree.ipc() {
		return nil, wire.StatusInvalidDeviceRequest
	}
	if _, err := wire.ParsePipeWait(q.Input); err != nil {
		return nil, wire.StatusInvalidParameter
	}
	return nil, wire.StatusObjectNameNotFound
}

// fsctlNoDFS says that there is no DFS here (MS-SMB2 3.3.5.15.2).
func fsctlNoDFS(context.Context, *request, *wire.IoctlRequest) ([]byte, wire.Status) {
	return nil, wire.StatusFSDriverRequired
}

// fsctlUnsupported answers the codes for which the specification prescribes this status if the server does not
// support them (MS-SMB2 3.3.5.15.7, 3.3.5.15.9).
func fsctlUnsupported(context.Context, *request, *wire.IoctlRequest) ([]byte, wire.Status) {
	return nil, wire.StatusNotSupported
}
