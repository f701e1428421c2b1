package v3

import (
	"context"

	"fileserver/nfs/rpc"
	"fileserver/nfs/xdr"
)

// ReadlinkArgs is READLINK3args (RFC 1813 3.3.5).
type ReadlinkArgs struct{ Symlink Handle }

// Decode consumes the arguments.
func (a *ReadlinkArgs) Decode(d *xdr.Decoder) { a.Symlink.decode(d) }

// Append appends the arguments.
func (a *ReadlinkArgs) Append(b []byte) []byte { return a.Symlink.append(b) }

// ReadlinkRes is READLINK3res (RFC 1813 3.3.5).
type ReadlinkRes struct {
	Status Status
	Attr   PostOpAttr
	Path   string
}

// Decode consumes the results.
func (r *ReadlinkRes) Decode(d *xdr.Decoder) {
	r.Status = Status(d.Uint32())
	r.Attr.decode(d)
	if r.Status == OK {
		p := d.Payload(maxPathArg)
		r.Path = string(p.Data)
	}
}

// Append appends the results.
func (r *ReadlinkRes) Append(b []byte) []byte {
	b = r.appendHead(b)
	if r.Status == OK {
		b = xdr.AppendString(b, r.Path)
	}
	return b
}

func (r *ReadlinkRes) appendHead(b []byte) []byte {
	return r.Attr.append(xdr.AppendUint32(b, uint32(r.Status)))
}

func (s *server) readlink(ctx context.Context, c *rpc.Call, r *rpc.Reply) rpc.AcceptStat {
	var a ReadlinkArgs
	a.Decode(&c.Args)
	if c.Args.Finish() != nil {
		return rpc.GarbageArgs
	}
	var res ReadlinkRes
	o, st := s.resolve(ctx, c, a.Symlink)
	defer o.release()
	if res.Status = st; st == OK {
		path, err := o.node.Readlink(ctx, o.cred)
		res.Status, res.Path = statusOf(err), path
	}
	res.Attr = o.attr(ctx)
	if res.Status != OK || !placed(ctx, c, r, &res) {
		r.Head = res.Append(r.Head)
	}
	return reply(c, r, res.Status, r.Head)
}

// placed returns the path as a payload, if the client provides a place for it (RFC 8267 5).
func placed(ctx context.Context, c *rpc.Call, r *rpc.Reply, res *ReadlinkRes) bool {
	if len(c.Limits.Payloads) == 0 || len(res.Path) == 0 || len(res.Path) > c.Limits.Payloads[0] {
		return false
	}
	buf, err := c.Buffer(ctx, len(res.Path))
	if err != nil {
		return false
	}
	r.Head = res.appendHead(r.Head)
	r.AppendPayload(buf, 0, copy(buf.Bytes(), res.Path), true)
	return true
}
