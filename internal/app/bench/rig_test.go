package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fileserver/internal/slab"
	"fileserver/nfs"
	"fileserver/nfs/mount"
	"fileserver/nfs/rpc"
	v3 "fileserver/nfs/v3"
	v4 "fileserver/nfs/v4"
	"fileserver/nfsrdma"
	"fileserver/rdma"
	"fileserver/rdma/iwarp"
	rdmamem "fileserver/rdma/rdmatest/mem"
	"fileserver/smb"
	"fileserver/smb/client"
	"fileserver/smb/smbtest"
	"fileserver/smb/tcp"
	"fileserver/smbdirect"
	"fileserver/vfs"
	"fileserver/vfs/lock"
	"fileserver/vfs/vfstest/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a server of both protocols on three transports, with one file system in memory.
type rig struct {
	t       *testing.T
	fs      *mem.FS
	pool    *slab.Pool // the server's
	clients *slab.Pool
	from    map[string]rdma.Provider  // by transport
	at      map[string]netip.AddrPort // by protocol and transport
	kill    map[string]func()         // likewise: ends what listens there, and its connections
}

// second connects from a provider's second device.
type second struct{ *rdmamem.Provider }

func (p second) Resolve(_ context.Context, addr netip.AddrPort) (rdma.ID, error) {
	return p.Device(1).Resolve(addr)
}

func newRig(t *testing.T, change ...func(*smb.Config)) *rig {
	r := &rig{
		t: t, fs: mem.New(mem.Options{}), from: map[string]rdma.Provider{}, at: map[string]netip.AddrPort{}, kill: map[string]func(){},
		pool: slab.New(slab.Config{Debug: true}), clients: slab.New(slab.Config{Debug: true}),
	}
	t.Cleanup(func() {
		r.fs.Close()
		for side, p := range map[string]*slab.Pool{"server": r.pool, "client": r.clients} {
			for _, l := range p.Leaks() {
				t.Errorf("%s: leak: %s", side, l)
			}
		}
	})
	locks := lock.New()
	rpcs := r.programs(locks)
	cfg := smb.Config{Buffers: r.pool, Locks: locks, Users: smbtest.User("ann", "secret"), Logger: slog.New(slog.DiscardHandler), Name: "server", Workgroup: "W", Signing: smb.Desired}
	for _, f := range change {
		f(&cfg)
	}
	smbs, err := smb.NewServer(cfg)
	r.check(err)
	smbs.SetShares([]*smb.Share{{Name: "data", FS: r.fs}, {Name: "ro", FS: r.fs, ReadOnly: true}})

	r.overTCP(rpcs, smbs)
	inProcess := rdmamem.New(rdmamem.Config{Devices: []rdmamem.DeviceConfig{{Caps: rdmamem.IWARPCaps()}, {Caps: rdmamem.IWARPCaps()}}, StrictKeys: true})
	r.overRDMA("mem", inProcess, second{inProcess}, inProcess.Device(0).Addr(), rpcs, smbs)
	soft, err := iwarp.New(iwarp.Config{Log: slog.New(slog.DiscardHandler)})
	r.check(err)
	t.Cleanup(func() { r.check(soft.Close()) })
	r.overRDMA("iwarp", soft, soft, netip.MustParseAddr("127.0.0.1"), rpcs, smbs)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		r.check(smbs.Shutdown(ctx))
	})
	return r
}

func (r *rig) check(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// programs are those of NFS.
func (r *rig) programs(locks *lock.Manager) *rpc.Server {
	exports := new(nfs.Exports)
	exports.Replace([]*nfs.Export{{
		ID: 1, Path: "/data", FS: r.fs, Clients: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}, Squash: nfs.SquashNone,
		AnonUID: 65534, AnonGID: 65534, Flavors: []rpc.Flavor{rpc.AuthSys},
	}})
	verifier := nfs.NewWriteVerifier(exports)
	four, err := v4.New(v4.Config{Exports: exports, Locks: locks, Verifier: verifier})
	r.check(err)
	s, err := rpc.NewServer(rpc.Config{}, mount.New(exports), v3.New(v3.Config{Exports: exports, Locks: locks, Verifier: verifier}), four.Program())
	r.check(err)
	return s
}

func (r *rig) overTCP(rpcs *rpc.Server, smbs *smb.Server) {
	listen := func(proto string, serve func(net.Listener) error, end func()) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		r.check(err)
		done := make(chan error, 1)
		go func() { done <- serve(l) }()
		r.at[proto+" tcp"], r.kill[proto+" tcp"] = netip.MustParseAddrPort(l.Addr().String()), end
		r.t.Cleanup(func() {
			end()
			<-done
		})
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	n := rpc.NewTCPServer(rpc.TCPConfig{Handler: rpcs, Buffers: r.pool})
	listen("nfs", func(l net.Listener) error { return n.Serve(context.Background(), l) }, func() { _ = n.Close() })
	s, err := tcp.New(tcp.Config{Handler: smbs.Handler, Buffers: r.pool})
	r.check(err)
	listen("smb", func(l net.Listener) error { return s.Serve(context.Background(), l) }, func() { _ = s.Shutdown(gone) })
}

