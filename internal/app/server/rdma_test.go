package server

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"fileserver/config"
	"fileserver/internal/slab"
	"fileserver/nfsrdma"
	"fileserver/rdma"
	"fileserver/rdma/discover"
	"fileserver/rdma/rdmatest/mem"
	"fileserver/rdma/verbs"
	"fileserver/smb/transport"
	"fileserver/smbdirect"
)

// machine has devices that can be added and removed: it uses rdma/rdmatest/mem instead of rdma/verbs.
type machine struct {
	t      *testing.T
	p      *mem.Provider
	client *mem.Provider // on the same fabric

	mu     sync.Mutex
	topo   *discover.Topology
	opened verbs.Config
	closed bool
}

func newMachine(t *testing.T) *machine {
	fabric := mem.NewFabric()
	m := &machine{t: t, topo: new(discover.Topology), p: mem.New(mem.Config{Fabric: fabric})}
	m.p.Device(0).Remove() // a provider begins with one
	m.client = mem.New(mem.Config{Fabric: fabric, Devices: []mem.DeviceConfig{{Name: "client", Addr: netip.MustParseAddr("10.0.9.9"), Caps: mem.RoCECaps()}}})
	return m
}

// memDevices implements deviceProvider.
type memDevices struct{ m *machine }

func (d memDevices) Name() string                    { return "verbs" }
func (d memDevices) Devices() ([]rdma.Device, error) { return d.m.p.Devices() }
func (d memDevices) Resolve(ctx context.Context, a netip.AddrPort) (rdma.ID, error) {
	return d.m.p.Resolve(ctx, a)
}
func (d memDevices) Listen(ctx context.Context, a netip.AddrPort) (rdma.Listener, error) {
	return d.m.p.Listen(ctx, a)
}
func (d memDevices) Close() error {
	d.m.mu.Lock()
	defer d.m.mu.Unlock()
	d.m.closed = true
	return nil
}

func (m *machine) system() system {
	return system{
		devices: func(c verbs.Config) (deviceProvider, error) {
			m.opened = c
			return memDevices{m}, nil
		},
		scan: func() (*discover.Topology, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.topo, nil
		},
		fingerprint: func() string {
			m.mu.Lock()
			defer m.mu.Unlock()
			return fmt.Sprint(len(m.topo.Devices))
		},
	}
}

// plug adds a device with an interface and an address.
func (m *machine) plug(name, addr string, caps rdma.Caps) *mem.Device {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := new(discover.Topology)
	next.Netdevs = append(next.Netdevs, m.topo.Netdevs...)
	next.Devices = append(next.Devices, m.topo.Devices...)
	device(next, name, "mlx5_core", rdma.TransportRoCE, "net-"+name, addr+"/24")
	m.topo = next
	return m.p.Add(mem.DeviceConfig{Name: name, Addr: netip.MustParseAddr(addr), Caps: caps})
}

// pull removes a device and its interface.
func (m *machine) pull(d *mem.Device) {
	m.mu.Lock()
	next := new(discover.Topology)
	for i, dev := range m.topo.Devices {
		if dev.Name != d.Name() {
			next.Devices = append(next.Devices, dev)
			next.Netdevs = append(next.Netdevs, m.topo.Netdevs[i])
		}
	}
	m.topo = next
	m.mu.Unlock()
	d.Remove()
}

func (m *machine) start(cfg *config.Config) (*Server, *output) {
	m.t.Helper()
	return startWith(m.t, m.system(), cfg)
}

// everywhere makes the server listen on all addresses and admit the clients of these tests.
func everywhere(cfg *config.Config) *config.Config {
	cfg.Listen = addrs("0.0.0.0")
	for i := range cfg.Shares {
		cfg.Shares[i].Allow = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("127.0.0.0/8")}
	}
	return cfg
}

// look makes the server scan the machine now.
func look(s *Server) {
	select {
	case s.rdma.wake <- struct{}{}:
	default:
	}
}

