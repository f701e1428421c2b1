package client

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	v3 "fileserver/nfs/v3"
	"fileserver/nfs/xdr"
)

// MountV3 mounts an export with version 3. It owns c, and closes it if the mount fails.
func MountV3(ctx context.Context, c Caller, o Options) (Client, error) {
	m, err := mountV3(ctx, c, o)
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return m, nil
}

func mountV3(ctx context.Context, c Caller, o Options) (*clientV3, error) {
	root, err := rootV3(ctx, c, o)
	if err != nil {
		return nil, err
	}
	m := &clientV3{c: c, root: root}
	args := v3.FsArgs{Object: root}
	var res v3.FsinfoRes
	if err := m.do(ctx, v3.ProcFsinfo, args.Append(nil), &res); err != nil {
		return nil, fmt.Errorf("FSINFO: %w", err)
	}
	if res.Status != v3.OK {
		return nil, fmt.Errorf("FSINFO: %w", res.Status)
	}
	m.maxRead, m.maxWrite = int(res.RtMax), int(res.WtMax)
	return m, nil
}

type clientV3 struct {
	c                 Caller
	root              v3.Handle
	maxRead, maxWrite int
}

func (*clientV3) Version() string               { return "3" }
func (m *clientV3) MaxRead() int                { return m.maxRead }
func (m *clientV3) MaxWrite() int               { return m.maxWrite }
func (*clientV3) Slots() int                    { return 0 }
func (m *clientV3) Close(context.Context) error { return m.c.Close() }

type decoder interface{ Decode(*xdr.Decoder) }

// do makes a call without bulk data.
func (m *clientV3) do(ctx context.Context, proc uint32, args []byte, res decoder) error {
	return simple(ctx, m.c, &Call{Prog: v3.Program, Vers: v3.Version, Proc: proc, Args: args}, res)
}

// simple makes a call without bulk data and decodes its results.
func simple(ctx context.Context, c Caller, call *Call, res decoder) error {
	s, err := c.NewSlot(ctx, 0)
	if err != nil {
		return err
	}
	defer s.Release()
	if err := s.Do(ctx, call); err != nil {
		return err
	}
	d := xdr.NewDecoder(bytes.Clone(call.Results))
	res.Decode(&d)
	return d.Err()
}

// parent looks up the directory of a name.
func (m *clientV3) parent(ctx context.Context, name string) (v3.DirOp, error) {
	dir := m.root
	parts := strings.Split(strings.Trim(name, "/"), "/")
	for _, p := range parts[:len(parts)-1] {
		h, err := m.lookup(ctx, v3.DirOp{Dir: dir, Name: p})
		if err != nil {
			return v3.DirOp{}, err
		}
		dir = h
	}
	return v3.DirOp{Dir: dir, Name: parts[len(parts)-1]}, nil
}

func (m *clientV3) lookup(ctx context.Context, what v3.DirOp) (v3.Handle, error) {
	args := v3.LookupArgs{What: what}
	var res v3.LookupRes
	if err := m.do(ctx, v3.ProcLookup, args.Append(nil), &res); err != nil {
		return nil, fmt.Errorf("LOOKUP %s: %w", what.Name, err)
	}
	if res.Status != v3.OK {
		return nil, fmt.Errorf("LOOKUP %s: %w", what.Name, res.Status)
	}
	return res.Object, nil
}