func (r *rig) overRDMA(name string, p, from rdma.Provider, addr netip.Addr, rpcs *rpc.Server, smbs *smb.Server) {
	r.from[name] = from
	var domain *rdma.Domain
	memory := func(d rdma.Device) (*rdma.Memory, error) { return domain.Attach() }
	devices, err := p.Devices()
	r.check(err)
	domain = rdma.NewDomain(devices[0], r.pool, false)
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	serve := func(proto string, run func(context.Context, rdma.Listener) error, shutdown func(context.Context) error) {
		l, err := p.Listen(context.Background(), netip.AddrPortFrom(addr, 0))
		r.check(err)
		done := make(chan error, 1)
		go func() { done <- run(context.Background(), l) }()
		r.at[proto+" "+name] = l.Addr()
		end := func() {
			_ = l.Close()
			_ = shutdown(gone)
		}
		r.kill[proto+" "+name] = end
		r.t.Cleanup(func() {
			end()
			<-done
		})
	}
	r.t.Cleanup(func() { r.check(domain.Close()) })
	n, err := nfsrdma.NewServer(nfsrdma.Config{Handler: rpcs, Memory: memory, Logger: slog.New(slog.DiscardHandler)})
	r.check(err)
	serve("nfs", n.Serve, n.Shutdown)
	s, err := smbdirect.NewServer(smbdirect.Config{Memory: memory, Handler: smbs.Handler, Logger: slog.New(slog.DiscardHandler),
		Params: smbdirect.Params{MaxFragmented: tcp.DefaultMaxMessage}})
	r.check(err)
	serve("smb", s.Serve, s.Shutdown)
}

// config is a short run: the whole of two small files, once.
func (r *rig) config(proto, transport string) Config {
	at := r.at[proto+" "+transport]
	return Config{
		Target: Target{
			Host: at.Addr().String(), Port: int(at.Port()), Proto: proto, Transport: transport, Share: "data", Version: "4.2",
			BlockSize: 16 << 10, Depth: 4, RDMAMin: 4 << 10, Pool: r.clients, Provider: r.from[transport],
			SMB: SMBOptions{Identity: client.Identity{User: "ann", Password: "secret"}},
		},
		Op: OpRead, Jobs: 2, Size: 256 << 10, Mix: 50, Verify: VerifyReads, Name: "bench", Timeout: 20 * time.Second,
	}
}

// run runs what must succeed.
func (r *rig) run(c Config) *Result {
	r.t.Helper()
	r.check(c.Complete())
	res, err := Run(r.t.Context(), c)
	r.check(err)
	if res.Errors != 0 || res.Error != "" || len(res.Left) != 0 || res.Interrupted {
		r.t.Fatalf("%+v", res)
	}
	return res
}

// file opens a file of the server's behind its back.
func (r *rig) file(name string, how vfs.OpenFlags) (vfs.File, error) {
	root, err := r.fs.Root(r.t.Context())
	if err != nil {
		return nil, err
	}
	defer root.Release()
	n, err := root.Lookup(r.t.Context(), &vfs.Cred{}, name)
	if err != nil {
		return nil, err
	}
	defer n.Release()
	return n.Open(r.t.Context(), &vfs.Cred{}, how)
}

// exists reports whether a file is there.
func (r *rig) exists(name string) bool {
	f, err := r.file(name, vfs.OpenRead)
	if err == nil {
		err = f.Close()
	} else if errors.Is(err, vfs.ErrNotFound) {
		return false
	}
	r.check(err)
	return true
}

// put writes into a file of the server's behind its back.
func (r *rig) put(name string, off int64, data []byte) {
	r.t.Helper()
	f, err := r.file(name, vfs.OpenWrite)
	r.check(err)
	defer f.Close()
	_, err = f.WriteAt(r.t.Context(), data, off, vfs.FileSync)
	r.check(err)
}

func (r *rig) get(name string, off int64, n int) []byte {
	r.t.Helper()
	f, err := r.file(name, vfs.OpenRead)
	r.check(err)
	defer f.Close()
	b := make([]byte, n)
	k, _, err := f.ReadAt(r.t.Context(), b, off)
	r.check(err)
	return b[:k]
}

// flavors are the protocols with their versions.
var flavors = []struct{ proto, version string }{{"nfs", "3"}, {"nfs", "4.1"}, {"nfs", "4.2"}, {"smb", ""}}

func (r *rig) each(f func(t *testing.T, c Config)) {
	for _, transport := range []string{"tcp", "mem", "iwarp"} {
		for _, v := range flavors {
			c := r.config(v.proto, transport)
			if v.version != "" {
				c.Version = v.version
			}
			r.t.Run(fmt.Sprintf("%s%s %s", v.proto, v.version, transport), func(t *testing.T) { f(t, c) })
		}
	}
}
