package v3

import (
	"context"

	"fileserver/nfs/rpc"
	"fileserver/nfs/xdr"
	"fileserver/vfs"
)

// StableHow is stable_how (RFC 1813 3.3.7).
type StableHow uint32

// Stabilities, the same numbers as [vfs.Stability].
const (
	Unstable StableHow = 0
	DataSync StableHow = 1
	FileSync StableHow = 2
)

// WriteArgs is WRITE3args (RFC 1813 3.3.7).
type WriteArgs struct {
	File   Handle
	Offset uint64
	Count  uint32
	Stable StableHow
	Data   []byte // aliases the message
}

// Decode consumes the arguments.
func (a *WriteArgs) Decode(d *xdr.Decoder) {
	a.File.decode(d)
	a.Offset, a.Count = d.Uint64(), d.Uint32()
	a.Stable = StableHow(d.Uint32())
	a.Data = d.Payload(maxDataArg).Data
	if d.Err() == nil && (a.Stable > FileSync || uint64(a.Count) > uint64(len(a.Data))) {
		d.Fail(xdr.ErrBadValue)
	}
}

// Append appends the arguments, with the data.
func (a *WriteArgs) Append(b []byte) []byte { return xdr.AppendFixed(a.AppendHead(b), a.Data) }

// AppendHead appends the arguments up to the length of the data: for clients that send the data by reference.
func (a *WriteArgs) AppendHead(b []byte) []byte {
	b = xdr.AppendUint64(a.File.append(b), a.Offset)
	b = xdr.AppendUint32(b, a.Count)
	b = xdr.AppendUint32(b, uint32(a.Stable))
	return xdr.AppendUint32(b, uint32(len(a.Data)))
}

// WriteRes is WRITE3res (RFC 1813 3.3.7).
type WriteRes struct {
	Status    Status
	Wcc       WccData
	Count     uint32
	Committed StableHow
	Verf      [cookieVerf]byte
}

// Decode consumes the results.
func (r *WriteRes) Decode(d *xdr.Decoder) {
	r.Status = Status(d.Uint32())
	r.Wcc.decode(d)
	if r.Status == OK {
		r.Count, r.Committed = d.Uint32(), StableHow(d.Uint32())
		copy(r.Verf[:], d.Fixed(cookieVerf))
	}
}

// Append appends the results.
func (r *WriteRes) Append(b []byte) []byte {
	b = r.Wcc.append(xdr.AppendUint32(b, uint32(r.Status)))
	if r.Status == OK {
		b = xdr.AppendUint32(xdr.AppendUint32(b, r.Count), uint32(r.Committed))
		b = append(b, r.Verf[:]...)
	}
	return b
}

func (s *server) write(ctx context.Context, c *rpc.Call, r *rpc.Reply) rpc.AcceptStat {
	var a WriteArgs
	a.Decode(&c.Args)
	if c.Args.Finish() != nil {
		return rpc.GarbageArgs
	}
	var res WriteRes
	o, st := s.resolveChange(ctx, c, a.File)
	defer o.release()
	if res.Status = st; st == OK {
		res.Status = s.writeFile(ctx, &o, &a, &res)
	} else {
		res.Wcc.After = o.attr(ctx)
	}
	return reply(c, r, res.Status, res.Append(r.Head))
}

// writeFile writes the data, or as much of it as there is room for, and fills in res.
func (s *server) writeFile(ctx context.Context, o *object, a *WriteArgs, res *WriteRes) Status {
	data := a.Data[:min(a.Count, s.cfg.MaxIO)]
	if a.Offset > maxFileSize-uint64(len(data)) {
		res.Wcc.After = o.attr(ctx)
		return ErrFBig
	}
	f, st := s.open(ctx, o, a.Offset, uint64(len(data)), true)
	if st != OK {
		res.Wcc.After = o.attr(ctx)
		return st
	}
	defer f.Close()
	res.Verf = s.cfg.Verifier.Current() // before: what is lost while it is written must show
	n, err := f.WriteAt(ctx, data, int64(a.Offset), vfs.Stability(a.Stable))
	attr, attrErr := f.GetAttr(ctx, attrMask)
	res.Wcc.After = o.postOp(&attr, attrErr)
	if err != nil && n == 0 {
		return statusOf(err)
	}
	s.changes(o).Written(ctx, o.node)
	res.Count, res.Committed = uint32(n), a.Stable
	return OK
}
