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
				CreationTime: i.times.Created, LastAccessTime: i.times.Accessed, LastWriteTime: i.times.Written, ChangeTime: i.times.Changed,
				AllocationSize: i.allocated(), EndOfFile: i.size(), FileAttributes: i.attributes,
			}
		}
	}
	o.end(ctx)
	return r.reply(&resp)
}
