package v3

import (
	"context"

	"fileserver/nfs/rpc"
	"fileserver/nfs/xdr"
	"fileserver/vfs"
)

// LookupArgs is LOOKUP3args (RFC 1813 3.3.3).
type LookupArgs struct{ What DirOp }

// Decode consumes the arguments.
func (a *LookupArgs) Decode(d *xdr.Decoder) { a.What.decode(d) }

// Append appends the arguments.
func (a *LookupArgs) Append(b []byte) []byte { return a.What.append(b) }

// LookupRes is LOOKUP3res (RFC 1813 3.3.3).
type LookupRes struct {
	Status Status
	Object Handle
	Attr   PostOpAttr // of the object
	Dir    PostOpAttr
}

// Decode consumes the results.
func (r *LookupRes) Decode(d *xdr.Decoder) {
	if r.Status = Status(d.Uint32()); r.Status == OK {
		r.Object.decode(d)
		r.Attr.decode(d)
	}
	r.Dir.decode(d)
}

// Append appends the results.
func (r *LookupRes) Append(b []byte) []byte {
	b = xdr.AppendUint32(b, uint32(r.Status))
	if r.Status == OK {
		b = r.Object.append(b)
		b = r.Attr.append(b)
	}
	return r.Dir.append(b)
}

func (s *server) lookup(ctx context.Context, c *rpc.Call, r *rpc.Reply) rpc.AcceptStat {
	var a LookupArgs
	a.Decode(&c.Args)
	if c.Args.Finish() != nil {
		return rpc.GarbageArgs
	}
	var res LookupRes
	dir, st := s.resolve(ctx, c, a.What.Dir)
	defer dir.release()
	if res.Status = st; st == OK {
		var n vfs.Node
		n, err := dir.lookup(ctx, a.What.Name)
		if res.Status = statusOf(err); err == nil {
			child := object{dir.export, n, dir.cred}
			defer child.release()
			res.Object, res.Attr = dir.fileHandle(n), child.attr(ctx)
		}
	}
	res.Dir = dir.attr(ctx)
	return reply(c, r, res.Status, res.Append(r.Head))
}

// lookup finds a name, "." and ".." included (RFC 1813 3.3.3); nothing is above the root of the export.
func (o *object) lookup(ctx context.Context, name string) (vfs.Node, error) {
	switch name {
	case "..":
		return o.node.Parent(ctx, o.cred)
	case ".":
		if o.node.Kind() != vfs.KindDirectory {
			return nil, vfs.ErrNotDir
		}
		return o.export.FS.Resolve(ctx, o.node.Handle())
	}
	return o.node.Lookup(ctx, o.cred, name)
}
