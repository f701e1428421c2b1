package v3

import (
	"context"

	"fileserver/nfs/rpc"
	"fileserver/nfs/xdr"
)

// FsArgs is FSSTAT3args, FSINFO3args and PATHCONF3args (RFC 1813 3.3.18 to 3.3.20).
type FsArgs struct{ Object Handle }

// Decode consumes the arguments.
func (a *FsArgs) Decode(d *xdr.Decoder) { a.Object.decode(d) }

// Append appends the arguments.
func (a *FsArgs) Append(b []byte) []byte { return a.Object.append(b) }

// FsstatRes is FSSTAT3res (RFC 1813 3.3.18).
type FsstatRes struct {
	Status                            Status
	Attr                              PostOpAttr
	TotalBytes, FreeBytes, AvailBytes uint64
	TotalFiles, FreeFiles, AvailFiles uint64
	InvarSec                          uint32 // seconds in which this is not expected to change
}

// Decode consumes the results.
func (r *FsstatRes) Decode(d *xdr.Decoder) {
	r.Status = Status(d.Uint32())
	r.Attr.decode(d)
	if r.Status == OK {
		r.TotalBytes, r.FreeBytes, r.AvailBytes = d.Uint64(), d.Uint64(), d.Uint64()
		r.TotalFiles, r.FreeFiles, r.AvailFiles = d.Uint64(), d.Uint64(), d.Uint64()
		r.InvarSec = d.Uint32()
	}
}

// Append appends the results.
func (r *FsstatRes) Append(b []byte) []byte {
	b = r.Attr.append(xdr.AppendUint32(b, uint32(r.Status)))
	if r.Status == OK {
		for _, v := range [...]uint64{r.TotalBytes, r.FreeBytes, r.AvailBytes, r.TotalFiles, r.FreeFiles, r.AvailFiles} {
			b = xdr.AppendUint64(b, v)
		}
		b = xdr.AppendUint32(b, r.InvarSec)
	}
	return b
}

func (s *server) fsstat(ctx context.Context, c *rpc.Call, r *rpc.Reply) rpc.AcceptStat {
	var a FsArgs
	a.Decode(&c.Args)
	if c.Args.Finish() != nil {
		return rpc.GarbageArgs
	}
	var res FsstatRes
	o, st := s.resolve(ctx, c, a.Object)
	defer o.release()
	if res.Status = st; st == OK {
		fs, err := o.export.FS.StatFS(ctx, o.cred)
		res.Status = statusOf(err)
		res.TotalBytes, res.FreeBytes, res.AvailBytes = fs.TotalBytes, fs.FreeBytes, fs.AvailBytes
		res.TotalFiles, res.FreeFiles, res.AvailFiles = fs.TotalFiles, fs.FreeFiles, fs.AvailFiles
	}
	res.Attr = o.attr(ctx)
	return reply(c, r, res.Status, res.Append(r.Head))
}
