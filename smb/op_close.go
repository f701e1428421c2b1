package smb

import (
	"context"

	"fileserver/smb/wire"
)

// opClose handles CLOSE (MS-SMB2 3.3.5.10).
func opClose(ctx context.Context, r *request) wire.Status {
	q, err := wire.ParseCloseRequest(r.msg)
	if err != nil {
		return wire.StatusInvalidParameter
	}
	o, st := r.file(q.FileID)
	if st != wire.StatusSuccess {
		return st
	}
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
