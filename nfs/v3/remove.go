package v3

import (
	"context"

	"fileserver/nfs/rpc"
	"fileserver/nfs/xdr"
)

// RemoveArgs is REMOVE3args and RMDIR3args (RFC 1813 3.3.12, 3.3.13). The results are [WccRes].
type RemoveArgs struct{ Object DirOp }

// Decode consumes the arguments.
func (a *RemoveArgs) Decode(d *xdr.Decoder) { a.Object.decode(d) }

// Append appends the arguments.
func (a *RemoveArgs) Append(b []byte) []byte { return a.Object.append(b) }

func (s *server) remove(ctx context.Context, c *rpc.Call, r *rpc.Reply) rpc.AcceptStat {
	return s.removeName(ctx, c, r, false)
}

// removeName is REMOVE and RMDIR.
func (s *server) removeName(ctx context.Context, c *rpc.Call, r *rpc.Reply, isDir bool) rpc.AcceptStat {
	var a RemoveArgs
	a.Decode(&c.Args)
	if c.Args.Finish() != nil {
		return rpc.GarbageArgs
	}
	var res WccRes
	dir, st := s.resolveChange(ctx, c, a.Object.Dir)
	defer dir.release()
	if st == OK {
		st = dotName(a.Object.Name, isDir)
	}
	if st == OK && !isDir {
		st = s.recallName(ctx, &dir, a.Object.Name)
	}
	if res.Status = st; st != OK {
		res.Wcc.After = dir.attr(ctx)
		return reply(c, r, st, res.Append(r.Head))
	}
	change := s.beginChange(ctx, &dir, &res.Wcc)
	was := s.changes(&dir).Named(ctx, dir.node, a.Object.Name)
	if res.Status = statusOf(dir.node.Remove(ctx, dir.cred, a.Object.Name, isDir)); res.Status == OK {
		s.changes(&dir).Removed(ctx, dir.node, a.Object.Name, was)
	}
	res.Wcc.After = dir.attr(ctx)
	change.end()
	if res.Status == OK {
		res.Status = dir.syncMeta(ctx, dir.node)
	}
	return reply(c, r, res.Status, res.Append(r.Head))
}

// dotName refuses the names that stand for directories in use (RFC 1813 3.3.13).
func dotName(name string, isDir bool) Status {
	switch {
	case name == ".":
		return ErrInval
	case name == ".." && isDir:
		return ErrExist
	case name == "..":
		return ErrInval
	}
	return OK
}
