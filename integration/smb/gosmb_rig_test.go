package smb

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"fileserver/internal/slab"
	"fileserver/rdma"
	"fileserver/rdma/iwarp"
	"fileserver/rdma/rdmatest/mem"
	"fileserver/smb"
	"fileserver/smb/smbtest"
	"fileserver/smb/tcp"
	"fileserver/smb/transport"
	"fileserver/smbdirect"
	"fileserver/vfs/lock"
	vfsmem "fileserver/vfs/vfstest/mem"
)

// inProcess is a server in the test's process, with a share "data" in memory.
type inProcess struct {
	t    testing.TB
	pool *slab.Pool
	srv  *smb.Server
}

// newInProcess returns a server without listeners. The end of the test shuts it down and checks it for leaks.
func newInProcess(t testing.TB, change func(*smb.Config)) *inProcess {
	t.Helper()
	s := &inProcess{t: t, pool: slab.New(slab.Config{Limit: 256 << 20, Debug: true})}
	cfg := smb.Config{
		Buffers: s.pool, Locks: lock.New(), Users: smbtest.User(User, Password), Logger: slog.New(slog.DiscardHandler), Name: "server", Workgroup: "WORKGROUP",
		Signing: smb.Desired,
	}
	if change != nil {
		change(&cfg)
	}
	var err error
	if s.srv, err = smb.NewServer(cfg); err != nil {
		t.Fatal(err)
	}
	fs := vfsmem.New(vfsmem.Options{})
	s.srv.SetShares([]*smb.Share{{Name: "data", FS: fs}})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.srv.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		fs.Close()
		noLeaks(t, s.pool)
	})
	return s
}

// noLeaks waits until all buffers are back in the pool, and fails the test if some do not come.
func noLeaks(t testing.TB, p *slab.Pool) {
	for end := time.Now().Add(5 * time.Second); p.Stats().Buffers > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	for _, l := range p.Leaks() {
		t.Errorf("leak: %v", l)
	}
}

// dialer connects to a server.
type dialer func(t testing.TB) net.Conn

// overTCP serves on TCP.
func (s *inProcess) overTCP() dialer {
	s.t.Helper()
	srv, err := tcp.New(tcp.Config{Handler: s.srv.Handler, Buffers: s.pool})
	if err != nil {
		s.t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(context.Background(), l) }()
	s.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := errors.Join(srv.Shutdown(ctx), <-served); err != nil && !errors.Is(err, tcp.ErrServerClosed) {
			s.t.Error(err)
		}
	})
	return func(t testing.TB) net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
}

// overMem serves on SMB Direct between two in-memory devices.
func (s *inProcess) overMem() dialer {
	p := mem.New(mem.Config{Devices: []mem.DeviceConfig{{Caps: mem.IWARPCaps()}, {Caps: mem.IWARPCaps()}}, StrictKeys: true})
	return s.overRDMA(p, secondDevice{p}, netip.AddrPortFrom(p.Device(0).Addr(), 5445), func() error { return nil })
}

// secondDevice connects from the provider's second device.
type secondDevice struct{ *mem.Provider }

func (p secondDevice) Resolve(_ context.Context, addr netip.AddrPort) (rdma.ID, error) {
	return p.Device(1).Resolve(addr)
}

// overIWARP serves on SMB Direct over iWARP.
func (s *inProcess) overIWARP() dialer {
	s.t.Helper()
	server, err := iwarp.New(iwarp.Config{})
	if err != nil {
		s.t.Fatal(err)
	}
	client, err := iwarp.New(iwarp.Config{})
	if err != nil {
		s.t.Fatal(err)
	}
	return s.overRDMA(server, client, netip.MustParseAddrPort("127.0.0.1:0"), func() error { return errors.Join(client.Close(), server.Close()) })
}

// overRDMA serves on SMB Direct.
func (s *inProcess) overRDMA(server, client rdma.Provider, addr netip.AddrPort, closeBoth func() error) dialer {
	s.t.Helper()
	ours, theirs := &registered{pool: s.pool}, &registered{pool: slab.New(slab.Config{Debug: true})}
	srv, err := smbdirect.NewServer(smbdirect.Config{
		Memory: ours.get, Logger: slog.New(slog.DiscardHandler), Handler: func(c transport.Conn) transport.Handler { return s.srv.Handler(c) },
		EarlyMessage: tcp.EarlyMessage, Params: smbdirect.Params{MaxFragmented: tcp.DefaultMaxMessage}, // like package internal/app/server
	})
	if err != nil {
		s.t.Fatal(err)
	}
	l, err := server.Listen(context.Background(), addr)
	if err != nil {
		s.t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(context.Background(), l) }()
	s.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := errors.Join(l.Close(), <-served, srv.Shutdown(ctx), closeBoth(), ours.close(), theirs.close()); err != nil {
			s.t.Error(err)
		}
		noLeaks(s.t, theirs.pool)
	})
	return func(t testing.TB) net.Conn {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		c, err := smbdirect.DialNet(ctx, client, l.Addr(), theirs.get, smbdirect.Params{})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
}

// registered is a pool's memory, registered with a device.
type registered struct {
	pool *slab.Pool

	mu  sync.Mutex
	mem *rdma.Memory
}

func (r *registered) get(d rdma.Device) (*rdma.Memory, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mem != nil {
		return r.mem, nil
	}
	pd, err := d.AllocPD()
	if err != nil {
		return nil, err
	}
	access := rdma.AccessLocalWrite
	if d.Caps().ReadSinkNeedsRemoteWrite {
		access |= rdma.AccessRemoteWrite
	}
	r.mem, err = rdma.NewMemory(pd, r.pool, access)
	return r.mem, err
}

func (r *registered) close() error {
	if r.mem == nil {
		return nil
	}
	return r.mem.Close()
}