// until waits for a new line in the log.
func (o *output) until(t *testing.T, from int, want string) (next int) {
	t.Helper()
	re := regexp.MustCompile(want)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		text := o.String()[from:]
		if at := re.FindStringIndex(text); at != nil {
			return from + at[1]
		}
		if time.Now().After(end) {
			t.Fatalf("no line %q in\n%s", want, text)
		}
	}
}

// nfsClient connects to NFS over RDMA.
func (m *machine) nfsClient(addr string) (*nfsrdma.Client, func()) {
	m.t.Helper()
	pool := slab.New(slab.Config{Debug: true})
	d := domains{pool: pool}
	c, err := nfsrdma.Dial(m.t.Context(), m.client, netip.MustParseAddrPort(addr), nfsrdma.ClientConfig{Memory: d.attach})
	if err != nil {
		m.t.Fatal(err)
	}
	return c, func() {
		for _, step := range []func() error{c.Close, d.close, pool.Close} {
			if err := step(); err != nil && !errors.Is(err, rdma.ErrNotConnected) {
				m.t.Error(err)
			}
		}
	}
}

func (m *machine) null(c *nfsrdma.Client, xid uint32) error {
	var resp nfsrdma.Response
	ctx, cancel := context.WithTimeout(m.t.Context(), 20*time.Second)
	defer cancel()
	if err := c.Do(ctx, &nfsrdma.Request{Head: nullCall(xid)}, &resp); err != nil {
		return err
	}
	checkNull(m.t, resp.Head, xid)
	return nil
}

const devicesYAML = "shares: {data: {path: data}}\nnfs: {port: 0}\nsmb: {enabled: true, port: 0}\niwarp: {enabled: false}\n"

// TestDeviceComesAndGoes: a device is used as soon as it is added. When it is removed, its connections end and TCP goes on. When it
// is added again, it is used again and its memory is registered again.
func TestDeviceComesAndGoes(t *testing.T) {
	for name, caps := range map[string]rdma.Caps{"roce": mem.RoCECaps(), "adapter": mem.AdapterCaps()} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			s, out := m.start(everywhere(configure(t, devicesYAML)))
			at := out.until(t, 0, `msg=serving`)
			if strings.Contains(out.String(), "device=") {
				t.Errorf("a device where there is none:\n%s", out)
			}
			var memory *rdma.Domain
			for round := range 3 {
				dev := m.plug("mlx5_0", "10.0.0.1", caps)
				look(s)
				begun := at
				out.until(t, begun, `msg="rdma device" device=mlx5_0 driver=mlx5_core ports="\[1: roce active 100G on net-mlx5_0\]"`)
				out.until(t, begun, `msg=listening service=nfs transport=roce addr=10.0.0.1:20049 device=mlx5_0`)
				at = out.until(t, begun, `msg=listening service=smb transport=roce addr=10.0.0.1:445 device=mlx5_0`)
				c, end := m.nfsClient("10.0.0.1:20049")
				if err := m.null(c, uint32(round)); err != nil {
					t.Fatal(err)
				}
				if !s.rdma.listensAt("smb", netip.MustParseAddr("10.0.0.1")) {
					t.Error("the address is not said to be capable of RDMA")
				}
				s.rdma.domains.mu.Lock()
				now := s.rdma.domains.of[dev]
				s.rdma.domains.mu.Unlock()
				if now == nil || now == memory {
					t.Fatal("the device's memory is not its own")
				}
				memory = now

				m.pull(dev)
				out.until(t, at, `level=WARN msg="listener ended" .*device=mlx5_0 err="rdma: device removed"`)
				out.until(t, begun, `level=WARN msg="connection closed" .* reason="rdma: device removed"`)
				at = out.until(t, begun, `level=WARN msg="an RDMA device is gone" device=mlx5_0`)
				if err := m.null(c, 99); err == nil {
					t.Error("the connection lives on")
				}
				end()
				select {
				case <-memory.Done():
				case <-time.After(10 * time.Second):
					t.Error("the memory of a device that is gone is still registered")
				}
				if s.rdma.listensAt("smb", netip.MustParseAddr("10.0.0.1")) {
					t.Error("the address is said to be capable of RDMA without the device")
				}
				nullOverTCP(t, netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), out.Addr(t, "nfs", "tcp").Port()))
			}
			if !strings.Contains(out.String(), `no_rdma="no RDMA device that is used has the address 127.0.0.1; iwarp.enabled is false"`) {
				t.Errorf("log:\n%s", out)
			}
		})
	}
}

