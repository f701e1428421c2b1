package smb_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	smb2 "github.com/hirochachacha/go-smb2"

	"fileserver/internal/slab"
	"fileserver/rdma"
	"fileserver/rdma/iwarp"
	"fileserver/rdma/rdmatest"
	rdmamem "fileserver/rdma/rdmatest/mem"
	"fileserver/smb"
	"fileserver/smb/crypt"
	"fileserver/smb/smbtest"
	"fileserver/smb/tcp"
	"fileserver/smb/wire"
	"fileserver/smbdirect"
	"fileserver/vfs/lock"
	"fileserver/vfs/vfstest/mem"
)

// world is a server on three transports: TCP, and SMB Direct on a provider in process and on iWARP.
type world struct {
	srv     *smb.Server
	clients *slab.Pool
	dial    map[string]func() (net.Conn, error)
	direct  map[string]direct
}

// direct is where SMB Direct is served, and what a client needs to get there.
type direct struct {
	from   rdma.Provider
	addr   netip.AddrPort
	memory func(rdma.Device) (*rdma.Memory, error)
}

// memories registers a pool once with each device. Who reads from peers makes it a sink.
func memories(t *testing.T, pool *slab.Pool, sink bool) func(rdma.Device) (*rdma.Memory, error) {
	of := map[rdma.Device]*rdma.Memory{}
	t.Cleanup(func() {
		for _, m := range of {
			if err := errors.Join(m.Close(), m.PD().Dealloc()); err != nil {
				t.Error(err)
			}
		}
	})
	return func(d rdma.Device) (*rdma.Memory, error) {
		if m := of[d]; m != nil {
			return m, nil
		}
		pd, err := d.AllocPD()
		if err != nil {
			return nil, err
		}
		access := rdma.AccessLocalWrite
		if sink && d.Caps().ReadSinkNeedsRemoteWrite {
			access |= rdma.AccessRemoteWrite
		}
		m, err := rdma.NewMemory(pd, pool, access)
		if err == nil {
			of[d] = m
		}
		return m, err
	}
}

// second connects from a provider's second device.
type second struct{ *rdmamem.Provider }

func (p second) Resolve(_ context.Context, addr netip.AddrPort) (rdma.ID, error) {
	return p.Device(1).Resolve(addr)
}

func newWorld(t *testing.T, change func(*smb.Config)) *world {
	t.Helper()
	pool := slab.New(slab.Config{Limit: 512 << 20, Debug: true})
	clients := slab.New(slab.Config{Limit: 256 << 20, Debug: true})
	fs := mem.New(mem.Options{})
	cfg := smb.Config{
		Buffers: pool, Locks: lock.New(), Users: smbtest.User("ann", "secret"), Logger: slog.New(slog.DiscardHandler), Name: "server", Workgroup: "W", Signing: smb.Desired,
	}
	change(&cfg)
	srv, err := smb.NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	srv.SetShares([]*smb.Share{{Name: "data", FS: fs}})
	t.Cleanup(func() {
		fs.Close()
		for side, p := range map[string]*slab.Pool{"server": pool, "client": clients} {
			for _, l := range p.Leaks() {
				t.Errorf("%s: leak: %s", side, l)
			}
		}
	})
	w := &world{srv: srv, clients: clients, dial: map[string]func() (net.Conn, error){}, direct: map[string]direct{}}
	w.overTCP(t, srv, pool)
	inProcess := rdmamem.New(rdmamem.Config{Devices: []rdmamem.DeviceConfig{{Caps: rdmamem.IWARPCaps()}, {Caps: rdmamem.IWARPCaps()}}, StrictKeys: true})
	w.overRDMA(t, "mem", srv, inProcess, second{inProcess}, netip.AddrPortFrom(inProcess.Device(0).Addr(), 5445), pool, clients)
	p, err := iwarp.New(iwarp.Config{Log: rdmatest.Log()})
	soft := rdmatest.Opened(t, p, err)
	w.overRDMA(t, "iwarp", srv, soft, soft, netip.MustParseAddrPort("127.0.0.1:0"), pool, clients)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := srv.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) overTCP(t *testing.T, srv *smb.Server, pool *slab.Pool) {
	s, err := tcp.New(tcp.Config{Handler: srv.Handler, Buffers: pool})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(context.Background(), l) }()
	t.Cleanup(func() {
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		<-done
	})
	w.dial["tcp"] = func() (net.Conn, error) { return net.Dial("tcp", l.Addr().String()) }
}

