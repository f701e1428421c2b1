package client

import (
	"context"
	"errors"
	"fmt"

	"fileserver/nfs/v4/proto"
	"fileserver/nfs/xdr"
)

// Values of OPEN's arguments and results (RFC 8881 18.16.1, 18.16.2).
const (
	shareBoth       = 3
	wantNoDeleg     = 0x0400
	openCreate      = 1
	createUnchecked = 0
	claimNull       = 0
	delegateNone    = 0
	delegateNoneExt = 3
)

// Open implements [Client].
func (m *clientV4) Open(ctx context.Context, name string, create bool) (File, error) {
	dir, base, err := m.parent(ctx, name)
	if err != nil {
		return nil, err
	}
	f := &fileV4{m: m}
	err = m.meta(ctx, func(r *compound) {
		r.at(dir)
		r.op(proto.OpOpen)
		b := xdr.AppendUint32(r.args, 0) // seqid
		b = xdr.AppendUint32(xdr.AppendUint32(b, shareBoth|wantNoDeleg), 0)
		b = xdr.AppendString(xdr.AppendUint64(b, m.id), "bench")
		if create {
			mode := proto.Bits(proto.AttrMode)
			b = xdr.AppendUint32(xdr.AppendUint32(b, openCreate), createUnchecked)
			b = xdr.AppendUint32(xdr.AppendUint32(mode.Append(b), 4), 0o644)
		} else {
			b = xdr.AppendUint32(b, 0)
		}
		r.args = xdr.AppendString(xdr.AppendUint32(b, claimNull), base)
		r.op(proto.OpGetFH)
		r.op(proto.OpGetAttr)
		size := proto.Bits(proto.AttrSize)
		r.args = size.Append(r.args)
	}, f.opened)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

func (f *fileV4) opened(r *compound, d *xdr.Decoder) error {
	if err := r.results(d, proto.OpPutFH, proto.OpOpen); err != nil {
		return err
	}
	f.sid = proto.DecodeStateID(d)
	d.Bool() // change_info4
	d.Uint64()
	d.Uint64()
	d.Uint32() // rflags
	proto.DecodeBitmap(d)
	switch how := d.Uint32(); how {
	case delegateNone:
	case delegateNoneExt:
		if why := d.Uint32(); why == 1 || why == 2 { // WND4_CONTENTION, WND4_RESOURCE: a flag whether the server will push or signal follows
			d.Uint32()
		}
	default:
		return errors.New("OPEN: the server grants a delegation that was not requested")
	}
	if err := r.result(d, proto.OpGetFH); err != nil {
		return err
	}
	f.h = append([]byte(nil), d.Opaque(proto.FHSize)...)
	a, err := r.attrs(d)
	if err != nil {
		return err
	}
	f.size = a.Uint64()
	return a.Err()
}

type fileV4 struct {
	m    *clientV4
	h    []byte
	sid  proto.StateID
	size uint64
}

func (f *fileV4) Size() uint64 { return f.size }

// Commit implements [File].
func (f *fileV4) Commit(ctx context.Context) (v Verifier, err error) {
	err = f.m.meta(ctx, func(r *compound) {
		r.at(f.h)
		r.op(proto.OpCommit)
		r.args = xdr.AppendUint32(xdr.AppendUint64(r.args, 0), 0)
	}, func(r *compound, d *xdr.Decoder) error {
		if err := r.results(d, proto.OpPutFH, proto.OpCommit); err != nil {
			return err
		}
		v = Verifier(proto.DecodeVerifier(d))
		return nil
	})
	return v, err
}

// Close implements [File].
func (f *fileV4) Close(ctx context.Context) error {
	return f.m.meta(ctx, func(r *compound) {
		r.at(f.h)
		r.op(proto.OpClose)
		r.args = f.sid.Append(xdr.AppendUint32(r.args, 0))
	}, func(r *compound, d *xdr.Decoder) error {
		return r.results(d, proto.OpPutFH, proto.OpClose)
	})
}

// NewIO implements [File].
func (f *fileV4) NewIO(ctx context.Context, n int) (IO, error) {
	s, err := f.m.c.NewSlot(ctx, n)
	if err != nil {
		return nil, err
	}
	return &ioV4{f: f, compound: compound{m: f.m, io: io{slot: s}}}, nil
}

type ioV4 struct {
	compound
	f     *fileV4
	data  []byte
	n     int
	verf  Verifier
	write bool
	off   uint64
	how   Stability
}

// Read implements [IO].
func (o *ioV4) Read(ctx context.Context, off uint64, n int) ([]byte, error) {
	o.write, o.off, o.n = false, off, n
	err := o.do(ctx)
	return o.data, err
}

// Write implements [IO].
func (o *ioV4) Write(ctx context.Context, off uint64, n int, how Stability) (int, Verifier, error) {
	o.write, o.off, o.n, o.how = true, off, n, how
	err := o.do(ctx)
	return o.n, o.verf, err
}

// do makes the COMPOUND, and repeats it while the server answers NFS4ERR_DELAY.
func (o *ioV4) do(ctx context.Context) error {
	want := o.n
	for try := 0; ; try++ {
		o.build(want)
		d, err := o.run(ctx)
		if err == nil {
			err = o.parse(d, want)
		}
		if !errors.Is(err, proto.ErrDelay) {
			return err
		}
		if err := pause(ctx, try); err != nil {
			return err
		}
	}
}

func (o *ioV4) build(n int) {
	o.begin()
	o.at(o.f.h)
	if !o.write {
		o.op(proto.OpRead)
		o.args = xdr.AppendUint64(o.f.sid.Append(o.args), o.off)
		o.args = xdr.AppendUint32(o.args, uint32(n))
		o.call.Recv = n
		return
	}
	o.op(proto.OpWrite)
	o.args = xdr.AppendUint64(o.f.sid.Append(o.args), o.off)
	o.args = xdr.AppendUint32(xdr.AppendUint32(o.args, uint32(o.how)), uint32(n))
	o.call.Send = n
}

func (o *ioV4) parse(d *xdr.Decoder, n int) error {
	o.data, o.n = nil, 0
	if err := o.result(d, proto.OpPutFH); err != nil {
		return err
	}
	if !o.write {
		if err := o.result(d, proto.OpRead); err != nil {
			return err
		}
		d.Bool() // eof
		o.data = d.Payload(n).Data
		return d.Err()
	}
	if err := o.result(d, proto.OpWrite); err != nil {
		return err
	}
	o.n = min(int(d.Uint32()), n)
	d.Uint32() // committed
	o.verf = Verifier(proto.DecodeVerifier(d))
	return d.Err()
}
