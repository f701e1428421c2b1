package smb

import (
	"context"
	"math"

	"fileserver/smb/wire"
)

// opRead handles READ (MS-SMB2 3.3.5.12).
func opRead(ctx context.Context, r *request) wire.Status {
	q, err := wire.ParseReadRequest(r.msg)
	if err != nil || q.Length > r.conn.neg.Load().maxRead {
		return wire.StatusInvalidParameter
	}
	if st := r.charge(uint64(q.Length)); st != wire.StatusSuccess {
		return st
	}
	if st := r.rdma(q.Channel, q.ChannelInfo); st != wire.StatusSuccess {
		return st
	}
	o, st := r.file(q.FileID)
	if st != wire.StatusSuccess {
		return st
	}
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
		return r.readPlaced(ctx, o, &q)
	}
	return r.readInline(ctx, o, &q)
}

// readInline reads into the response, behind its header: there it can be encrypted, and is sent from.
func (r *request) readInline(ctx context.Context, o *Open, q *wire.ReadRequest) wire.Status {
	// Linux asks for as much as RDMA could move even where it does not use it, and asks on when it gets less.
	q.Length = min(q.Length, uint32(r.conn.maxInline()))
	p, err := r.payload(wire.ReadResponseLen, int(q.Length))
	if err != nil {
		return statusDrop
	}
	n, st := o.read(ctx, p, q)
	if st != wire.StatusSuccess {
		return st
	}
	resp := wire.ReadResponse{DataOffset: wire.HeaderLen + wire.ReadResponseLen, DataLength: uint32(n)}
	r.out = resp.Append(r.out, 0)
	r.setPayload(n)
	return wire.StatusSuccess
}

// readPlaced reads into a buffer that is written to the client's memory before the response (MS-SMB2 3.3.5.12).
func (r *request) readPlaced(ctx context.Context, o *Open, q *wire.ReadRequest) wire.Status {
	if uint64(q.Length) > r.intoLen() {
		return wire.StatusInvalidParameter
	}
	buf, err := r.conn.memory(int(q.Length))
	if err != nil {
		return statusDrop
	}
	n, st := o.read(ctx, buf.Bytes(), q)
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

// read reads what the request asks for into p. Nothing, or less than the client must have, is the end of the file.
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

// intoLen is how much of the client's memory the request names, bytes.
func (r *request) intoLen() uint64 {
	n := uint64(0)
	for i := range r.into {
		n += uint64(r.into[i].Length)
	}
	return n
}
