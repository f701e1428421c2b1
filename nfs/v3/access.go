package v3

import (
	"context"

	"fileserver/nfs/rpc"
	"fileserver/nfs/xdr"
	"fileserver/vfs"
)

// AccessArgs is ACCESS3args (RFC 1813 3.3.4). The bits are those of [vfs.Access].
type AccessArgs struct {
	Object Handle
	Access uint32
}

// Decode consumes the arguments.
func (a *AccessArgs) Decode(d *xdr.Decoder) {
	a.Object.decode(d)
	a.Access = d.Uint32()
}

// Append appends the arguments.
func (a *AccessArgs) Append(b []byte) []byte { return xdr.AppendUint32(a.Object.append(b), a.Access) }

// AccessRes is ACCESS3res (RFC 1813 3.3.4).
type AccessRes struct {
	Status Status
	Attr   PostOpAttr
	Access uint32
}

// Decode consumes the results.
func (r *AccessRes) Decode(d *xdr.Decoder) {
	r.Status = Status(d.Uint32())
	r.Attr.decode(d)
	if r.Status == OK {
		r.Access = d.Uint32()
	}
}

// Append appends the results.
func (r *AccessRes) Append(b []byte) []byte {
	b = r.Attr.append(xdr.AppendUint32(b, uint32(r.Status)))
	if r.Status == OK {
		b = xdr.AppendUint32(b, r.Access)
	}
	return b
}

const (
	accessAll     = vfs.AccessRead | vfs.AccessLookup | vfs.AccessModify | vfs.AccessExtend | vfs.AccessDelete | vfs.AccessExecute
	accessChanges = vfs.AccessModify | vfs.AccessExtend | vfs.AccessDelete
)

func (s *server) access(ctx context.Context, c *rpc.Call, r *rpc.Reply) rpc.AcceptStat {
	var a AccessArgs
	a.Decode(&c.Args)
	if c.Args.Finish() != nil {
		return rpc.GarbageArgs
	}
	var res AccessRes
	o, st := s.resolve(ctx, c, a.Object)
	defer o.release()
	if res.Status = st; st == OK {
		want := vfs.Access(a.Access) & accessAll
		if o.export.ReadOnly {
			want &^= accessChanges
		}
		got, err := o.node.Access(ctx, o.cred, want)
		res.Status, res.Access = statusOf(err), uint32(got&want)
	}
	res.Attr = o.attr(ctx)
	return reply(c, r, res.Status, res.Append(r.Head))
}
