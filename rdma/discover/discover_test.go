package discover

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fileserver/rdma"
)

// sysfs is a tree as the kernel lays it out: classes are symbolic links into devices.
type sysfs struct {
	t     testing.TB
	root  string
	links map[string]Netdev
	uverb int
}

func newSysfs(t testing.TB) *sysfs {
	return &sysfs{t: t, root: t.TempDir(), links: map[string]Netdev{}}
}

func (s *sysfs) file(name, content string) {
	s.t.Helper()
	path := filepath.Join(s.root, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content+"\n"), 0o644)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *sysfs) link(name, to string) {
	s.t.Helper()
	path := filepath.Join(s.root, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(to, path)); err != nil {
		s.t.Fatal(err)
	}
}

// files writes files below a directory, "name: content" each.
func (s *sysfs) files(dir string, lines ...string) {
	for _, l := range lines {
		name, content, _ := strings.Cut(l, ": ")
		s.file(filepath.Join(dir, name), content)
	}
}

// netdev makes a network interface, on the bus function if pci is not empty.
func (s *sysfs) netdev(name string, index int, pci string, lines ...string) {
	dir := "devices/virtual/net/" + name
	if pci != "" {
		dir = "devices/pci0000:00/" + pci + "/net/" + name
		s.link(dir+"/device", "../../../"+pci)
	}
	s.link("class/net/"+name, "../../"+dir)
	s.files(dir, append([]string{fmt.Sprint("ifindex: ", index), "type: 1", "mtu: 1500", "operstate: up", "carrier: 1",
		"flags: 0x1003", fmt.Sprintf("address: 02:00:00:00:00:%02x", index), "uevent: INTERFACE=" + name, "queues/rx-0/rps_cpus: 0"}, lines...)...)
}

// stack says that one interface is upon another.
func (s *sysfs) stack(upper, lower string) {
	s.link("class/net/"+upper+"/lower_"+lower, "../"+lower)
	s.link("class/net/"+lower+"/upper_"+upper, "../"+upper)
}

// device makes an RDMA device.
func (s *sysfs) device(name, pci, driver string, lines ...string) {
	dir := "devices/virtual/infiniband/" + name
	if pci != "" {
		dir = "devices/pci0000:00/" + pci + "/infiniband/" + name
		s.link(dir+"/device", "../../../"+pci)
		if _, err := os.Lstat(filepath.Join(s.root, "devices/pci0000:00", pci, "driver")); err != nil {
			s.link("devices/pci0000:00/"+pci+"/driver", "../../../bus/pci/drivers/"+driver)
		}
	}
	s.link("class/infiniband/"+name, "../../"+dir)
	s.files(dir, append([]string{"node_type: 1: CA", "node_guid: 0000:0000:0000:0000"}, lines...)...)
	s.file(fmt.Sprintf("class/infiniband_verbs/uverbs%d/ibdev", s.uverb), name)
	s.uverb++
}

// gid adds a row to the first port's table of GIDs.
func (s *sysfs) gid(device string, index int, gid, typ, netdev string) {
	port := "class/infiniband/" + device + "/ports/1"
	i := fmt.Sprint(index)
	s.file(port+"/gids/"+i, netip.MustParseAddr(gid).StringExpanded())
	s.file(port+"/gid_attrs/types/"+i, typ)
	if netdev != "" {
		s.file(port+"/gid_attrs/ndevs/"+i, netdev)
	}
}

func (s *sysfs) discover() *Topology {
	s.t.Helper()
	top, err := Scan(Config{Sysfs: s.root, Dev: filepath.Join(s.root, "dev"),
		Links: func() (map[string]Netdev, error) { return s.links, nil }})
	if err != nil {
		s.t.Fatal(err)
	}
	return top
}

func addrs(list ...string) Netdev {
	var i Netdev
	for _, a := range list {
		i.Addrs = append(i.Addrs, netip.MustParsePrefix(a))
	}
	return i
}

