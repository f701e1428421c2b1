package v3

import (
	"context"

	"fileserver/nfs/rpc"
	"fileserver/nfs/xdr"
	"fileserver/vfs"
)

// CommitArgs is COMMIT3args (RFC 1813 3.3.21).
type CommitArgs struct {
	File   Handle
	Offset uint64
	Count  uint32 // 0: up to the end
}

// Decode consumes the arguments.
func (a *CommitArgs) Decode(d *xdr.Decoder) {
	a.File.decode(d)
	a.Offset, a.Count = d.Uint64(), d.Uint32()
}

// Append appends the arguments.
func (a *CommitArgs) Append(b []byte) []byte {
	return xdr.AppendUint32(xdr.AppendUint64(a.File.append(b), a.Offset), a.Count)
}

// CommitRes is COMMIT3res (RFC 1813 3.3.21).
type CommitRes struct {
	Status Status
	Wcc    WccData
	Verf   [cookieVerf]byte
}

// Decode consumes the results.
func (r *CommitRes) Decode(d *xdr.Decoder) {
	r.Status = Status(d.Uint32())
	r.Wcc.decode(d)
	if r.Status == OK {
		copy(r.Verf[:], d.Fixed(cookieVerf))
	}
}

// Append appends the results.
func (r *CommitRes) Append(b []byte) []byte {
	b = r.Wcc.append(xdr.AppendUint32(b, uint32(r.Status)))
	if r.Status == OK {
		b = append(b, r.Verf[:]...)
	}
	return b
}

func (s *server) commit(ctx context.Context, c *rpc.Call, r *rpc.Reply) rpc.AcceptStat {
	var a CommitArgs
	a.Decode(&c.Args)
	if c.Args.Finish() != nil {
		return rpc.GarbageArgs
	}
	var res CommitRes
	o, st := s.resolveChange(ctx, c, a.File)
	defer o.release()
	if res.Status = st; st == OK {
		res.Status = s.commitFile(ctx, &o, &a)
		res.Verf = s.cfg.Verifier.Current() // after: what was lost until now must show
	}
	res.Wcc.After = o.attr(ctx)
	return reply(c, r, res.Status, res.Append(r.Head))
}

func (s *server) commitFile(ctx context.Context, o *object, a *CommitArgs) Status {
	off, n := int64(a.Offset), int64(a.Count)
	if a.Offset > maxFileSize-uint64(a.Count) {
		off, n = 0, 0 // nothing can be there: all is more than was asked
	}
	f, err := o.node.Open(ctx, o.cred, vfs.OpenWrite|vfs.AccessOwnerOverride)
	if vfs.StatusOf(err) == vfs.ErrAccess { // the writer may have lost the right to write since
		f, err = o.node.Open(ctx, o.cred, vfs.OpenRead|vfs.AccessOwnerOverride)
	}
	if err != nil {
		return statusOf(err)
	}
	defer f.Close()
	if err := f.Commit(ctx, off, n); err != nil {
		s.cfg.Verifier.Lost()
		return statusOf(err)
	}
	return OK
}
