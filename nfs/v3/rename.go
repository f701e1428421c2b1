package v3

import (
	"context"

	"fileserver/nfs/rpc"
	"fileserver/nfs/xdr"
)

// RenameArgs is RENAME3args (RFC 1813 3.3.14).
type RenameArgs struct{ From, To DirOp }

// Decode consumes the arguments.
func (a *RenameArgs) Decode(d *xdr.Decoder) {
	a.From.decode(d)
	a.To.decode(d)
}

// Append appends the arguments.
func (a *RenameArgs) Append(b []byte) []byte { return a.To.append(a.From.append(b)) }

// RenameRes is RENAME3res (RFC 1813 3.3.14).
type RenameRes struct {
	Status   Status
	From, To WccData
}

// Decode consumes the results.
func (r *RenameRes) Decode(d *xdr.Decoder) {
	r.Status = Status(d.Uint32())
	r.From.decode(d)
	r.To.decode(d)
}

// Append appends the results.
func (r *RenameRes) Append(b []byte) []byte {
	return r.To.append(r.From.append(xdr.AppendUint32(b, uint32(r.Status))))
}

func (s *server) rename(ctx context.Context, c *rpc.Call, r *rpc.Reply) rpc.AcceptStat {
	var a RenameArgs
	a.Decode(&c.Args)
	if c.Args.Finish() != nil {
		return rpc.GarbageArgs
	}
	var res RenameRes
	from, st := s.resolveChange(ctx, c, a.From.Dir)
	defer from.release()
	to, stTo := s.resolveChange(ctx, c, a.To.Dir)
	defer to.release()
	switch {
	case st != OK:
	case stTo != OK:
		st = stTo
	case from.export != to.export:
		st = ErrXDev
	default:
		if st = dotName(a.From.Name, false); st == OK {
			st = dotName(a.To.Name, false)
		}
		if st == OK {
			st = s.recallName(ctx, &from, a.From.Name)
		}
		if st == OK {
			st = s.recallName(ctx, &to, a.To.Name)
		}
	}
	if res.Status = st; st != OK {
		res.From.After, res.To.After = from.attr(ctx), to.attr(ctx)
		return reply(c, r, st, res.Append(r.Head))
	}
	change := s.beginChange2(ctx, &from, &to, &res.From, &res.To)
	told := s.changes(&from)
	was, replaced := told.Named(ctx, from.node, a.From.Name), told.Named(ctx, to.node, a.To.Name)
	if res.Status = statusOf(from.node.Rename(ctx, from.cred, a.From.Name, to.node, a.To.Name)); res.Status == OK {
		told.Renamed(ctx, from.node, a.From.Name, was, to.node, a.To.Name, replaced)
	}
	res.From.After, res.To.After = from.attr(ctx), to.attr(ctx)
	change.end()
	if res.Status == OK {
		res.Status = from.syncMeta(ctx, from.node, to.node)
	}
	return reply(c, r, res.Status, res.Append(r.Head))
}
