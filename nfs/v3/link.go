package v3

import (
	"context"

	"fileserver/nfs/rpc"
	"fileserver/nfs/xdr"
)

// LinkArgs is LINK3args (RFC 1813 3.3.15).
type LinkArgs struct {
	File Handle
	Link DirOp
}

// Decode consumes the arguments.
func (a *LinkArgs) Decode(d *xdr.Decoder) {
	a.File.decode(d)
	a.Link.decode(d)
}

// Append appends the arguments.
func (a *LinkArgs) Append(b []byte) []byte { return a.Link.append(a.File.append(b)) }

// LinkRes is LINK3res (RFC 1813 3.3.15).
type LinkRes struct {
	Status Status
	File   PostOpAttr
	Dir    WccData
}

// Decode consumes the results.
func (r *LinkRes) Decode(d *xdr.Decoder) {
	r.Status = Status(d.Uint32())
	r.File.decode(d)
	r.Dir.decode(d)
}

// Append appends the results.
func (r *LinkRes) Append(b []byte) []byte {
	return r.Dir.append(r.File.append(xdr.AppendUint32(b, uint32(r.Status))))
}

func (s *server) link(ctx context.Context, c *rpc.Call, r *rpc.Reply) rpc.AcceptStat {
	var a LinkArgs
	a.Decode(&c.Args)
	if c.Args.Finish() != nil {
		return rpc.GarbageArgs
	}
	var res LinkRes
	file, st := s.resolveChange(ctx, c, a.File)
	defer file.release()
	dir, stDir := s.resolveChange(ctx, c, a.Link.Dir)
	defer dir.release()
	switch {
	case st != OK:
	case stDir != OK:
		st = stDir
	case file.export != dir.export:
		st = ErrXDev
	case a.Link.Name == "." || a.Link.Name == "..":
		st = ErrExist
	}
	if res.Status = st; st != OK {
		res.File, res.Dir.After = file.attr(ctx), dir.attr(ctx)
		return reply(c, r, st, res.Append(r.Head))
	}
	change := s.beginChange(ctx, &dir, &res.Dir)
	if res.Status = statusOf(dir.node.Link(ctx, dir.cred, a.Link.Name, file.node)); res.Status == OK {
		s.changes(&dir).Added(ctx, dir.node, a.Link.Name, file.node.Kind())
	}
	res.Dir.After = dir.attr(ctx)
	change.end()
	if res.Status == OK {
		res.Status = dir.syncMeta(ctx, dir.node, file.node)
	}
	res.File = file.attr(ctx)
	return reply(c, r, res.Status, res.Append(r.Head))
}