// TestSeveralProviders serves the provider in software and two devices at once, with one server of each protocol.
func TestSeveralProviders(t *testing.T) {
	m := newMachine(t)
	m.plug("mlx5_0", "10.0.0.1", mem.RoCECaps())
	m.plug("cxgb4_0", "10.0.1.1", mem.AdapterCaps())
	cfg := everywhere(configure(t, "shares: {data: {path: data}}\nnfs: {port: 0, rdma_port: 20049}\nsmb: {enabled: true, port: 0, rdma_port: [4450, 5445]}\nmetrics: {listen: '127.0.0.1:0'}\nrdma: {spin: 0s}\n"))
	_, out := m.start(cfg)
	if m.opened.Spin >= 0 {
		t.Errorf("spin %v, want no spinning", m.opened.Spin)
	}
	for i, at := range []string{"10.0.0.1:20049", "10.0.1.1:20049"} {
		c, end := m.nfsClient(at)
		if err := m.null(c, uint32(i)); err != nil {
			t.Error(err)
		}
		defer end()
	}
	nullOverRDMA(t, netip.MustParseAddrPort("127.0.0.1:20049"))
	nullOverTCP(t, netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), out.Addr(t, "nfs", "tcp").Port()))
	if !strings.Contains(out.String(), `no_rdma="the client did not ask for it (mount option rdma)"`) {
		t.Errorf("log:\n%s", out)
	}
	for _, port := range []string{"4450", "5445"} {
		m.direct("10.0.1.1:" + port)
	}
	admin := "http://" + out.Addr(t, "metrics", "tcp").String()
	text := fetch(t, admin+"/metrics")
	for _, want := range []string{
		`fileserver_rdma_listener{addr="10.0.0.1:20049",device="mlx5_0",service="nfs",transport="roce"} 1`,
		`fileserver_rdma_listener{addr="10.0.1.1:5445",device="cxgb4_0",service="smb",transport="roce"} 1`,
		`fileserver_rdma_listener{addr="0.0.0.0:5445",device="iwarp",service="smb",transport="iwarp"} 1`,
		`fileserver_rdma_port_active{device="mlx5_0",netdev="net-mlx5_0",port="1",transport="roce"} 1`,
		`fileserver_rdma_port_rate_bits{device="mlx5_0",port="1"} 1e+11`,
		`fileserver_connections{protocol="nfs",transport="mem"} 2`,
		`fileserver_connections_total{protocol="nfs",transport="iwarp"} 1`,
		`fileserver_rpcrdma_calls_total{transport="mem"} 2`,
		`fileserver_rdma_registered_bytes{device="mlx5_0"} `,
		`fileserver_rdma_registered_bytes{device="cxgb4_0"} `,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
}

// direct connects to SMB Direct and negotiates.
func (m *machine) direct(addr string) {
	m.t.Helper()
	pool := slab.New(slab.Config{Debug: true})
	d := domains{pool: pool}
	gone := make(chan struct{})
	c, err := smbdirect.Dial(m.t.Context(), m.client, netip.MustParseAddrPort(addr), smbdirect.DialConfig{
		Memory: d.attach, Handler: func(*smbdirect.Conn) transport.Handler { return deaf(gone) },
	})
	if err != nil {
		m.t.Fatal(err)
	}
	c.Disconnect(nil, false)
	<-gone
	if err := errors.Join(d.close(), pool.Close()); err != nil {
		m.t.Error(err)
	}
}

// deaf is a handler that ignores messages; it is closed with the connection.
type deaf chan struct{}

func (deaf) Message(b *slab.Buf) { b.Release() }
func (d deaf) Closed(error)      { close(d) }

