//go:build !race

package v3_test

import (
	"context"
	"testing"

	"fileserver/internal/slab"
	"fileserver/nfs/rpc"
	v3 "fileserver/nfs/v3"
	"fileserver/nfs/xdr"
	"fileserver/vfs/vfstest/mem"
)

// steady returns a function that executes the call again and again, as a transport does.
func (w *world) steady(pool *slab.Pool, proc uint32, a args) func() {
	msg := w.message(1, proc, a)
	c := &rpc.Call{Conn: w.user.conn, Buffers: pool, Limits: w.user.limits}
	var r rpc.Reply
	head := make([]byte, 512)
	ctx, cancel := context.WithCancel(context.Background())
	w.t.Cleanup(cancel)
	xid := uint32(0)
	return func() {
		xid++
		xdr.PutUint32(msg, 0, xid) // or WRITE were answered from the cache
		c.Message = xdr.NewDecoder(msg)
		r.Reset(head)
		if !w.rpc.Serve(ctx, c, &r) || r.Head[23] != 0 || r.Head[27] != 0 {
			w.t.Fatalf("%x", r.Head)
		}
		r.ReleasePayloads()
	}
}

func (w *world) hot() (pool *slab.Pool, calls map[string]func()) {
	pool = slab.New(slab.Config{Limit: 64 << 20})
	w.t.Cleanup(func() { pool.Close() })
	h := w.file("f")
	w.write(h, 0, data(1<<20), v3.Unstable)
	return pool, map[string]func(){
		"GETATTR":     w.steady(pool, v3.ProcGetattr, &v3.GetattrArgs{Object: h}),
		"ACCESS":      w.steady(pool, v3.ProcAccess, &v3.AccessArgs{Object: h, Access: 63}),
		"READ-4K":     w.steady(pool, v3.ProcRead, &v3.ReadArgs{File: h, Offset: 8192, Count: 4096}),
		"READ-1M":     w.steady(pool, v3.ProcRead, &v3.ReadArgs{File: h, Count: 1 << 20}),
		"WRITE-4K":    w.steady(pool, v3.ProcWrite, &v3.WriteArgs{File: h, Count: 4096, Data: data(4096)}),
		"WRITE-1M":    w.steady(pool, v3.ProcWrite, &v3.WriteArgs{File: h, Count: 1 << 20, Data: data(1 << 20)}),
		"WRITE-4K-FS": w.steady(pool, v3.ProcWrite, &v3.WriteArgs{File: h, Count: 4096, Stable: v3.FileSync, Data: data(4096)}),
	}
}

func TestAllocations(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	_, calls := w.hot()
	for range 5000 { // fill the reply cache
		calls["WRITE-4K"]()
	}
	for name, do := range calls {
		do()
		if n := testing.AllocsPerRun(300, do); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkServe(b *testing.B) {
	w := newWorld(b, mem.Options{}, nil)
	_, calls := w.hot()
	for name, do := range calls {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				do()
			}
		})
	}
}
