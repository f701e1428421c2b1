package discover

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"fileserver/rdma"
)

// mlx5 is a function of a RoCE adapter, with its interface.
func (s *sysfs) mlx5(n int, mtu int) (netdev string) {
	pci := fmt.Sprintf("0000:3b:00.%d", n)
	netdev = fmt.Sprintf("ens1f%dnp%d", n, n)
	s.netdev(netdev, 10+n, pci, "speed: 100000", fmt.Sprint("mtu: ", mtu), "queues/rx-1/rps_cpus: 0")
	s.device(fmt.Sprintf("mlx5_%d", n), pci, "mlx5_core", "fw_ver: 22.39.1002", "node_guid: b859:9f03:00aa:000"+fmt.Sprint(n),
		"ports/1/state: 4: ACTIVE", "ports/1/phys_state: 5: LinkUp", "ports/1/rate: 100 Gb/sec (4X EDR)", "ports/1/link_layer: Ethernet")
	return netdev
}

// TestScanVLAN: the adapter's table has GIDs of both versions, for its own interface and the VLAN and the bridge on it.
func TestScanVLAN(t *testing.T) {
	s := newSysfs(t)
	dev := s.mlx5(0, 1500)
	s.netdev("vlan7", 20, "", "uevent: DEVTYPE=vlan")
	s.netdev("br0", 5, "", "uevent: DEVTYPE=bridge") // made before the adapter was there
	s.stack("vlan7", dev)
	s.stack("br0", "vlan7")
	s.links[dev] = addrs("192.0.2.1/24")
	s.links["vlan7"] = addrs("10.7.0.1/24")
	s.links["br0"] = addrs("10.8.0.1/24")
	s.gid("mlx5_0", 0, "fe80::ba59:9fff:feaa:0", "IB/RoCE v1", dev)
	s.gid("mlx5_0", 1, "fe80::ba59:9fff:feaa:0", "RoCE v2", dev)
	s.gid("mlx5_0", 2, "::", "RoCE v2", "") // one that was removed
	s.gid("mlx5_0", 3, "::ffff:192.0.2.1", "RoCE v2", dev)
	s.gid("mlx5_0", 4, "::ffff:10.7.0.1", "IB/RoCE v1", "vlan7")
	s.gid("mlx5_0", 5, "::ffff:10.8.0.1", "RoCE v2", "br0")
	top := s.discover()
	p := top.Device("mlx5_0").Ports[0]
	if p.Netdevs[0] != dev || len(p.Netdevs) != 3 {
		t.Errorf("interfaces %v: the port's own must be the first", p.Netdevs)
	}
	if d := top.Device("mlx5_0"); d.Software || d.Driver != "mlx5_core" || d.BusAddr != "0000:3b:00.0" || d.Firmware != "22.39.1002" {
		t.Errorf("%+v", d)
	}
	if p.Rate != 100e9 || p.ActiveMTU != 1024 || len(p.GIDs) != 5 || p.GIDs[2].Index != 3 || p.GIDs[0].Type != GIDRoCEv1 {
		t.Errorf("%+v", p)
	}
	for addr, ports := range map[string]string{"192.0.2.1": "[mlx5_0/1]", "10.8.0.1": "[mlx5_0/1]", "10.7.0.1": "[]" /* version 1 only */} {
		if got := fmt.Sprint(top.PortsOf(netip.MustParseAddr(addr))); got != ports {
			t.Errorf("ports of %s: %s, want %s", addr, got, ports)
		}
	}
	if got := strings.Join(top.Below("br0"), " "); got != "vlan7 "+dev {
		t.Errorf("below the bridge: %s", got)
	}
	n := top.Netdev("vlan7")
	if n.Kind != KindVLAN || !slices.Equal(n.Upper, []string{"br0"}) || !slices.Equal(n.Lower, []string{dev}) {
		t.Errorf("%+v", n)
	}
	if n := top.Netdev(dev); n.Speed != 100e9 || n.RXQueues != 2 || n.Driver != "mlx5_core" || n.Kind != KindPhysical {
		t.Errorf("%+v", n)
	}
}

// TestScanRxeStacked: rxe has GIDs for all that is above its interface, but takes packets of VLANs only.
func TestScanRxeStacked(t *testing.T) {
	s := newSysfs(t)
	s.netdev("eth0", 2, "0000:00:03.0")
	s.device("rxe0", "", "", "ports/1/state: 4: ACTIVE", "ports/1/link_layer: Ethernet", "parent: eth0")
	s.gid("rxe0", 0, "::ffff:192.0.2.1", "RoCE v2", "eth0")
	s.links["eth0"] = addrs("192.0.2.1/24")
	for i, up := range []struct{ name, kind, below string }{{"vlan7", "vlan", "eth0"}, {"vlan7.8", "vlan", "vlan7"}, {"br0", "bridge", "eth0"}, {"vlan9", "vlan", "br0"}} {
		s.netdev(up.name, 20+i, "", "uevent: DEVTYPE="+up.kind)
		s.stack(up.name, up.below)
		a := fmt.Sprintf("10.%d.0.1", i)
		s.links[up.name] = addrs(a + "/24")
		s.gid("rxe0", i+1, "::ffff:"+a, "RoCE v2", up.name)
	}
	top := s.discover()
	if got := fmt.Sprint(top.Device("rxe0").Ports[0].Netdevs); got != "[eth0 vlan7 vlan7.8]" {
		t.Errorf("interfaces %s", got)
	}
	for addr, want := range map[string]string{"192.0.2.1": "[rxe0/1]", "10.0.0.1": "[rxe0/1]", "10.1.0.1": "[rxe0/1]", "10.2.0.1": "[]", "10.3.0.1": "[]"} {
		if got := fmt.Sprint(top.PortsOf(netip.MustParseAddr(addr))); got != want {
			t.Errorf("ports of %s: %s, want %s", addr, got, want)
		}
	}
}

