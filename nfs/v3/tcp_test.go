package v3_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"testing"

	"fileserver/internal/slab"
	"fileserver/nfs"
	"fileserver/nfs/mount"
	"fileserver/nfs/rpc"
	"fileserver/nfs/rpc/rpcclient"
	v3 "fileserver/nfs/v3"
	"fileserver/nfs/xdr"
	"fileserver/vfs"
	"fileserver/vfs/vfstest/mem"
)

// tcpWorld is MOUNT and NFSv3 on one TCP port.
type tcpWorld struct {
	t    testing.TB
	addr string
	fs   *mem.FS
}

func newTCPWorld(t testing.TB) *tcpWorld {
	t.Helper()
	_, debug := t.(*testing.T)
	pool := slab.New(slab.Config{Limit: 128 << 20, Debug: debug})
	w := &tcpWorld{t: t, fs: mem.New(mem.Options{})}
	root, err := w.fs.Root(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := root.SetAttr(context.Background(), &vfs.Cred{}, &vfs.SetAttr{Mask: vfs.AttrMode, Mode: 0o777}); err != nil {
		t.Fatal(err)
	}
	root.Release()
	x := new(nfs.Exports)
	x.Replace([]*nfs.Export{{ID: 1, Path: "/data", FS: w.fs, Clients: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Flavors: []rpc.Flavor{rpc.AuthSys}}})
	h, err := rpc.NewServer(rpc.Config{}, mount.New(x), v3.New(v3.Config{Exports: x, Verifier: nfs.NewWriteVerifier(x)}))
	if err != nil {
		t.Fatal(err)
	}
	s := rpc.NewTCPServer(rpc.TCPConfig{Handler: h, Buffers: pool})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.addr = l.Addr().String()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Serve(context.Background(), l)
	}()
	t.Cleanup(func() {
		s.Close()
		<-done
		for _, l := range pool.Leaks() {
			t.Errorf("leaked: %s", l)
		}
		if n, f := w.fs.Outstanding(); n != 0 || f != 0 {
			t.Errorf("%d nodes and %d files were not released", n, f)
		}
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// mounted is a client and the handle MOUNT gave it.
type mounted struct {
	t    testing.TB
	c    *rpcclient.Client
	root v3.Handle
}

func (w *tcpWorld) mount() *mounted {
	w.t.Helper()
	c, err := rpcclient.Dial(context.Background(), w.addr, 1000, 100)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { c.Close() })
	m := &mounted{t: w.t, c: c}
	var res mount.MntRes
	m.do(mount.Program, mount.Version, mount.ProcMnt, (&mount.PathArgs{Path: "/data"}).Append(nil), nil, &res)
	if res.Status != mount.OK {
		w.t.Fatal(res.Status)
	}
	m.root = res.Handle
	return m
}

func (m *mounted) do(prog, vers, proc uint32, head, data []byte, res results) {
	pad := make([]byte, xdr.Pad(len(data)))
	stat, b, err := m.c.Do(context.Background(), rpcclient.Call{Prog: prog, Vers: vers, Proc: proc, Args: [][]byte{head, data, pad}})
	if err != nil || stat != rpc.Success {
		m.t.Errorf("procedure %d: %v, %v", proc, stat, err)
		return
	}
	d := xdr.NewDecoder(b)
	res.Decode(&d)
	if err := d.Finish(); err != nil {
		m.t.Errorf("procedure %d: %v", proc, err)
	}
}

func (m *mounted) create(name string) v3.Handle {
	var res v3.CreateRes
	a := v3.CreateArgs{Where: v3.DirOp{Dir: m.root, Name: name}, Mode: v3.Guarded, Attr: mode(0o600)}
	m.do(v3.Program, 3, v3.ProcCreate, a.Append(nil), nil, &res)
	if res.Status != v3.OK {
		m.t.Error(res.Status)
	}
	return res.Object
}

func (m *mounted) write(h v3.Handle, off int, data []byte) {
	var res v3.WriteRes
	a := v3.WriteArgs{File: h, Offset: uint64(off), Count: uint32(len(data)), Data: data}
	m.do(v3.Program, 3, v3.ProcWrite, a.AppendHead(nil), data, &res)
	if res.Status != v3.OK || int(res.Count) != len(data) {
		m.t.Errorf("WRITE: %v, %d of %d bytes", res.Status, res.Count, len(data))
	}
}

func (m *mounted) read(h v3.Handle, off, n int) []byte {
	var res v3.ReadRes
	m.do(v3.Program, 3, v3.ProcRead, (&v3.ReadArgs{File: h, Offset: uint64(off), Count: uint32(n)}).Append(nil), nil, &res)
	if res.Status != v3.OK || int(res.Count) != len(res.Data) {
		m.t.Errorf("READ: %v, %d of %d bytes", res.Status, res.Count, len(res.Data))
	}
	return res.Data
}

// TestOverTCP: clients with many calls at once write and read back, and every byte is there.
func TestOverTCP(t *testing.T) {
	w := newTCPWorld(t)
	var wg sync.WaitGroup
	for i := range 3 {
		m := w.mount()
		for j := range 4 {
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(uint64(i), uint64(j)))
				h := m.create(fmt.Sprint(i, "-", j))
				model := make([]byte, 3<<20)
				for range 30 {
					n := rnd.IntN(1 << (1 + rnd.IntN(20)))
					off := rnd.IntN(len(model) - n + 1)
					if rnd.IntN(2) == 0 {
						for k := range n {
							model[off+k] = byte(rnd.Uint32())
						}
						m.write(h, off, model[off:off+n])
					} else if got := m.read(h, off, n); !bytes.Equal(got, model[off:off+len(got)]) {
						t.Errorf("READ of %d at %d differs", n, off)
					}
				}
			})
		}
	}
	wg.Wait()
}

func BenchmarkTCP(b *testing.B) {
	w := newTCPWorld(b)
	m := w.mount()
	h := m.create("f")
	for off := range 16 {
		m.write(h, off<<20, data(1<<20))
	}
	for _, size := range []int{4096, 1 << 20} {
		for _, depth := range []int{1, 8, 32} {
			b.Run(fmt.Sprintf("READ-%d/depth-%d", size, depth), func(b *testing.B) {
				b.SetBytes(int64(size))
				b.SetParallelism((depth + 1) / 2)
				b.RunParallel(func(pb *testing.PB) {
					into := make([]byte, size+200)
					var args []byte
					for pb.Next() {
						off := uint64(rand.IntN(16<<20/size) * size)
						args = (&v3.ReadArgs{File: h, Offset: off, Count: uint32(size)}).Append(args[:0])
						_, _, err := m.c.Do(context.Background(), rpcclient.Call{Prog: v3.Program, Vers: 3, Proc: v3.ProcRead, Args: [][]byte{args}, Into: into})
						if err != nil {
							b.Error(err)
							return
						}
					}
				})
			})
		}
	}
}
