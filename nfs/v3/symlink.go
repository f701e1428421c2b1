package v3

import (
	"context"

	"fileserver/nfs/rpc"
	"fileserver/nfs/xdr"
	"fileserver/vfs"
)

// SymlinkArgs is SYMLINK3args (RFC 1813 3.3.10). The results are [CreateRes].
type SymlinkArgs struct {
	Where DirOp
	Attr  SetAttr
	Path  string
}

// Decode consumes the arguments. The path may come in a chunk (RFC 8267 5).
func (a *SymlinkArgs) Decode(d *xdr.Decoder) {
	a.Where.decode(d)
	a.Attr.decode(d)
	a.Path = string(d.Payload(maxPathArg).Data)
}

// Append appends the arguments.
func (a *SymlinkArgs) Append(b []byte) []byte {
	return xdr.AppendString(a.Attr.append(a.Where.append(b)), a.Path)
}

func (s *server) symlink(ctx context.Context, c *rpc.Call, r *rpc.Reply) rpc.AcceptStat {
	var a SymlinkArgs
	a.Decode(&c.Args)
	if c.Args.Finish() != nil {
		return rpc.GarbageArgs
	}
	return s.make(ctx, c, r, &a.Where, &a.Attr, func(dir *object, v *vfs.SetAttr) (vfs.Node, error) {
		n, err := dir.node.Symlink(ctx, dir.cred, a.Where.Name, a.Path, v)
		s.made(ctx, dir, a.Where.Name, vfs.KindSymlink, err)
		return n, err
	})
}
