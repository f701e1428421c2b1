package main

import (
	"context"
	"fmt"
	"sync/atomic"

	"fileserver/internal/slab"
	"fileserver/nfs/mount"
	"fileserver/nfs/rpc"
	"fileserver/nfs/rpc/rpcclient"
	v3 "fileserver/nfs/v3"
	"fileserver/nfs/xdr"
	"fileserver/nfsrdma"
	"fileserver/rdma"
)

// RFC 1813: the programs, and the procedures used.
const (
	progNFS, versNFS     = 100003, 3
	progMount, versMount = 100005, 3
	procMnt              = 1
	procLookup, procRead = 3, 6
)

// reader reads from the file: one goroutine's own.
type reader interface {
	// read reads n bytes at off and checks how many came.
	read(ctx context.Context, off uint64, n uint32) error
	close()
}

// lookup mounts the share and finds the file, over TCP.
func (r *rig) lookup(ctx context.Context) (v3.Handle, error) {
	c, err := rpcclient.Dial(ctx, r.tcp.String(), 0, 0)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	args := mount.PathArgs{Path: "/data"}
	stat, body, err := c.Do(ctx, rpcclient.Call{Prog: progMount, Vers: versMount, Proc: procMnt, Args: [][]byte{args.Append(nil)}})
	if err != nil {
		return nil, err
	}
	var mnt mount.MntRes
	d := xdr.NewDecoder(body)
	mnt.Decode(&d)
	if d.Err() != nil || mnt.Status != 0 {
		return nil, fmt.Errorf("MNT: accept_stat %v, status %v, %w", stat, mnt.Status, d.Err())
	}
	find := v3.LookupArgs{What: v3.DirOp{Dir: v3.Handle(mnt.Handle), Name: "file"}}
	_, body, err = c.Do(ctx, rpcclient.Call{Prog: progNFS, Vers: versNFS, Proc: procLookup, Args: [][]byte{find.Append(nil)}})
	if err != nil {
		return nil, err
	}
	var res v3.LookupRes
	d = xdr.NewDecoder(body)
	res.Decode(&d)
	if d.Err() != nil || res.Status != v3.OK {
		return nil, fmt.Errorf("LOOKUP: status %v, %w", res.Status, d.Err())
	}
	return append(v3.Handle(nil), res.Object...), nil
}

// overTCP reads through a connection that several share.
type overTCP struct {
	c    *rpcclient.Client
	file v3.Handle
	args []byte
	into []byte
}

func (o *overTCP) read(ctx context.Context, off uint64, n uint32) error {
	a := v3.ReadArgs{File: o.file, Offset: off, Count: n}
	o.args = a.Append(o.args[:0])
	_, body, err := o.c.Do(ctx, rpcclient.Call{Prog: progNFS, Vers: versNFS, Proc: procRead, Args: [][]byte{o.args}, Into: o.into})
	if err != nil {
		return err
	}
	d := xdr.NewDecoder(body)
	var res v3.ReadRes
	res.Decode(&d)
	if d.Err() != nil || res.Status != v3.OK || len(res.Data) != int(n) {
		return fmt.Errorf("READ over TCP: status %v, %d bytes, %w", res.Status, len(res.Data), d.Err())
	}
	return nil
}

func (o *overTCP) close() {}

func (r *rig) tcpReader(c *rpcclient.Client, file v3.Handle, n int) *overTCP {
	return &overTCP{c: c, file: file, into: make([]byte, n+4096)}
}

// overRDMA reads through a connection that several share, into memory that is registered once.
type overRDMA struct {
	c    *nfsrdma.Client
	file v3.Handle
	buf  *slab.Buf
	req  nfsrdma.Request
	resp nfsrdma.Response
	item [1]nfsrdma.Item
	seg  [1]rdma.Segment
	cred []byte
}

var lastXID atomic.Uint32

func (o *overRDMA) read(ctx context.Context, off uint64, n uint32) error {
	a := v3.ReadArgs{File: o.file, Offset: off, Count: n}
	o.req.Head = a.Append(rpc.AppendCall(o.req.Head[:0], lastXID.Add(1), progNFS, versNFS, procRead, rpc.AuthSys, o.cred))
	o.seg[0].Length, o.item[0].Len = n, int(n)
	o.req.Writes = o.item[:]
	if err := o.c.Do(ctx, &o.req, &o.resp); err != nil {
		return err
	}
	if o.resp.Placed[0] != int(n) {
		return fmt.Errorf("READ over RDMA: %d of %d bytes placed, reply % x", o.resp.Placed[0], n, o.resp.Head)
	}
	return nil
}

func (o *overRDMA) close() { o.buf.Release() }

func (r *rig) dialRDMA(ctx context.Context) (*nfsrdma.Client, error) {
	return nfsrdma.Dial(ctx, r.provider, r.iwarp, nfsrdma.ClientConfig{Memory: r.memory, NoInvalidate: true})
}

func (r *rig) rdmaReader(ctx context.Context, c *nfsrdma.Client, file v3.Handle, n int) (*overRDMA, error) {
	o := &overRDMA{c: c, file: file, cred: rpc.AppendAuthSys(nil, 0, "bench", 0, 0, nil)}
	var err error
	if o.buf, err = r.pool.Get(ctx, n); err != nil {
		return nil, err
	}
	if o.seg[0], err = r.mem.Segment(o.buf, 0, n); err != nil {
		return nil, err
	}
	o.item[0] = nfsrdma.Item{Buf: o.buf, Len: n, Segments: o.seg[:]}
	return o, nil
}
