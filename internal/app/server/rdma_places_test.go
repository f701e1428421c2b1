package server

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"fileserver/config"
	"fileserver/rdma"
	"fileserver/rdma/discover"
)

// device returns a device with a port on a network interface that has addresses.
func device(t *discover.Topology, name, driver string, transport rdma.Transport, netdev string, addrs ...string) {
	n := t.Netdev(netdev)
	if n == nil {
		t.Netdevs = append(t.Netdevs, discover.Netdev{Name: netdev, Index: len(t.Netdevs) + 1, Up: true, Carrier: true})
		n = &t.Netdevs[len(t.Netdevs)-1]
		for _, a := range addrs {
			n.Addrs = append(n.Addrs, netip.MustParsePrefix(a))
		}
	}
	if name == "" {
		return
	}
	p := discover.Port{Num: 1, Transport: transport, State: discover.PortActive, Rate: 100e9, Netdevs: []string{netdev}}
	for _, a := range n.Addrs {
		p.GIDs = append(p.GIDs, discover.GID{Addr: netip.AddrFrom16(a.Addr().As16()), Type: discover.GIDRoCEv2, Netdev: netdev})
	}
	t.Devices = append(t.Devices, discover.Device{Name: name, Driver: driver, Software: driver == "rxe" || driver == "siw", Ports: []discover.Port{p}})
}

func services(cfg *config.Config) []*rdmaService {
	return []*rdmaService{
		{name: "nfs", software: []uint16{20049}, ports: func(rdma.Transport) []uint16 { return []uint16{20049} }},
		{name: "smb", software: cfg.IWARPPorts(), ports: func(t rdma.Transport) []uint16 { return cfg.SMBDirectPorts(t == rdma.TransportIWARP) }},
	}
}

func addrs(list ...string) (out []netip.Addr) {
	for _, a := range list {
		out = append(out, netip.MustParseAddr(a))
	}
	return out
}

// TestDevicePlaces: the addresses, ports and devices that each service listens on.
func TestDevicePlaces(t *testing.T) {
	topo := new(discover.Topology)
	device(topo, "", "", 0, "lo", "127.0.0.1/8")
	device(topo, "mlx5_0", "mlx5_core", rdma.TransportRoCE, "eth0", "192.0.2.1/24", "198.51.100.1/24", "2001:db8::1/64", "fe80::1/64")
	device(topo, "cxgb4_0", "cxgb4", rdma.TransportIWARP, "eth1", "10.1.0.1/16")
	device(topo, "ibp0", "mlx5_core", rdma.TransportInfiniBand, "ib0", "10.2.0.1/16")
	device(topo, "siw0", "siw", rdma.TransportIWARP, "eth2", "10.3.0.1/16")
	device(topo, "efa0", "efa", rdma.TransportUnknown, "eth3", "10.4.0.1/16")
	for _, tc := range []struct {
		name    string
		change  func(*config.Config)
		listen  []netip.Addr
		want    string
		without string
	}{
		{name: "all IPv4", listen: addrs("0.0.0.0"), want: `nfs 192.0.2.1:20049 mlx5_0, smb 192.0.2.1:445 mlx5_0, nfs 198.51.100.1:20049 mlx5_0, smb 198.51.100.1:445 mlx5_0, ` +
			`nfs 10.1.0.1:20049 cxgb4_0, smb 10.1.0.1:5445 cxgb4_0, nfs 10.2.0.1:20049 ibp0, smb 10.2.0.1:445 ibp0`},
		{name: "all IPv6", listen: addrs("::"), want: `nfs [2001:db8::1]:20049 mlx5_0, smb [2001:db8::1]:445 mlx5_0`},
		{name: "one address", listen: addrs("198.51.100.1", "127.0.0.1"), want: `nfs 198.51.100.1:20049 mlx5_0, smb 198.51.100.1:445 mlx5_0`},
		{name: "this machine", listen: addrs("127.0.0.1", "::1"), want: ``},
		{name: "off", listen: addrs("0.0.0.0"), change: func(c *config.Config) { c.RDMA.Devices = []string{"off"} }, want: ``},
		{name: "named", listen: addrs("0.0.0.0"), change: func(c *config.Config) { c.RDMA.Devices = []string{"siw0", "ibp0"} },
			want: `nfs 10.2.0.1:20049 ibp0, smb 10.2.0.1:445 ibp0, nfs 10.3.0.1:20049 siw0, smb 10.3.0.1:5445 siw0`},
		{name: "siw alone", listen: addrs("10.3.0.1"), change: func(c *config.Config) { c.IWARP.Enabled = false }, want: `nfs 10.3.0.1:20049 siw0, smb 10.3.0.1:5445 siw0`},
		{name: "ports", listen: addrs("10.1.0.1"), change: func(c *config.Config) { c.SMB.Port = []uint16{4450} },
			want: `nfs 10.1.0.1:20049 cxgb4_0, smb 10.1.0.1:5445 cxgb4_0, smb 10.1.0.1:445 cxgb4_0`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := &config.Config{Listen: tc.listen, IWARP: config.IWARP{Enabled: true}, RDMA: config.RDMA{Devices: []string{"auto"}},
				SMB: config.SMB{Port: []uint16{445}, RDMAPort: []config.RDMAPort{config.PortAuto}}}
			if tc.change != nil {
				tc.change(cfg)
			}
			var got []string
			for _, p := range devicePlaces(cfg, topo, services(cfg)) {
				got = append(got, p.service+" "+p.addr.String()+" "+p.device)
			}
			if s := strings.Join(got, ", "); s != tc.want {
				t.Errorf("places\n%s\nwant\n%s", s, tc.want)
			}
		})
	}
}

