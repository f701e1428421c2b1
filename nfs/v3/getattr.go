package v3

import (
	"context"

	"fileserver/nfs/rpc"
	"fileserver/nfs/xdr"
)

// GetattrArgs is GETATTR3args (RFC 1813 3.3.1).
type GetattrArgs struct{ Object Handle }

// Decode consumes the arguments.
func (a *GetattrArgs) Decode(d *xdr.Decoder) { a.Object.decode(d) }

// Append appends the arguments.
func (a *GetattrArgs) Append(b []byte) []byte { return a.Object.append(b) }

// GetattrRes is GETATTR3res (RFC 1813 3.3.1).
type GetattrRes struct {
	Status Status
	Attr   Attr
}

// Decode consumes the results.
func (r *GetattrRes) Decode(d *xdr.Decoder) {
	if r.Status = Status(d.Uint32()); r.Status == OK {
		r.Attr.decode(d)
	}
}

// Append appends the results.
func (r *GetattrRes) Append(b []byte) []byte {
	b = xdr.AppendUint32(b, uint32(r.Status))
	if r.Status == OK {
		b = r.Attr.append(b)
	}
	return b
}

func (s *server) getattr(ctx context.Context, c *rpc.Call, r *rpc.Reply) rpc.AcceptStat {
	var a GetattrArgs
	a.Decode(&c.Args)
	if c.Args.Finish() != nil {
		return rpc.GarbageArgs
	}
	var res GetattrRes
	o, st := s.resolve(ctx, c, a.Object)
	defer o.release()
	if res.Status = st; st == OK {
		attr, err := o.node.GetAttr(ctx, attrMask)
		res.Status = statusOf(err)
		res.Attr = attrOf(&attr, o.export.FSID())
	}
	return reply(c, r, res.Status, res.Append(r.Head))
}
