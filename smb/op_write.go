package smb

import (
	"context"
	"math"

	"fileserver/smb/wire"
	"fileserver/vfs"
)

// opWrite handles WRITE (MS-SMB2 3.3.5.13).
func opWrite(ctx context.Context, r *request) wire.Status {
	q, err := wire.ParseWriteRequest(r.msg)
	if err != nil {
		return wire.StatusInvalidParameter
	}
	if st := r.rdma(q.Channel, q.ChannelInfo); st != wire.StatusSuccess {
		return st
	}
	n := uint64(len(q.Data))
	if len(r.into) > 0 {
		// The data is in the client's memory: none is in the request, and there is no less than is to be written.
		if n = uint64(q.RemainingBytes); len(q.Data) > 0 || n > r.intoLen() {
			return wire.StatusInvalidParameter
		}
	}
	if n > uint64(r.conn.neg.Load().maxWrite) {
		return wire.StatusInvalidParameter
	}
	if st := r.charge(n); st != wire.StatusSuccess {
		return st
	}
	o, st := r.file(q.FileID)
	if st != wire.StatusSuccess {
		return st
	}
	if st := o.mayWrite(q.Offset, n); st != wire.StatusSuccess {
		return st
	}
	r.value = o
	if rc := o.recall(0); rc != nil {
		// The client is not told: whoever caches answers soon, or is taken its claim.
		return r.await(rc, writeRecalled)
	}
	return r.startWrite(ctx, o, &q, int(n))
}

// writeRecalled goes on when nobody caches the file any more.
func writeRecalled(ctx context.Context, r *request) wire.Status {
	q, err := wire.ParseWriteRequest(r.msg)
	if err != nil {
		return wire.StatusInvalidParameter
	}
	n := len(q.Data)
	if len(r.into) > 0 {
		n = int(q.RemainingBytes)
	}
	return r.startWrite(ctx, r.open, &q, n)
}

// mayWrite checks access, range and locks. Of what goes beyond the largest file that there can be nothing is written (MS-FSA 2.1.5.4).
func (o *Open) mayWrite(off, n uint64) wire.Status {
	switch {
	case o.dir:
		return wire.StatusInvalidDeviceRequest
	case o.granted&(wire.FileWriteData|wire.FileAppendData) == 0 || o.file == nil:
		return wire.StatusAccessDenied
	case off == appendOffset && o.granted&wire.FileWriteData == 0:
		return wire.StatusSuccess
	case off > math.MaxInt64 || off+n > math.MaxInt64, n > 0 && off+n > uint64(o.tree.share.FS.Caps().MaxFileSize):
		return wire.StatusInvalidParameter
	case o.lockedByOthers(off, n, true):
		return wire.StatusFileLockConflict
	}
	return wire.StatusSuccess
}

// appendOffset is the offset of a WRITE that appends (MS-FSA 2.1.5.4). Only opens that may do nothing else have it, as with
// Windows: to all others it is a negative offset.
const appendOffset = ^uint64(0)

// startWrite writes what is in the request, or gets it from the client's memory first.
func (r *request) startWrite(ctx context.Context, o *Open, q *wire.WriteRequest, n int) wire.Status {
	if len(r.into) == 0 || n == 0 {
		return r.write(ctx, o, q, q.Data)
	}
	buf, err := r.conn.memory(n)
	if err != nil {
		return statusDrop
	}
	r.data = buf
	return r.pull(buf, 0, n, writePulled)
}

// writePulled writes what has come from the client's memory.
func writePulled(ctx context.Context, r *request) wire.Status {
	if r.placed != nil {
		r.conn.log.Debug("smb: RDMA READ failed", "err", r.placed)
		return wire.StatusInvalidParameter
	}
	q, err := wire.ParseWriteRequest(r.msg)
	if err != nil {
		return wire.StatusInvalidParameter
	}
	return r.write(ctx, r.open, &q, r.data.Bytes()[:q.RemainingBytes])
}

func (r *request) write(ctx context.Context, o *Open, q *wire.WriteRequest, data []byte) wire.Status {
	if len(data) == 0 { // anywhere (MS-FSA 2.1.5.4)
		return r.reply(&wire.WriteResponse{})
	}
	if o.granted&wire.FileWriteData == 0 {
		// Between finding the end and writing there nobody else may append.
		mu := &r.conn.srv.appends
		mu.Lock()
		defer mu.Unlock()
	}
	off, st := o.writeOffset(ctx, q.Offset, len(data))
	if st != wire.StatusSuccess {
		return st
	}
	how := vfs.Unstable
	if q.Flags&wire.WriteFlagWriteThrough != 0 && r.conn.dialect() >= wire.Dialect210 || o.writesThrough() {
		how = vfs.DataSync
	}
	n, err := o.file.WriteAt(ctx, data, off, how)
	if err != nil && n == 0 {
		return statusOf(err)
	}
	o.position.Store(uint64(off) + uint64(n))
	o.wrote(ctx)
	o.written(ctx, off+int64(n))
	return r.reply(&wire.WriteResponse{Count: uint32(n)})
}

// writeOffset is where a WRITE goes. What may append but not write goes behind the end of the file.
func (o *Open) writeOffset(ctx context.Context, off uint64, n int) (int64, wire.Status) {
	if off != appendOffset && o.granted&wire.FileWriteData != 0 {
		return int64(off), wire.StatusSuccess
	}
	a, err := o.file.GetAttr(ctx, vfs.AttrSize)
	if err != nil {
		return 0, statusOf(err)
	}
	switch {
	case off == appendOffset:
		off = a.Size
	case off < a.Size:
		return 0, wire.StatusAccessDenied
	}
	if off > math.MaxInt64 || off+uint64(n) > math.MaxInt64 {
		return 0, wire.StatusInvalidParameter
	}
	if o.lockedByOthers(off, uint64(n), true) {
		return 0, wire.StatusFileLockConflict
	}
	return int64(off), wire.StatusSuccess
}
