package smb

import (
	"context"
	"math"

	"fileserver/smb/wire"
	"fileserver/vfs"
)

// writeRequest is a WRITE (MS-SMB2 3.3.5.13).
type writeRequest struct {
	wire.WriteRequest
	n int // bytes to be written, wherever they are
}

func parseWrite(r *request) (_ operation, err error) {
	q := &r.write
	if q.WriteRequest, err = wire.ParseWriteRequest(r.msg); err != nil {
		return nil, err
	}
	q.n = len(q.Data)
	if q.Channel.RDMA() && r.conn.dialect() >= wire.Dialect300 {
		// The data is in the client's memory: none is in the request.
		if q.n = int(q.RemainingBytes); len(q.Data) > 0 {
			err = wire.StatusInvalidParameter
		}
	}
	if uint64(q.n) > uint64(r.conn.neg.Load().maxWrite) {
		err = wire.StatusInvalidParameter
	}
	return q, err
}

func (q *writeRequest) needs() needs {
	return needs{onOpen: true, file: q.FileID, bytes: uint64(q.n), channel: q.Channel, info: q.ChannelInfo}
}

// run gets the data first, if it is in the client's memory. It looks at oplocks and locks after that, so that nothing comes
// between them and the write.
func (q *writeRequest) run(ctx context.Context, r *request) wire.Status {
	o, n := r.open, uint64(q.n)
	if st := o.mayWrite(q.Offset, n); st != wire.StatusSuccess {
		return st
	}
	data := q.Data
	if len(r.into) > 0 && n > 0 {
		if n > r.intoLen() {
			return wire.StatusInvalidParameter
		}
		if r.data == nil {
			return r.pull(q.n)
		}
		data = r.data.Bytes()[:n]
	}
	if rc := o.recall(0); rc != nil {
		return r.await(rc)
	}
	if q.Offset != appendOffset && o.lockedByOthers(q.Offset, n, true) {
		return wire.StatusFileLockConflict
	}
	return q.write(ctx, r, data)
}

// mayWrite checks access and range. A WRITE that would go beyond the largest possible file writes nothing (MS-FSA 2.1.5.4).
func (o *Open) mayWrite(off, n uint64) wire.Status {
	switch {
	case o.dir:
		return wire.StatusInvalidDeviceRequest
	case o.granted&(wire.FileWriteData|wire.FileAppendData) == 0 || o.file == nil:
		return wire.StatusAccessDenied
	case off == appendOffset && o.granted&wire.FileWriteData == 0:
		return wire.StatusSuccess
	case off > math.MaxInt64 || off+n > math.MaxInt64, n > 0 && off+n > uint64(o.share.FS.Caps().MaxFileSize):
		return wire.StatusInvalidParameter
	}
	return wire.StatusSuccess
}

// appendOffset is the offset of a WRITE that appends (MS-FSA 2.1.5.4). As with Windows, only opens that have FILE_APPEND_DATA
// and not FILE_WRITE_DATA may use it: for all others it is a negative offset, and refused.
const appendOffset = ^uint64(0)

// write writes the data to the file.
func (q *writeRequest) write(ctx context.Context, r *request, data []byte) wire.Status {
	o := r.open
	if len(data) == 0 { // anywhere (MS-FSA 2.1.5.4)
		return r.reply(&wire.WriteResponse{})
	}
	off := int64(q.Offset)
	if q.Offset == appendOffset {
		// Between finding the end and writing there nobody else may append.
		mu := &r.conn.srv.appends
		mu.Lock()
		defer mu.Unlock()
		var st wire.Status
		if off, st = o.endForAppend(ctx, len(data)); st != wire.StatusSuccess {
			return st
		}
	}
	how := vfs.Unstable
	if q.Flags&wire.WriteFlagWriteThrough != 0 && r.conn.dialect() >= wire.Dialect210 || o.writesThrough() {
		how = vfs.DataSync
	}
	times := o.keepTimes(ctx)
	n, err := o.file.WriteAt(ctx, data, off, how)
	if err != nil && n == 0 {
		return statusOf(err)
	}
	o.position.Store(uint64(off) + uint64(n))
	o.restoreTimes(ctx, &times)
	o.written(ctx, off+int64(n))
	return r.reply(&wire.WriteResponse{Count: uint32(n)})
}

// endForAppend returns the end of the file, if n bytes may be written there. Server.appends is held.
func (o *Open) endForAppend(ctx context.Context, n int) (int64, wire.Status) {
	a, err := o.file.GetAttr(ctx, vfs.AttrSize)
	switch {
	case err != nil:
		return 0, statusOf(err)
	case a.Size > math.MaxInt64 || a.Size+uint64(n) > math.MaxInt64:
		return 0, wire.StatusInvalidParameter
	case o.lockedByOthers(a.Size, uint64(n), true):
		return 0, wire.StatusFileLockConflict
	}
	return int64(a.Size), wire.StatusSuccess
}