// soft is the guest of the tests, as it shows itself: rxe on vec0, siw on one end of a veth pair that is down and on a dummy.
func soft(t testing.TB) *sysfs {
	s := newSysfs(t)
	s.netdev("lo", 1, "", "type: 772", "address: 00:00:00:00:00:00", "flags: 0x9", "mtu: 65536", "operstate: unknown")
	s.netdev("vec0", 3, "", "address: 12:22:1f:08:6d:0a", "mtu: 9000", "operstate: unknown")
	s.netdev("ve1", 4, "", "address: a6:18:1d:67:ac:02", "operstate: down", "flags: 0x1002")
	os.Remove(filepath.Join(s.root, "class/net/ve1/carrier")) // cannot be read while it is not set up
	s.netdev("du0", 6, "", "address: f6:a8:b1:56:b4:a7", "operstate: unknown", "flags: 0x83", "speed: -1")
	s.links["vec0"] = addrs("198.18.1.2/24", "fe80::1022:1fff:fe08:6d0a/64")
	s.links["ve1"] = Netdev{Kind: KindVeth}
	s.links["du0"] = Netdev{Kind: KindDummy, Addrs: addrs("10.9.0.1/24").Addrs}
	s.device("rxe0", "", "", "node_desc: rxe", "node_guid: 1022:1fff:fe08:6d0a", "parent: vec0", "fw_ver: ",
		"ports/1/state: 4: ACTIVE", "ports/1/phys_state: 5: LinkUp", "ports/1/rate: 2.5 Gb/sec (1X SDR)", "ports/1/link_layer: Ethernet",
		"ports/1/lid: 0x0", "ports/1/counters/port_xmit_data: 12", "ports/1/hw_counters/lifespan: 10", "ports/1/hw_counters/sent_pkts: 34")
	s.gid("rxe0", 0, "fe80::1022:1fff:fe08:6d0a", "RoCE v2", "vec0")
	s.gid("rxe0", 1, "::ffff:198.18.1.2", "RoCE v2", "vec0")
	for i := 2; i < 1024; i++ {
		s.file(fmt.Sprintf("class/infiniband/rxe0/ports/1/gids/%d", i), "0000:0000:0000:0000:0000:0000:0000:0000")
	}
	s.device("siw0", "", "", "node_type: 4: RNIC", "node_desc: Software iWARP stack", "node_guid: a418:1dff:fe67:ac02",
		"ports/1/state: 1: DOWN", "ports/1/phys_state: 3: Disabled", "ports/1/rate: 10 Gb/sec (1X FDR10)", "ports/1/link_layer: Ethernet")
	s.gid("siw0", 0, "a618:1d67:ac02::", "IB/RoCE v1", "ve1")
	s.device("siw2", "", "", "node_type: 4: RNIC", "node_desc: Software iWARP stack", "node_guid: f4a8:b1ff:fe56:b4a7",
		"ports/1/state: 4: ACTIVE", "ports/1/phys_state: 5: LinkUp", "ports/1/rate: 2.5 Gb/sec (1X SDR)", "ports/1/link_layer: Ethernet")
	s.gid("siw2", 0, "f6a8:b156:b4a7::", "IB/RoCE v1", "") // as before Linux 6.6, without the interface
	return s
}

func TestScanSoft(t *testing.T) {
	top := soft(t).discover()
	if got := fmt.Sprint(len(top.Devices), len(top.Netdevs)); got != "3 4" {
		t.Fatalf("devices and interfaces: %s", got)
	}
	rxe := top.Device("rxe0")
	p := rxe.Ports[0]
	if !rxe.Software || rxe.Driver != "rxe" || rxe.NodeGUID != 0x10221ffffe086d0a || rxe.NodeType != "CA" || rxe.Firmware != "" {
		t.Errorf("rxe0: %+v", rxe)
	}
	if !slices.ContainsFunc(rxe.CharDevices, func(c string) bool { return strings.HasSuffix(c, "infiniband/uverbs0") }) || len(rxe.CharDevices) != 1 {
		t.Errorf("rxe0's device files: %v", rxe.CharDevices)
	}
	if p.Transport != rdma.TransportRoCE || !p.Active() || p.PhysState != "LinkUp" || p.Rate != 2.5e9 || p.ActiveMTU != 4096 || len(p.GIDs) != 2 {
		t.Errorf("rxe0/1: %+v", p)
	}
	if g := p.GIDs[1]; g.Index != 1 || g.Type != GIDRoCEv2 || g.Netdev != "vec0" || g.Addr.Unmap() != netip.MustParseAddr("198.18.1.2") {
		t.Errorf("GID: %+v", g)
	}
	if len(p.Counters) != 1 || p.Counters["port_xmit_data"] != 12 || len(p.HWCounters) != 1 || p.HWCounters["sent_pkts"] != 34 {
		t.Errorf("counters: %v %v", p.Counters, p.HWCounters)
	}
	siw := top.Device("siw0")
	if siw.Driver != "siw" || !siw.Software || siw.Ports[0].Transport != rdma.TransportIWARP || siw.Ports[0].State != PortDown ||
		siw.Ports[0].GIDs[0].Type != GIDIWARP || siw.Ports[0].ActiveMTU != 0 {
		t.Errorf("siw0: %+v", siw)
	}
	for netdev, port := range map[string]string{"vec0": "[rxe0/1]", "ve1": "[siw0/1]", "du0": "[siw2/1]", "lo": "[]"} {
		if got := fmt.Sprint(top.Ports(netdev)); got != port {
			t.Errorf("ports of %s: %s, want %s", netdev, got, port)
		}
	}
	for addr, port := range map[string]string{"198.18.1.2": "[rxe0/1]", "fe80::1022:1fff:fe08:6d0a": "[rxe0/1]", "10.9.0.1": "[siw2/1]", "192.0.2.1": "[]"} {
		if got := fmt.Sprint(top.PortsOf(netip.MustParseAddr(addr))); got != port {
			t.Errorf("ports of %s: %s, want %s", addr, got, port)
		}
	}
	if n := top.Netdev("ve1"); n.Kind != KindVeth || n.Up || n.Carrier || n.Running() {
		t.Errorf("ve1: %+v", n)
	}
	if n := top.Netdev("vec0"); n.Kind != KindVirtual || !n.Running() || n.MTU != 9000 || n.Speed != 0 || n.RXQueues != 1 || n.HardwareAddr.String() != "12:22:1f:08:6d:0a" {
		t.Errorf("vec0: %+v", n)
	}
	if n := top.NetdevOf(netip.MustParseAddr("::ffff:10.9.0.1")); n == nil || n.Name != "du0" || n.Speed != 0 {
		t.Errorf("who has 10.9.0.1: %+v", n)
	}
	if n := top.Netdev("lo"); n.Kind != KindLoopback {
		t.Errorf("lo: %+v", n)
	}
}

