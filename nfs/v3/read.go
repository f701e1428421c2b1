package v3

import (
	"context"

	"fileserver/internal/slab"
	"fileserver/nfs/rpc"
	"fileserver/nfs/xdr"
	"fileserver/vfs"
)

// ReadArgs is READ3args (RFC 1813 3.3.6).
type ReadArgs struct {
	File   Handle
	Offset uint64
	Count  uint32
}

// Decode consumes the arguments.
func (a *ReadArgs) Decode(d *xdr.Decoder) {
	a.File.decode(d)
	a.Offset, a.Count = d.Uint64(), d.Uint32()
}

// Append appends the arguments.
func (a *ReadArgs) Append(b []byte) []byte {
	return xdr.AppendUint32(xdr.AppendUint64(a.File.append(b), a.Offset), a.Count)
}

// ReadRes is READ3res (RFC 1813 3.3.6).
type ReadRes struct {
	Status Status
	Attr   PostOpAttr
	Count  uint32
	EOF    bool
	Data   []byte // what Decode found; the server appends it by reference
}

// readHead is what precedes the data in the results of a READ, its length included, bytes.
const readHead = 4 + postOpSize + 4 + 4 + 4

// Decode consumes the results. Data aliases the message.
func (r *ReadRes) Decode(d *xdr.Decoder) {
	r.Status = Status(d.Uint32())
	r.Attr.decode(d)
	if r.Status == OK {
		r.Count, r.EOF = d.Uint32(), d.Bool()
		r.Data = d.Payload(maxDataArg).Data
	}
}

// Append appends the results, with the data.
func (r *ReadRes) Append(b []byte) []byte {
	b = r.appendHead(b)
	if r.Status == OK {
		b = xdr.AppendOpaque(b, r.Data)
	}
	return b
}

func (r *ReadRes) appendHead(b []byte) []byte {
	b = r.Attr.append(xdr.AppendUint32(b, uint32(r.Status)))
	if r.Status == OK {
		b = xdr.AppendBool(xdr.AppendUint32(b, r.Count), r.EOF)
	}
	return b
}

func (s *server) read(ctx context.Context, c *rpc.Call, r *rpc.Reply) rpc.AcceptStat {
	var a ReadArgs
	a.Decode(&c.Args)
	if c.Args.Finish() != nil {
		return rpc.GarbageArgs
	}
	var res ReadRes
	o, st := s.resolve(ctx, c, a.File)
	defer o.release()
	if res.Status = st; st != OK {
		return reply(c, r, st, res.Append(r.Head))
	}
	// A READ longer than what can be returned is a short one: the client asks for the rest.
	n := min(int(min(a.Count, s.cfg.MaxIO)), c.PayloadLimit(0, len(r.Head)+readHead))
	buf, st := s.readFile(ctx, c, &o, int64(min(a.Offset, maxFileSize)), n, &res)
	res.Status = st
	r.Head = res.appendHead(r.Head)
	switch {
	case buf != nil:
		r.AppendPayload(buf, 0, int(res.Count), true)
	case st == OK:
		r.Head = xdr.AppendUint32(r.Head, 0)
	}
	return reply(c, r, st, r.Head)
}

// readFile reads up to n bytes and fills in res. The buffer is nil if there are none.
func (s *server) readFile(ctx context.Context, c *rpc.Call, o *object, off int64, n int, res *ReadRes) (*slab.Buf, Status) {
	f, st := s.open(ctx, o, uint64(off), uint64(n), false)
	if st != OK {
		res.Attr = o.attr(ctx)
		return nil, st
	}
	defer f.Close()
	buf, err := c.Buffer(ctx, n)
	if err != nil {
		return nil, ErrJukebox
	}
	got, eof, err := f.ReadAt(ctx, buf.Bytes()[:n], off)
	attr, attrErr := f.GetAttr(ctx, attrMask)
	res.Attr = o.postOp(&attr, attrErr)
	if err != nil || got == 0 {
		buf.Release()
		buf = nil
	}
	if err != nil {
		return nil, statusOf(err)
	}
	res.Count, res.EOF = uint32(got), eof
	return buf, OK
}

// open opens the file for I/O of n bytes at off. Files of NFSv3 are open as long as
// a call takes, and their owner may always: it was asked when its process opened the file (RFC 1813 4.4).
func (s *server) open(ctx context.Context, o *object, off, n uint64, write bool) (vfs.File, Status) {
	if st := s.checkIO(ctx, o, off, n, write); st != OK {
		return nil, st
	}
	flags := vfs.OpenRead | vfs.AccessOwnerOverride | vfs.ReadIfExecutable
	if write {
		flags = vfs.OpenWrite | vfs.AccessOwnerOverride
	}
	f, err := o.node.Open(ctx, o.cred, flags)
	if err != nil {
		return nil, statusOf(err)
	}
	return f, OK
}
