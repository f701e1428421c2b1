package v3

import (
	"context"

	"fileserver/nfs/rpc"
	"fileserver/nfs/xdr"
	"fileserver/vfs"
)

// MkdirArgs is MKDIR3args (RFC 1813 3.3.9). The results are [CreateRes].
type MkdirArgs struct {
	Where DirOp
	Attr  SetAttr
}

// Decode consumes the arguments.
func (a *MkdirArgs) Decode(d *xdr.Decoder) {
	a.Where.decode(d)
	a.Attr.decode(d)
}

// Append appends the arguments.
func (a *MkdirArgs) Append(b []byte) []byte { return a.Attr.append(a.Where.append(b)) }

func (s *server) mkdir(ctx context.Context, c *rpc.Call, r *rpc.Reply) rpc.AcceptStat {
	var a MkdirArgs
	a.Decode(&c.Args)
	if c.Args.Finish() != nil {
		return rpc.GarbageArgs
	}
	return s.make(ctx, c, r, &a.Where, &a.Attr, func(dir *object, v *vfs.SetAttr) (vfs.Node, error) {
		n, err := dir.node.Mkdir(ctx, dir.cred, a.Where.Name, v)
		s.made(ctx, dir, a.Where.Name, vfs.KindDirectory, err)
		return n, err
	})
}
