package v3

import (
	"context"

	"fileserver/nfs/rpc"
)

// rmdir has the arguments and results of remove (RFC 1813 3.3.13).
func (s *server) rmdir(ctx context.Context, c *rpc.Call, r *rpc.Reply) rpc.AcceptStat {
	return s.removeName(ctx, c, r, true)
}
