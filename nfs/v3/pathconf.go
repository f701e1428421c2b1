package v3

import (
	"context"

	"fileserver/nfs/rpc"
	"fileserver/nfs/xdr"
)

// PathconfRes is PATHCONF3res (RFC 1813 3.3.20).
type PathconfRes struct {
	Status          Status
	Attr            PostOpAttr
	LinkMax         uint32
	NameMax         uint32 // bytes
	NoTrunc         bool   // longer names are refused, not cut
	ChownRestricted bool   // only the superuser gives files away
	CaseInsensitive bool
	CasePreserving  bool
}

// Decode consumes the results.
func (r *PathconfRes) Decode(d *xdr.Decoder) {
	r.Status = Status(d.Uint32())
	r.Attr.decode(d)
	if r.Status == OK {
		r.LinkMax, r.NameMax = d.Uint32(), d.Uint32()
		r.NoTrunc, r.ChownRestricted, r.CaseInsensitive, r.CasePreserving = d.Bool(), d.Bool(), d.Bool(), d.Bool()
	}
}

// Append appends the results.
func (r *PathconfRes) Append(b []byte) []byte {
	b = r.Attr.append(xdr.AppendUint32(b, uint32(r.Status)))
	if r.Status == OK {
		b = xdr.AppendUint32(xdr.AppendUint32(b, r.LinkMax), r.NameMax)
		for _, v := range [...]bool{r.NoTrunc, r.ChownRestricted, r.CaseInsensitive, r.CasePreserving} {
			b = xdr.AppendBool(b, v)
		}
	}
	return b
}

func (s *server) pathconf(ctx context.Context, c *rpc.Call, r *rpc.Reply) rpc.AcceptStat {
	var a FsArgs
	a.Decode(&c.Args)
	if c.Args.Finish() != nil {
		return rpc.GarbageArgs
	}
	var res PathconfRes
	o, st := s.resolve(ctx, c, a.Object)
	defer o.release()
	if res.Status = st; st == OK {
		caps := o.export.FS.Caps()
		res.LinkMax, res.NameMax = caps.MaxLink, uint32(caps.MaxName)
		res.NoTrunc, res.ChownRestricted, res.CasePreserving = true, true, true
		res.CaseInsensitive = caps.CaseInsensitive
	}
	res.Attr = o.attr(ctx)
	return reply(c, r, res.Status, res.Append(r.Head))
}
