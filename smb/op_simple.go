package smb

import (
	"context"

	"fileserver/smb/wire"
)

// echoRequest is an ECHO (MS-SMB2 3.3.5.17).
type echoRequest struct{ needsNothing }

func parseEcho(r *request) (operation, error) { return echoRequest{}, wire.ParseEmpty(r.msg) }

func (echoRequest) run(_ context.Context, r *request) wire.Status {
	return r.replyEmpty()
}

// logoffRequest is a LOGOFF (MS-SMB2 3.3.5.6).
type logoffRequest struct{ needsNothing }

func parseLogoff(r *request) (operation, error) { return logoffRequest{}, wire.ParseEmpty(r.msg) }

func (logoffRequest) run(ctx context.Context, r *request) wire.Status {
	r.session.end(ctx)
	return r.replyEmpty()
}

// treeDisconnectRequest is a TREE_DISCONNECT (MS-SMB2 3.3.5.8).
type treeDisconnectRequest struct{ needsNothing }

func parseTreeDisconnect(r *request) (operation, error) {
	return treeDisconnectRequest{}, wire.ParseEmpty(r.msg)
}

func (treeDisconnectRequest) run(ctx context.Context, r *request) wire.Status {
	r.session.removeTree(ctx, r.tree)
	r.compound.tree = nil
	return r.replyEmpty()
}
