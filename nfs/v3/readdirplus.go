package v3

import (
	"context"

	"fileserver/nfs/rpc"
	"fileserver/nfs/xdr"
)

// ReaddirplusArgs is READDIRPLUS3args (RFC 1813 3.3.17).
type ReaddirplusArgs struct {
	Dir      Handle
	Cookie   uint64
	Verf     [cookieVerf]byte
	DirCount uint32 // most bytes of the entries, without attributes and handles; one entry may have more
	MaxCount uint32 // most bytes of READDIRPLUS3resok
}

// Decode consumes the arguments.
func (a *ReaddirplusArgs) Decode(d *xdr.Decoder) {
	a.Dir.decode(d)
	a.Cookie = d.Uint64()
	copy(a.Verf[:], d.Fixed(cookieVerf))
	a.DirCount, a.MaxCount = d.Uint32(), d.Uint32()
}

// Append appends the arguments.
func (a *ReaddirplusArgs) Append(b []byte) []byte {
	b = append(xdr.AppendUint64(a.Dir.append(b), a.Cookie), a.Verf[:]...)
	return xdr.AppendUint32(xdr.AppendUint32(b, a.DirCount), a.MaxCount)
}

// ReaddirplusRes is READDIRPLUS3res (RFC 1813 3.3.17): [ReaddirRes] with attributes and handles in its entries.
type ReaddirplusRes struct{ ReaddirRes }

// Decode consumes the results.
func (r *ReaddirplusRes) Decode(d *xdr.Decoder) { r.decode(d, true) }

// Append appends the results.
func (r *ReaddirplusRes) Append(b []byte) []byte { return r.append(b, true) }

func (s *server) readdirplus(ctx context.Context, c *rpc.Call, r *rpc.Reply) rpc.AcceptStat {
	var a ReaddirplusArgs
	a.Decode(&c.Args)
	if c.Args.Finish() != nil {
		return rpc.GarbageArgs
	}
	l := listing{s: s, c: c, r: r, plus: true, maxBytes: a.MaxCount, dirBytes: a.DirCount}
	return l.serve(ctx, a.Dir, a.Cookie)
}