// TestDevicesOnOneInterface: rdma_cm listens on addresses, not on devices, so each address has one listener.
func TestDevicesOnOneInterface(t *testing.T) {
	topo := new(discover.Topology)
	device(topo, "rxe0", "rxe", rdma.TransportRoCE, "eth0", "10.0.0.1/24")
	device(topo, "siw0", "siw", rdma.TransportIWARP, "eth0")
	cfg := &config.Config{Listen: addrs("0.0.0.0"), RDMA: config.RDMA{Devices: []string{"auto"}}, SMB: config.SMB{Port: []uint16{445}, RDMAPort: []config.RDMAPort{config.PortAuto}}}
	seen := map[netip.AddrPort]bool{}
	for _, p := range devicePlaces(cfg, topo, services(cfg)) {
		if seen[p.addr] {
			t.Errorf("%s twice", p.addr)
		}
		seen[p.addr] = true
	}
	if len(seen) != 3 {
		t.Errorf("%d places", len(seen))
	}
	topo.Devices[0].Ports[0].State = discover.PortDown
	for _, p := range devicePlaces(cfg, topo, services(cfg)) {
		if p.device == "rxe0" {
			t.Error("a device without link is listened on")
		}
	}
}

// TestPlan adds and removes places, and checks which listeners are opened and closed.
func TestPlan(t *testing.T) {
	a := place{"nfs", "d0", rdma.TransportRoCE, netip.MustParseAddrPort("10.0.0.1:20049")}
	b := place{"nfs", "d0", rdma.TransportRoCE, netip.MustParseAddrPort("10.0.0.2:20049")}
	now := time.Unix(1e9, 0)
	bad := site{}.failed(errors.New("taken"), now)
	for _, tc := range []struct {
		name                    string
		want                    []place
		have                    map[place]site
		after                   time.Duration
		open, closing, unwanted []place
	}{
		{"nothing", nil, nil, 0, nil, nil, nil},
		{"new", []place{a, b}, nil, 0, []place{a, b}, nil, nil},
		{"another address", []place{a, b}, map[place]site{a: {open: true}}, 0, []place{b}, nil, nil},
		{"not wanted once", []place{a}, map[place]site{a: {open: true}, b: {open: true}}, 0, nil, nil, []place{b}},
		{"not wanted again", []place{a}, map[place]site{a: {open: true}, b: {open: true, absent: 1}}, 0, nil, []place{b}, nil},
		{"back again", []place{a}, map[place]site{a: {open: true, absent: 1}}, 0, nil, nil, nil},
		{"failed just now", []place{a}, map[place]site{a: bad}, firstRetry - 1, nil, nil, nil},
		{"failed a while ago", []place{a}, map[place]site{a: bad}, firstRetry, []place{a}, nil, nil},
		{"failed and gone", nil, map[place]site{a: bad}, 0, nil, []place{a}, nil},
	} {
		open, closing, unwanted := plan(tc.want, tc.have, now.Add(tc.after))
		if !slices.Equal(open, tc.open) || !slices.Equal(closing, tc.closing) || !slices.Equal(unwanted, tc.unwanted) {
			t.Errorf("%s: open %v, close %v, unwanted %v", tc.name, open, closing, unwanted)
		}
	}
	for range 20 {
		bad = bad.failed(errors.New("taken"), now)
	}
	if d := bad.retry.Sub(now); d != maxRetry {
		t.Errorf("after many failures tried again in %v", d)
	}
}

