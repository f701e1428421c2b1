package smb

import (
	"context"

	"fileserver/smb/wire"
)

// closeRequest is a CLOSE (MS-SMB2 3.3.5.10).
type closeRequest struct{ wire.CloseRequest }

func parseClose(r *request) (operation, error) {
	q, err := wire.ParseCloseRequest(r.msg)
	return &closeRequest{q}, err
}

func (q *closeRequest) needs() needs { return needs{onOpen: true, file: q.FileID} }

func (q *closeRequest) run(ctx context.Context, r *request) wire.Status {
	o := r.open
	if !r.session.take(o) {
		return wire.StatusFileClosed
	}
	var resp wire.CloseResponse
	if q.Flags&wire.CloseFlagPostQueryAttrib != 0 {
		if i, err := o.info(ctx); err == nil {
			resp = wire.CloseResponse{
				Flags:        wire.CloseFlagPostQueryAttrib,
				CreationTime: i.times.Creation, LastAccessTime: i.times.LastAccess, LastWriteTime: i.times.LastWrite, ChangeTime: i.times.Change,
				AllocationSize: i.allocated(), EndOfFile: i.size(), FileAttributes: i.dos,
			}
		}
	}
	o.end(ctx)
	return r.reply(&resp)
}