// TestScanNothing is the machine without RDMA, and the one that will not say its addresses.
func TestScanNothing(t *testing.T) {
	s := newSysfs(t)
	s.netdev("eth0", 2, "0000:00:03.0", "speed: 1000")
	s.file("class/net/bonding_masters", "") // which is no interface
	top := s.discover()
	if len(top.Devices) != 0 || len(top.Netdevs) != 1 || top.Netdevs[0].Speed != 1e9 || top.Netdevs[0].Kind != KindPhysical {
		t.Errorf("%+v", top)
	}
	failed := errors.New("netlink")
	top, err := Scan(Config{Sysfs: s.root, Links: func() (map[string]Netdev, error) { return nil, failed }})
	if !errors.Is(err, failed) || len(top.Netdevs) != 1 {
		t.Errorf("%+v, %v", top, err)
	}
}

// TestScanElsewhere is a program in a network namespace that is not its sysfs's: interfaces of the same name are others.
func TestScanElsewhere(t *testing.T) {
	s := newSysfs(t)
	s.netdev("eth0", 2, "0000:00:03.0", "speed: 1000")
	s.netdev("eth1", 3, "0000:00:04.0", "speed: 1000")
	s.netdev("eth2", 4, "0000:00:05.0", "speed: 1000")
	mac := func(b byte) net.HardwareAddr { return net.HardwareAddr{2, 0, 0, 0, 0, b} }
	s.links["eth0"] = Netdev{Name: "eth0", Index: 2, HardwareAddr: mac(99), MTU: 1400, Kind: KindVeth, Addrs: addrs("10.0.0.2/24").Addrs, Up: true, Carrier: true, OperState: "up"}
	s.links["eth1"] = Netdev{Name: "eth1", Index: 3, HardwareAddr: mac(3), Kind: KindVirtual}
	top := s.discover()
	if len(top.Netdevs) != 2 {
		t.Fatalf("%+v", top.Netdevs)
	}
	if n := top.Netdev("eth0"); n.Kind != KindVeth || n.MTU != 1400 || n.Speed != 0 || len(n.Addrs) != 1 || !n.Running() {
		t.Errorf("%+v", n)
	}
	if n := top.Netdev("eth1"); n.Kind != KindPhysical || n.Speed != 1e9 || n.MTU != 1500 {
		t.Errorf("%+v", n)
	}
}

// TestScanHere asks the kernel that the test runs on.
func TestScanHere(t *testing.T) {
	top, err := Scan(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if n := top.NetdevOf(netip.MustParseAddr("127.0.0.1")); n == nil || n.Kind != KindLoopback || n.Index != 1 || !n.Running() {
		t.Errorf("the loopback interface: %+v", n)
	}
}

func BenchmarkScan(b *testing.B) {
	s := soft(b)
	b.ReportAllocs()
	for b.Loop() {
		s.discover()
	}
}