func TestInterfaces(t *testing.T) {
	topo := new(discover.Topology)
	device(topo, "", "", 0, "lo", "127.0.0.1/8")
	cfg := &config.Config{Listen: addrs("0.0.0.0")}
	direct := map[netip.Addr]bool{}
	get := func() (out []string) {
		for _, i := range interfaces(cfg, topo, func(a netip.Addr) bool { return direct[a] }) {
			s := config.Interface{Addr: i.Addr, Speed: i.Speed, RDMA: i.RDMA, RSS: i.RSS}.String()
			out = append(out, string(rune('0'+i.Index))+" "+s)
		}
		return out
	}
	check := func(want ...string) {
		t.Helper()
		if got := get(); !slices.Equal(got, want) {
			t.Errorf("interfaces %q, want %q", got, want)
		}
	}
	check("1 127.0.0.1/10000M")
	device(topo, "mlx5_0", "mlx5_core", rdma.TransportRoCE, "eth0", "10.0.0.1/24", "fe80::1/64")
	device(topo, "ibp0", "mlx5_core", rdma.TransportInfiniBand, "ib0", "10.2.0.1/16")
	device(topo, "rxe0", "rxe", rdma.TransportRoCE, "eth1", "10.3.0.1/24")
	device(topo, "", "", 0, "eth2", "10.4.0.1/24")
	topo.Netdev("eth0").Speed, topo.Netdev("eth1").Speed, topo.Netdev("eth2").Speed = 50e9, 1e9, 1e9
	topo.Netdev("eth2").RXQueues = 4
	// Loopback is left out. The port's rate counts if it is higher than the interface's speed, unless the device is in software.
	check("2 10.0.0.1/100000M", "3 10.2.0.1/100000M", "4 10.3.0.1/1000M", "5 10.4.0.1/1000M/rss")
	direct[netip.MustParseAddr("10.2.0.1")] = true
	topo.Netdev("eth1").Up = false
	check("2 10.0.0.1/100000M", "3 10.2.0.1/100000M/rdma", "5 10.4.0.1/1000M/rss")
	cfg.Listen = addrs("10.4.0.1")
	check("5 10.4.0.1/1000M/rss")
	cfg.SMB.Interfaces = []config.Interface{{Addr: netip.MustParseAddr("192.0.2.7"), Speed: 25e9, RDMA: true}, {Addr: netip.MustParseAddr("10.2.0.1")}, {Addr: netip.MustParseAddr("10.9.9.9")}}
	check("0 192.0.2.7/25000M/rdma", "3 10.2.0.1/100000M", "0 10.9.9.9/10000M")
}
