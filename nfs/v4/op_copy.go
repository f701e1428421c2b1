package v4

import (
	"fileserver/nfs/v4/proto"
	"fileserver/nfs/v4/state"
	"fileserver/vfs"
)

type copyArgs struct {
	cloneArgs
	consecutive, synchronous bool
	servers                  int
}

func (a *copyArgs) decode(c *compound) bool {
	d := c.d
	a.cloneArgs.decode(c)
	a.consecutive, a.synchronous = d.Bool(), d.Bool()
	a.servers = d.Count(8, 8)
	for range a.servers { // netloc4
		switch d.Uint32() {
		case 1, 2:
			d.Opaque(proto.OpaqueLimit)
		default:
			d.Opaque(proto.OpaqueLimit)
			d.Opaque(proto.OpaqueLimit)
		}
	}
	return c.badXDR()
}

// maxCopy is the most one COPY copies, bytes; the client goes on from there.
const maxCopy = 64 << 20

// copy is COPY (RFC 7862 15.2): within the server, and synchronous, which the client must always take.
func (c *compound) copy() proto.Status {
	var a copyArgs
	if a.decode(c) {
		return proto.ErrBadXDR
	}
	if a.servers > 0 {
		return proto.ErrNotSupp
	}
	p, st := c.pair(&a.cloneArgs)
	if st != proto.OK {
		return st
	}
	defer p.end()
	n := p.n
	if n == 0 {
		n = p.size - p.srcOff
	}
	v := c.srv.cfg.Verifier.Current()
	done, err := c.copyData(&p, min(n, maxCopy))
	if err != nil && done == 0 {
		return statusOf(err)
	}
	c.changes().Written(c.ctx, c.cur.node)
	c.uint32(0) // no wr_callback_id
	c.uint64(uint64(done))
	c.uint32(uint32(vfs.Unstable))
	c.r.Head = append(c.r.Head, v[:]...)
	c.bool(true)
	c.bool(true)
	return proto.OK
}

// copyData copies up to n bytes, inside the storage if the backend can.
func (c *compound) copyData(p *filePair, n int64) (done int64, err error) {
	if cp, ok := p.dst.File.(vfs.Copier); ok {
		done, err = cp.CopyFrom(c.ctx, p.src.File, p.srcOff, p.dstOff, n)
		if done > 0 || vfs.StatusOf(err) != vfs.ErrUnsupported {
			return done, err
		}
	}
	buf, err := c.call.Buffer(c.ctx, int(c.srv.cfg.MaxIO))
	if err != nil {
		return 0, vfs.ErrTooManyFiles
	}
	defer buf.Release()
	for done < n {
		b := buf.Bytes()[:min(int64(buf.Len()), n-done)]
		got, eof, err := p.src.ReadAt(c.ctx, b, p.srcOff+done)
		if err != nil {
			return done, err
		}
		put, err := p.dst.WriteAt(c.ctx, b[:got], p.dstOff+done, vfs.Unstable)
		done += int64(put)
		if err != nil || eof {
			return done, err
		}
	}
	return done, nil
}

type cloneArgs struct {
	src, dst          proto.StateID
	srcOff, dstOff, n uint64
}

func (a *cloneArgs) decode(c *compound) bool {
	a.src, a.dst = proto.DecodeStateID(c.d), proto.DecodeStateID(c.d)
	a.srcOff, a.dstOff, a.n = c.d.Uint64(), c.d.Uint64(), c.d.Uint64()
	return c.badXDR()
}

// clone is CLONE (RFC 7862 15.13).
func (c *compound) clone() proto.Status {
	var a cloneArgs
	if a.decode(c) {
		return proto.ErrBadXDR
	}
	p, st := c.pair(&a)
	if st != proto.OK {
		return st
	}
	defer p.end()
	cl, ok := p.dst.File.(vfs.Cloner)
	if !ok {
		return proto.ErrNotSupp
	}
	if err := cl.CloneFrom(c.ctx, p.src.File, p.srcOff, p.dstOff, p.n); err != nil {
		return statusOf(err)
	}
	c.changes().Written(c.ctx, c.cur.node)
	return statusOf(p.dst.Commit(c.ctx, p.dstOff, p.n))
}

// filePair is source and destination of CLONE and COPY, checked.
type filePair struct {
	src, dst          access
	srcOff, dstOff, n int64 // n 0: up to the source's end
	size              int64 // of the source
}

func (p *filePair) end() {
	p.src.end()
	p.dst.end()
}

// pair finds the saved and the current file, and checks the ranges (RFC 7862 15.2.3, 15.13.3).
func (c *compound) pair(a *cloneArgs) (p filePair, st proto.Status) {
	if c.saved.pseudo != nil || c.cur.pseudo != nil {
		return p, proto.ErrWrongType
	}
	for _, t := range []*target{&c.saved, &c.cur} {
		if t.regular() != proto.OK {
			return p, proto.ErrWrongType
		}
	}
	if c.saved.key().FS != c.cur.key().FS {
		return p, proto.ErrXDev
	}
	if a.src == proto.CurrentStateID { // of the saved filehandle
		a.src = c.savedSID
	}
	if p.srcOff, p.n, st = signed(a.srcOff, a.n); st != proto.OK {
		return p, st
	}
	if p.dstOff, _, st = signed(a.dstOff, a.n); st != proto.OK {
		return p, st
	}
	if p.src, st = c.use(&c.saved, a.src, state.ShareRead); st != proto.OK {
		return p, st
	}
	if p.dst, st = c.use(&c.cur, a.dst, state.ShareWrite); st != proto.OK {
		p.src.end()
		return p, st
	}
	at, err := p.src.GetAttr(c.ctx, vfs.AttrSize)
	p.size = int64(at.Size)
	switch {
	case err != nil:
		st = statusOf(err)
	case p.srcOff > p.size || p.n > p.size-p.srcOff:
		st = proto.ErrInval
	case c.saved.key() == c.cur.key() && overlap(&p):
		st = proto.ErrInval
	}
	if st != proto.OK {
		p.end()
	}
	return p, st
}

// overlap reports whether the ranges of a pair within one file do.
func overlap(p *filePair) bool {
	n := p.n
	if n == 0 {
		n = p.size - p.srcOff
	}
	return p.srcOff < p.dstOff+n && p.dstOff < p.srcOff+n
}
