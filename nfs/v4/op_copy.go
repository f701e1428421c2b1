package v4

import (
	"fileserver/nfs/v4/proto"
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
	buf, err := c.call.Buffers.Get(c.ctx, int(c.srv.cfg.MaxIO))
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