// TestPortIsTaken: a listener that cannot be opened is logged once and does not stop the others. It is opened when the port is free.
func TestPortIsTaken(t *testing.T) {
	m := newMachine(t)
	m.plug("mlx5_0", "10.0.0.1", mem.RoCECaps())
	taken, err := m.p.Listen(t.Context(), netip.MustParseAddrPort("10.0.0.1:445"))
	if err != nil {
		t.Fatal(err)
	}
	s, out := m.start(everywhere(configure(t, devicesYAML)))
	for _, want := range []string{
		`msg="not listening" service=smb transport=roce addr=10.0.0.1:445 device=mlx5_0 err=`,
		`msg=listening service=nfs transport=roce addr=10.0.0.1:20049`,
		`level=ERROR msg="a service is missing" err="smb over RDMA: 10.0.0.1:445`,
	} {
		out.until(t, 0, want)
	}
	if why := s.rdma.noRDMA("smb", netip.MustParseAddr("10.0.0.1"), ""); !strings.Contains(why, "already in use") {
		t.Errorf("reason %q", why)
	}
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
	out.until(t, 0, `msg=listening service=smb transport=roce addr=10.0.0.1:445`)
	if n := strings.Count(out.String(), `msg="not listening"`); n != 1 {
		t.Errorf("told %d times", n)
	}
}

// TestWithoutLibraries: devices that cannot be used are logged, and TCP is served.
func TestWithoutLibraries(t *testing.T) {
	m := newMachine(t)
	m.plug("mlx5_0", "10.0.0.1", mem.RoCECaps())
	sys := m.system()
	sys.devices = func(verbs.Config) (deviceProvider, error) { return nil, fmt.Errorf("libibverbs.so.1 is missing") }
	_, out := startWith(t, sys, configure(t, devicesYAML))
	nullOverTCP(t, out.Addr(t, "nfs", "tcp"))
	for _, want := range []string{
		`level=WARN msg="there are RDMA devices, and they are not used" devices=\[mlx5_0\] err="libibverbs.so.1 is missing"`,
		`no_rdma="no RDMA device that is used has the address 127.0.0.1; iwarp.enabled is false; libibverbs.so.1 is missing"`,
	} {
		out.until(t, 0, want)
	}
	m.topo = new(discover.Topology)
	if _, out = startWith(t, sys, configure(t, devicesYAML)); strings.Contains(out.String(), "libibverbs") {
		t.Errorf("the log of a machine without devices names missing libraries:\n%s", out)
	}
	_, out = startWith(t, sys, configure(t, devicesYAML+"rdma: {devices: [mlx5_0]}\n"))
	out.until(t, 0, `level=ERROR msg="the devices of rdma.devices are not used" devices=\[mlx5_0\] err="libibverbs.so.1 is missing"`)
	_, out = startWith(t, m.system(), configure(t, devicesYAML+"rdma: {devices: [mlx5_7]}\n"))
	out.until(t, 0, `level=WARN msg="a device of rdma.devices is not there" device=mlx5_7`)
}

// TestConnectionDomains: with rdma.domain: connection, each connection has its own protection domain.
func TestConnectionDomains(t *testing.T) {
	m := newMachine(t)
	dev := m.plug("mlx5_0", "10.0.0.1", mem.RoCECaps())
	s, _ := m.start(everywhere(configure(t, devicesYAML+"rdma: {domain: connection}\n")))
	registered := func() int64 {
		s.rdma.domains.mu.Lock()
		defer s.rdma.domains.mu.Unlock()
		return s.rdma.domains.of[dev].Registered()
	}
	_, end := m.nfsClient("10.0.0.1:20049")
	one := registered()
	_, other := m.nfsClient("10.0.0.1:20049")
	if two := registered(); one < slab.ArenaSize || two != 2*one {
		t.Errorf("%d bytes registered for one connection, %d for two", one, two)
	}
	end()
	other()
	for stop := time.Now().Add(10 * time.Second); registered() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(stop) {
			t.Fatalf("%d bytes registered without connections", registered())
		}
	}
}