// TestScanBond: the GIDs of a bond are in the tables of both its parts.
func TestScanBond(t *testing.T) {
	s := newSysfs(t)
	a, b := s.mlx5(0, 9000), s.mlx5(1, 9000)
	s.netdev("bond0", 30, "", "uevent: DEVTYPE=bond", "mtu: 9000", "bonding/mode: 802.3ad 4")
	s.stack("bond0", a)
	s.stack("bond0", b)
	s.links["bond0"] = addrs("192.0.2.9/24")
	for _, dev := range []string{"mlx5_0", "mlx5_1"} {
		s.gid(dev, 0, "::ffff:192.0.2.9", "RoCE v2", "bond0")
	}
	top := s.discover()
	if got := fmt.Sprint(top.Ports("bond0")); got != "[mlx5_0/1 mlx5_1/1]" {
		t.Errorf("ports of the bond: %s", got)
	}
	if got := fmt.Sprint(top.PortsOf(netip.MustParseAddr("192.0.2.9")), top.Device("mlx5_0").Ports[0].ActiveMTU); got != "[mlx5_0/1 mlx5_1/1] 4096" {
		t.Errorf("ports of the bond's address: %s", got)
	}
	if n := top.Netdev("bond0"); n.Kind != KindBond || len(n.Lower) != 2 {
		t.Errorf("%+v", n)
	}
}

// TestScanIPoIB: two ports of one adapter, whose GUIDs are not the node's; a child interface of a partition; a port without a subnet manager.
func TestScanIPoIB(t *testing.T) {
	s := newSysfs(t)
	for n, state := range []string{"4: ACTIVE", "2: INIT"} {
		pci := fmt.Sprintf("0000:5e:00.%d", n)
		guid := fmt.Sprintf("0c42:a103:0077:001%d", n)
		s.netdev(fmt.Sprint("ib", n), 40+n, pci, "type: 32", "mtu: 2044",
			"address: 00:00:10:49:fe:80:00:00:00:00:00:00:"+strings.ReplaceAll(strings.NewReplacer("0c42", "0c:42", "a103", "a1:03", "0077", "00:77", "001", "00:1").Replace(guid), ":", ":"))
		s.device(fmt.Sprint("mlx5_", n), pci, "mlx5_core", "node_guid: 0c42:a103:0077:0000", "ports/1/state: "+state,
			"ports/1/phys_state: 5: LinkUp", "ports/1/rate: 200 Gb/sec (4X HDR)", "ports/1/link_layer: InfiniBand", "ports/1/lid: 0x1f")
		// The subnet manager gave the fabric a prefix of its own.
		s.gid(fmt.Sprint("mlx5_", n), 0, "fec0::"+guid, "IB/RoCE v1", "")
	}
	s.netdev("ib0.8001", 50, "", "type: 32", "address: 00:00:10:50:fe:80:00:00:00:00:00:00:0c:42:a1:03:00:77:00:10")
	s.stack("ib0.8001", "ib0")
	s.links["ib0"] = addrs("10.5.0.1/24")
	s.links["ib1"] = addrs("10.6.0.1/24")
	top := s.discover()
	p := top.Device("mlx5_0").Ports[0]
	if got := fmt.Sprint(p.Transport, p.Netdevs, p.LID, p.Rate, p.ActiveMTU); got != "infiniband [ib0 ib0.8001] 31 200000000000 0" {
		t.Errorf("mlx5_0/1: %s", got)
	}
	if n := top.Netdev("ib0"); n.Kind != KindIPoIB || len(n.HardwareAddr) != 20 {
		t.Errorf("%+v", n)
	}
	if got := fmt.Sprint(top.PortsOf(netip.MustParseAddr("10.5.0.1")), top.PortsOf(netip.MustParseAddr("10.6.0.1")), top.Ports("ib1")); got != "[mlx5_0/1] [] [mlx5_1/1]" {
		t.Errorf("ports: %s", got)
	}
	if s := top.Device("mlx5_1").Ports[0].State; s != PortInit {
		t.Errorf("mlx5_1/1 is %v", s)
	}
}

// TestScanGone: a device that is removed while it is looked at, and one that is not for storage.
func TestScanGone(t *testing.T) {
	s := newSysfs(t)
	s.link("class/infiniband/mlx5_0", "../../devices/gone")
	s.device("efa_0", "0000:00:06.0", "efa", "node_type: 7: unspecified", "ports/1/link_layer: Unspecified", "ports/1/state: 4: ACTIVE")
	top := s.discover()
	if len(top.Devices) != 1 || top.Devices[0].Ports[0].Transport != rdma.TransportUnknown || top.Devices[0].Ports[0].Transport.String() != "unknown" {
		t.Errorf("%+v", top.Devices)
	}
}

func TestRoCEMTU(t *testing.T) {
	for mtu, want := range map[int]int{1500: 1024, 9000: 4096, 4200: 4096, 4191: 2048, 1280: 1024, 351: 0, 352: 256, 0: 0} {
		if got := roceMTU(mtu); got != want {
			t.Errorf("Ethernet MTU %d: %d, want %d", mtu, got, want)
		}
	}
}

func TestScanStrings(t *testing.T) {
	if got := fmt.Sprint(PortActive, PortState(200), PortDown, GIDRoCEv2, GIDType(99)); got != "active unknown down roce-v2 iwarp" {
		t.Error(got)
	}
}
