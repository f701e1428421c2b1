package smb

import (
	"context"

	"fileserver/smb/wire"
)

// opFlush handles FLUSH (MS-SMB2 3.3.5.11).
func opFlush(ctx context.Context, r *request) wire.Status {
	q, err := wire.ParseFlushRequest(r.msg)
	if err != nil {
		return wire.StatusInvalidParameter
	}
	o, st := r.file(q.FileID)
	if st != wire.StatusSuccess {
		return st
	}
	switch {
	case o.dir:
		// Names are in the directory: whoever may add some may have them made stable (MS-FSA 2.1.5.7).
		if o.granted&(wire.FileAddFile|wire.FileAddSubdirectory) == 0 {
			return wire.StatusAccessDenied
		}
		err = o.tree.share.FS.SyncMeta(ctx, o.node)
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
