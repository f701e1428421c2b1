package v3

import (
	"context"

	"fileserver/nfs/rpc"
	"fileserver/nfs/xdr"
)

// Properties of file systems (RFC 1813 3.3.19).
const (
	PropLink        = 0x01 // there are hard links
	PropSymlink     = 0x02 // there are symbolic links
	PropHomogeneous = 0x08 // PATHCONF is the same for all objects
	PropCanSetTime  = 0x10 // SETATTR sets times exactly
)

// FsinfoRes is FSINFO3res (RFC 1813 3.3.19). Sizes are in bytes.
type FsinfoRes struct {
	Status                Status
	Attr                  PostOpAttr
	RtMax, RtPref, RtMult uint32
	WtMax, WtPref, WtMult uint32
	DtPref                uint32
	MaxFileSize           uint64
	TimeDelta             Time
	Properties            uint32
}

// Decode consumes the results.
func (r *FsinfoRes) Decode(d *xdr.Decoder) {
	r.Status = Status(d.Uint32())
	r.Attr.decode(d)
	if r.Status == OK {
		r.RtMax, r.RtPref, r.RtMult = d.Uint32(), d.Uint32(), d.Uint32()
		r.WtMax, r.WtPref, r.WtMult = d.Uint32(), d.Uint32(), d.Uint32()
		r.DtPref, r.MaxFileSize = d.Uint32(), d.Uint64()
		r.TimeDelta.decode(d)
		r.Properties = d.Uint32()
	}
}

// Append appends the results.
func (r *FsinfoRes) Append(b []byte) []byte {
	b = r.Attr.append(xdr.AppendUint32(b, uint32(r.Status)))
	if r.Status == OK {
		for _, v := range [...]uint32{r.RtMax, r.RtPref, r.RtMult, r.WtMax, r.WtPref, r.WtMult, r.DtPref} {
			b = xdr.AppendUint32(b, v)
		}
		b = r.TimeDelta.append(xdr.AppendUint64(b, r.MaxFileSize))
		b = xdr.AppendUint32(b, r.Properties)
	}
	return b
}

func (s *server) fsinfo(ctx context.Context, c *rpc.Call, r *rpc.Reply) rpc.AcceptStat {
	var a FsArgs
	a.Decode(&c.Args)
	if c.Args.Finish() != nil {
		return rpc.GarbageArgs
	}
	var res FsinfoRes
	o, st := s.resolve(ctx, c, a.Object)
	defer o.release()
	if res.Status = st; st == OK {
		caps := o.export.FS.Caps()
		n := s.cfg.MaxIO
		res.RtMax, res.RtPref, res.RtMult = n, n, 1
		res.WtMax, res.WtPref, res.WtMult = n, n, 1
		res.DtPref = prefDir
		res.MaxFileSize = uint64(caps.MaxFileSize)
		res.TimeDelta = Time{uint32(caps.TimeGranularity / 1e9), uint32(caps.TimeGranularity % 1e9)}
		res.Properties = PropLink | PropSymlink | PropHomogeneous | PropCanSetTime
	}
	res.Attr = o.attr(ctx)
	return reply(c, r, res.Status, res.Append(r.Head))
}
