package smb

import (
	"context"
	"math"

	"fileserver/smb/wire"
)

// readRequest is a READ (MS-SMB2 3.3.5.12).
type readRequest struct{ wire.ReadRequest }

func parseRead(r *request) (_ operation, err error) {
	q := &r.read
	if q.ReadRequest, err = wire.ParseReadRequest(r.msg); err != nil {
		return nil, err
	}
	if q.Length > r.conn.neg.Load().maxRead {
		err = wire.StatusInvalidParameter
	}
	return q, err
}

func (q *readRequest) needs() needs {
	return needs{onOpen: true, file: q.FileID, bytes: uint64(q.Length), channel: q.Channel, info: q.ChannelInfo}
}

func (q *readRequest) run(ctx context.Context, r *request) wire.Status {
	o := r.open
	switch {
	case o.dir:
		return wire.StatusInvalidDeviceRequest
	case o.granted&(wire.FileReadData|wire.FileExecute) == 0 || o.file == nil:
		return wire.StatusAccessDenied
	case q.Offset > math.MaxInt64 || q.Offset+uint64(q.Length) > math.MaxInt64:
		return wire.StatusInvalidParameter
	}
	if o.lockedByOthers(q.Offset, uint64(q.Length), false) {
		return wire.StatusFileLockConflict
	}
	if len(r.into) > 0 && q.Length > 0 {
		return q.placed(ctx, r)
	}
	return q.inline(ctx, r)
}

// inline reads into the response, behind its header, so that the data can be encrypted and sent from there.
func (q *readRequest) inline(ctx context.Context, r *request) wire.Status {
	// Linux asks for as much as RDMA could move even if it does not use RDMA. If it gets less, it asks for the rest.
	q.Length = min(q.Length, uint32(r.conn.maxInline()))
	p, err := r.payload(wire.ReadResponseLen, int(q.Length))
	if err != nil {
		return statusDrop
	}
	n, st := r.open.read(ctx, p, &q.ReadRequest)
	if st != wire.StatusSuccess {
		return st
	}
	resp := wire.ReadResponse{DataOffset: wire.HeaderLen + wire.ReadResponseLen, DataLength: uint32(n)}
	r.out = resp.Append(r.out, 0)
	r.setPayload(n)
	return wire.StatusSuccess
}

// placed reads into a buffer that is written to the client's memory before the response is sent (MS-SMB2 3.3.5.12).
func (q *readRequest) placed(ctx context.Context, r *request) wire.Status {
	if uint64(q.Length) > r.intoLen() {
		return wire.StatusInvalidParameter
	}
	buf, err := r.conn.memory(int(q.Length))
	if err != nil {
		return statusDrop
	}
	n, st := r.open.read(ctx, buf.Bytes(), &q.ReadRequest)
	if st != wire.StatusSuccess {
		buf.Release()
		return st
	}
	resp := wire.ReadResponse{DataOffset: wire.HeaderLen + wire.ReadResponseLen, DataRemaining: uint32(n)}
	if n == 0 {
		buf.Release()
	} else {
		r.placeInto(buf, 0, n)
	}
	if r.room(smallRoom) != nil {
		return statusDrop
	}
	return r.reply(&resp)
}

// read reads what the request asks for into p. The end of the file is reached if there is nothing to read, or less
// than the client's minimum.
func (o *Open) read(ctx context.Context, p []byte, q *wire.ReadRequest) (int, wire.Status) {
	n, _, err := o.file.ReadAt(ctx, p, int64(q.Offset))
	switch {
	case err != nil:
		return 0, statusOf(err)
	case n == 0 && q.Length > 0, n < int(min(q.MinimumCount, math.MaxInt32)):
		return 0, wire.StatusEndOfFile
	}
	o.position.Store(q.Offset + uint64(n))
	return n, wire.StatusSuccess
}