func (w *world) overRDMA(t *testing.T, name string, srv *smb.Server, p, from rdma.Provider, addr netip.AddrPort, pool, clients *slab.Pool) {
	ours, theirs := memories(t, pool, true), memories(t, clients, false)
	s, err := smbdirect.NewServer(smbdirect.Config{Memory: ours, Handler: srv.Handler, Logger: slog.New(slog.DiscardHandler),
		Params: smbdirect.Params{MaxFragmented: tcp.DefaultMaxMessage}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := p.Listen(context.Background(), addr)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(context.Background(), l) }()
	t.Cleanup(func() {
		if err := errors.Join(l.Close(), <-done, s.Shutdown(context.Background())); err != nil {
			t.Error(err)
		}
	})
	w.direct[name] = direct{from, l.Addr(), theirs}
	w.dial[name] = func() (net.Conn, error) {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		return smbdirect.DialNet(ctx, from, l.Addr(), theirs, smbdirect.Params{})
	}
}

// TestGoSMB2 lets go-smb2 work on the server over every transport, with every dialect, in the clear, signed, encrypted, and with few credits.
func TestGoSMB2(t *testing.T) {
	for _, mode := range []struct {
		name    string
		change  func(*smb.Config)
		sign    bool
		ciphers bool
	}{
		{name: "plain", change: func(*smb.Config) {}},
		{name: "signed", sign: true, change: func(c *smb.Config) { c.Signing = smb.Required }},
		{name: "AES-128-GCM", ciphers: true, change: func(c *smb.Config) { c.Encryption, c.Ciphers = smb.Required, []crypt.Cipher{crypt.GCM128} }},
		{name: "AES-128-CCM", ciphers: true, change: func(c *smb.Config) { c.Encryption, c.Ciphers = smb.Required, []crypt.Cipher{crypt.CCM128} }},
	} {
		w := newWorld(t, mode.change)
		for transport, dial := range w.dial {
			for _, d := range []wire.Dialect{wire.Dialect202, wire.Dialect210, wire.Dialect300, wire.Dialect302, wire.Dialect311} {
				if mode.ciphers && (d < wire.Dialect300 || d < wire.Dialect311 && mode.name != "AES-128-CCM") {
					continue
				}
				credits, size := uint16(128), 300<<10+7
				switch {
				case d == wire.Dialect302:
					credits = 24
				case d == wire.Dialect311 && (transport == "tcp" || mode.name == "plain") && mode.name != "AES-128-CCM":
					size = 9 << 20 // all credits at once
				}
				t.Run(fmt.Sprintf("%s/%s/%v", mode.name, transport, d), func(t *testing.T) {
					nc, err := dial()
					if err != nil {
						t.Fatal(err)
					}
					defer nc.Close()
					work(t, nc, smb2.Dialer{
						MaxCreditBalance: credits,
						Negotiator:       smb2.Negotiator{SpecifiedDialect: uint16(d), RequireMessageSigning: mode.sign},
						Initiator:        &smb2.NTLMInitiator{User: "ann", Password: "secret"},
					}, transport, size)
				})
			}
		}
	}
}

// work uses a share as programs do.
func work(t *testing.T, nc net.Conn, d smb2.Dialer, name string, size int) {
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := d.Dial(nc)
	ok(err)
	share, err := s.Mount("data")
	ok(err)
	ok(share.Mkdir(name, 0o755))
	data := make([]byte, size)
	r := rand.NewChaCha8([32]byte{1})
	r.Read(data)
	ok(share.WriteFile(name+`\file`, data, 0o644))
	got, err := share.ReadFile(name + `\FILE`)
	ok(err)
	if !bytes.Equal(got, data) {
		t.Error("the data came back changed")
	}
	f, err := share.OpenFile(name+`\file`, os.O_RDWR, 0)
	ok(err)
	_, err = f.WriteAt([]byte("hello"), 1000)
	ok(err)
	part := make([]byte, 5)
	_, err = f.ReadAt(part, 1000)
	ok(err)
	if string(part) != "hello" {
		t.Errorf("%q", part)
	}
	ok(f.Truncate(1003))
	if _, err = f.ReadAt(part, 5000); err != io.EOF {
		t.Errorf("beyond the end: %v", err)
	}
	ok(f.Close())
	ok(share.Rename(name+`\file`, name+`\other`))
	list, err := share.ReadDir(name)
	ok(err)
	if len(list) != 1 || list[0].Name() != "other" || list[0].Size() != 1003 {
		t.Errorf("the directory has %v", list)
	}
	if _, err := share.Stat(name + `\file`); !os.IsNotExist(err) {
		t.Errorf("what was renamed: %v", err)
	}
	ok(share.RemoveAll(name))
	ok(share.Umount())
	ok(s.Logoff())
}

func TestGoSMB2WrongPassword(t *testing.T) {
	w := newWorld(t, func(*smb.Config) {})
	nc, err := w.dial["tcp"]()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	d := smb2.Dialer{Initiator: &smb2.NTLMInitiator{User: "ann", Password: "wrong"}}
	if _, err := d.Dial(nc); err == nil {
		t.Error("logged in with a wrong password")
	}
}