// Open implements [Client].
func (m *clientV3) Open(ctx context.Context, name string, create bool) (File, error) {
	at, err := m.parent(ctx, name)
	if err != nil {
		return nil, err
	}
	var h v3.Handle
	if create {
		mode := uint32(0o644)
		args := v3.CreateArgs{Where: at, Attr: v3.SetAttr{Mode: &mode}}
		var res v3.CreateRes
		if err := m.do(ctx, v3.ProcCreate, args.Append(nil), &res); err != nil {
			return nil, fmt.Errorf("CREATE %s: %w", name, err)
		}
		if res.Status != v3.OK {
			return nil, fmt.Errorf("CREATE %s: %w", name, res.Status)
		}
		h = res.Object
	}
	if h == nil {
		if h, err = m.lookup(ctx, at); err != nil {
			return nil, err
		}
	}
	args := v3.GetattrArgs{Object: h}
	var res v3.GetattrRes
	if err := m.do(ctx, v3.ProcGetattr, args.Append(nil), &res); err != nil {
		return nil, fmt.Errorf("GETATTR %s: %w", name, err)
	}
	switch {
	case res.Status != v3.OK:
		return nil, fmt.Errorf("GETATTR %s: %w", name, res.Status)
	case res.Attr.Type != v3.TypeReg:
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	return &fileV3{m: m, h: h, size: res.Attr.Size}, nil
}

// Remove implements [Client].
func (m *clientV3) Remove(ctx context.Context, name string) error {
	at, err := m.parent(ctx, name)
	if err != nil {
		return err
	}
	args := v3.RemoveArgs{Object: at}
	var res v3.WccRes
	if err := m.do(ctx, v3.ProcRemove, args.Append(nil), &res); err != nil {
		return fmt.Errorf("REMOVE %s: %w", name, err)
	}
	if res.Status != v3.OK {
		return fmt.Errorf("REMOVE %s: %w", name, res.Status)
	}
	return nil
}

type fileV3 struct {
	m    *clientV3
	h    v3.Handle
	size uint64
}

func (f *fileV3) Size() uint64                { return f.size }
func (f *fileV3) Close(context.Context) error { return nil }

// Commit implements [File].
func (f *fileV3) Commit(ctx context.Context) (Verifier, error) {
	args := v3.CommitArgs{File: f.h}
	var res v3.CommitRes
	if err := f.m.do(ctx, v3.ProcCommit, args.Append(nil), &res); err != nil {
		return Verifier{}, fmt.Errorf("COMMIT: %w", err)
	}
	if res.Status != v3.OK {
		return Verifier{}, fmt.Errorf("COMMIT: %w", res.Status)
	}
	return res.Verf, nil
}

// NewIO implements [File].
func (f *fileV3) NewIO(ctx context.Context, n int) (IO, error) {
	s, err := f.m.c.NewSlot(ctx, n)
	if err != nil {
		return nil, err
	}
	return &ioV3{f: f, io: io{slot: s, call: Call{Prog: v3.Program, Vers: v3.Version}}}, nil
}

type ioV3 struct {
	io
	f     *fileV3
	read  v3.ReadRes // here so that calls do not allocate it
	wrote v3.WriteRes
}

// do makes the prepared call, and repeats it while the server answers NFS3ERR_JUKEBOX (RFC 1813 2.6).
func (o *ioV3) do(ctx context.Context, name string, decode func(*ioV3) (v3.Status, error)) error {
	for try := 0; ; try++ {
		if err := o.slot.Do(ctx, &o.call); err != nil {
			return err
		}
		st, err := decode(o)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		case st == v3.OK:
			return nil
		case st != v3.ErrJukebox:
			return fmt.Errorf("%s: %w", name, st)
		}
		if err := pause(ctx, try); err != nil {
			return err
		}
	}
}

// Read implements [IO].
func (o *ioV3) Read(ctx context.Context, off uint64, n int) ([]byte, error) {
	a := v3.ReadArgs{File: o.f.h, Offset: off, Count: uint32(n)}
	o.args = a.Append(o.args[:0])
	o.call.Proc, o.call.Args, o.call.Send, o.call.Recv = v3.ProcRead, o.args, 0, n
	if err := o.do(ctx, "READ", (*ioV3).decodeRead); err != nil {
		return nil, err
	}
	return o.read.Data[:min(int(o.read.Count), len(o.read.Data))], nil
}

func (o *ioV3) decodeRead() (v3.Status, error) {
	pos := 4 + 4 + 4 + 4 + 4 // status, attributes_follow, count, eof, length
	if b := o.call.Results; len(b) >= 8 && b[7] != 0 {
		pos += 84 // fattr3
	}
	d := o.decoder(pos)
	o.read.Decode(&d)
	return o.read.Status, d.Err()
}

// Write implements [IO].
func (o *ioV3) Write(ctx context.Context, off uint64, n int, how Stability) (int, Verifier, error) {
	a := v3.WriteArgs{File: o.f.h, Offset: off, Count: uint32(n), Stable: v3.StableHow(how), Data: o.slot.Data()[:n]}
	o.args = a.AppendHead(o.args[:0])
	o.call.Proc, o.call.Args, o.call.Send, o.call.Recv = v3.ProcWrite, o.args, n, 0
	if err := o.do(ctx, "WRITE", (*ioV3).decodeWrite); err != nil {
		return 0, Verifier{}, err
	}
	return min(int(o.wrote.Count), n), o.wrote.Verf, nil
}

func (o *ioV3) decodeWrite() (v3.Status, error) {
	d := o.decoder(0)
	o.wrote.Decode(&d)
	return o.wrote.Status, d.Err()
}
