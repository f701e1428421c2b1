package v3

import (
	"context"

	"fileserver/nfs/rpc"
	"fileserver/nfs/xdr"
	"fileserver/vfs"
)

// MknodArgs is MKNOD3args (RFC 1813 3.3.11). The results are [CreateRes].
type MknodArgs struct {
	Where DirOp
	Type  FileType
	Attr  SetAttr // character and block devices, sockets, FIFOs
	Dev   vfs.Dev // devices
}

func (a *MknodArgs) isDevice() bool  { return a.Type == TypeChr || a.Type == TypeBlk }
func (a *MknodArgs) isSpecial() bool { return a.isDevice() || a.Type == TypeSock || a.Type == TypeFIFO }

// Decode consumes the arguments.
func (a *MknodArgs) Decode(d *xdr.Decoder) {
	a.Where.decode(d)
	a.Type = FileType(d.Uint32())
	if a.isSpecial() {
		a.Attr.decode(d)
	}
	if a.isDevice() {
		a.Dev.Major, a.Dev.Minor = d.Uint32(), d.Uint32()
	}
}

// Append appends the arguments.
func (a *MknodArgs) Append(b []byte) []byte {
	b = xdr.AppendUint32(a.Where.append(b), uint32(a.Type))
	if a.isSpecial() {
		b = a.Attr.append(b)
	}
	if a.isDevice() {
		b = xdr.AppendUint32(xdr.AppendUint32(b, a.Dev.Major), a.Dev.Minor)
	}
	return b
}

func (s *server) mknod(ctx context.Context, c *rpc.Call, r *rpc.Reply) rpc.AcceptStat {
	var a MknodArgs
	a.Decode(&c.Args)
	if c.Args.Finish() != nil {
		return rpc.GarbageArgs
	}
	var kind vfs.Kind
	switch a.Type {
	case TypeChr:
		kind = vfs.KindChar
	case TypeBlk:
		kind = vfs.KindBlock
	case TypeSock:
		kind = vfs.KindSocket
	case TypeFIFO:
		kind = vfs.KindFIFO
	default:
		res := CreateRes{Status: ErrBadType}
		return reply(c, r, res.Status, res.Append(r.Head))
	}
	return s.make(ctx, c, r, &a.Where, &a.Attr, func(dir *object, v *vfs.SetAttr) (vfs.Node, error) {
		if dir.export.FS.Caps().NoSpecial {
			return nil, vfs.ErrUnsupported
		}
		n, err := dir.node.Mknod(ctx, dir.cred, a.Where.Name, kind, a.Dev, v)
		s.made(ctx, dir, a.Where.Name, kind, err)
		return n, err
	})
}
