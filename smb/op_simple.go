package smb

import (
	"context"

	"fileserver/smb/wire"
)

// opEcho handles ECHO (MS-SMB2 3.3.5.17).
func opEcho(_ context.Context, r *request) wire.Status {
	if wire.ParseEmpty(r.msg) != nil {
		return wire.StatusInvalidParameter
	}
	return r.replyEmpty()
}

// opLogoff handles LOGOFF (MS-SMB2 3.3.5.6).
func opLogoff(ctx context.Context, r *request) wire.Status {
	if wire.ParseEmpty(r.msg) != nil {
		return wire.StatusInvalidParameter
	}
	r.session.end(ctx)
	return r.replyEmpty()
}

// opTreeDisconnect handles TREE_DISCONNECT (MS-SMB2 3.3.5.8).
func opTreeDisconnect(ctx context.Context, r *request) wire.Status {
	if wire.ParseEmpty(r.msg) != nil {
		return wire.StatusInvalidParameter
	}
	r.session.removeTree(ctx, r.tree)
	r.chain.tree = nil
	return r.replyEmpty()
}
