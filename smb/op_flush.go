package smb

import (
	"context"

	"fileserver/smb/wire"
)

// flushRequest is a FLUSH (MS-SMB2 3.3.5.11).
type flushRequest struct{ wire.FlushRequest }

func parseFlush(r *request) (operation, error) {
	q, err := wire.ParseFlushRequest(r.msg)
	return &flushRequest{q}, err
}

func (q *flushRequest) needs() needs { return needs{onOpen: true, file: q.FileID} }

func (q *flushRequest) run(ctx context.Context, r *request) wire.Status {
	o := r.open
	var err error
	switch {
	case o.dir:
		// A FLUSH of a directory makes its names stable, so it needs a right to add names (MS-FSA 2.1.5.7).
		if o.granted&(wire.FileAddFile|wire.FileAddSubdirectory) == 0 {
			return wire.StatusAccessDenied
		}
		err = o.share.FS.SyncMeta(ctx, o.object())
	case o.granted&(wire.FileWriteData|wire.FileAppendData) == 0 || o.file == nil:
		return wire.StatusAccessDenied
	default:
		err = o.file.Commit(ctx, 0, 0)
	}
	if err != nil {
		return statusOf(err)
	}
	return r.replyEmpty()
}
