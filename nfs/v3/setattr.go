package v3

import (
	"context"

	"fileserver/nfs/rpc"
	"fileserver/nfs/xdr"
	"fileserver/vfs"
)

// SetattrArgs is SETATTR3args (RFC 1813 3.3.2).
type SetattrArgs struct {
	Object Handle
	Attr   SetAttr
	Guard  *Time // change nothing unless this is the ctime
}

// Decode consumes the arguments.
func (a *SetattrArgs) Decode(d *xdr.Decoder) {
	a.Object.decode(d)
	a.Attr.decode(d)
	a.Guard = nil
	if d.Bool() {
		a.Guard = new(Time)
		a.Guard.decode(d)
	}
}

// Append appends the arguments.
func (a *SetattrArgs) Append(b []byte) []byte {
	b = a.Attr.append(a.Object.append(b))
	b = xdr.AppendBool(b, a.Guard != nil)
	if a.Guard != nil {
		b = a.Guard.append(b)
	}
	return b
}

// WccRes is the results of the procedures that return nothing but wcc_data: SETATTR3res, REMOVE3res and
// RMDIR3res (RFC 1813 3.3.2, 3.3.12, 3.3.13).
type WccRes struct {
	Status Status
	Wcc    WccData
}

// Decode consumes the results.
func (r *WccRes) Decode(d *xdr.Decoder) {
	r.Status = Status(d.Uint32())
	r.Wcc.decode(d)
}

// Append appends the results.
func (r *WccRes) Append(b []byte) []byte { return r.Wcc.append(xdr.AppendUint32(b, uint32(r.Status))) }

func (s *server) setattr(ctx context.Context, c *rpc.Call, r *rpc.Reply) rpc.AcceptStat {
	var a SetattrArgs
	a.Decode(&c.Args)
	if c.Args.Finish() != nil {
		return rpc.GarbageArgs
	}
	var res WccRes
	o, st := s.resolveChange(ctx, c, a.Object)
	defer o.release()
	if res.Status = st; st == OK {
		res.Status = s.applySetattr(ctx, &o, &a)
	}
	res.Wcc.After = o.attr(ctx)
	return reply(c, r, res.Status, res.Append(r.Head))
}

func (s *server) applySetattr(ctx context.Context, o *object, a *SetattrArgs) Status {
	v, st := a.Attr.vfs()
	if st != OK {
		return st
	}
	if a.Guard != nil {
		guard := a.Guard.vfs()
		v.GuardCtime = &guard
	}
	if st := s.setAttr(ctx, o, &v); st != OK {
		return st
	}
	return o.syncMeta(ctx, o.node)
}

// setAttr changes the attributes, the size only if no open denies to write.
func (s *server) setAttr(ctx context.Context, o *object, v *vfs.SetAttr) Status {
	if v.Mask&vfs.AttrSize != 0 {
		if st := s.checkIO(ctx, o, v.Size, maxFileSize, true); st != OK {
			return st
		}
	}
	err := o.node.SetAttr(ctx, o.cred, v)
	if err == nil {
		s.changes(o).Set(ctx, o.node, v.Mask)
	}
	return statusOf(err)
}
