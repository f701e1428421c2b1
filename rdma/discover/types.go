package discover

import (
	"fmt"
	"net"
	"net/netip"
	"slices"

	"fileserver/rdma"
)

// Device is an RDMA device as the system describes it.
type Device struct {
	Name        string // e.g. "mlx5_0", "rocep1s0f0", "siw0"
	Driver      string // of the function on its bus, e.g. "mlx5_core"; "rxe" and "siw" for those in software; else empty
	Software    bool   // a device in software, on a network interface of any kind
	NodeType    string // "CA", "RNIC", …
	NodeGUID    uint64 // the GUID of the node (IBA 4.1.1)
	Firmware    string // its version; empty where there is none
	Description string // node description
	BusAddr     string // e.g. "0000:3b:00.0"; empty for devices in software
	// CharDevices are the device files that user programs drive it by; /dev/infiniband/rdma_cm, which all devices share, is among them
	// if it exists.
	CharDevices []string
	Ports       []Port // in order of their numbers
}

// Port is one port of a device.
type Port struct {
	Num       int // from 1
	Transport rdma.Transport
	State     PortState
	PhysState string // as the kernel says: "LinkUp", "Disabled", "Polling", …
	// Rate is the signalling rate, bit/s. Devices in software say 2.5 or 10 Gbit/s where the network interface has no speed.
	Rate uint64
	// ActiveMTU is the largest payload of a packet, bytes, on RoCE: what the MTU of the network interface leaves room for. 0 on iWARP, which
	// has segments of TCP, and on InfiniBand, where the fabric decides.
	ActiveMTU int
	LID       uint16 // of an InfiniBand port, 0 while no subnet manager gave it one
	GIDs      []GID  // those in use, in order of their index
	// Netdevs are the network interfaces on this port: its own first, then those stacked on it that have GIDs.
	Netdevs []string
	// Counters and HWCounters are the port's counters (IBA 16.1.3.5, and those of the driver) by the kernel's names. The kernel counts
	// port_xmit_data and port_rcv_data in words of 4 bytes.
	Counters, HWCounters map[string]uint64
}

// Active reports whether the port carries traffic.
func (p *Port) Active() bool { return p.State == PortActive }

// PortState is the logical state of a port (IBA 11.2.1.3).
type PortState uint8

// The states, with their numbers.
const (
	PortUnknown PortState = iota
	PortDown
	PortInit  // physically up; no subnet manager has set it up
	PortArmed // set up, not yet active
	PortActive
	PortActiveDefer
)

// String names the state.
func (s PortState) String() string {
	if s > PortActiveDefer {
		return "unknown"
	}
	return [...]string{"unknown", "down", "init", "armed", "active", "active-defer"}[s]
}

// GIDType is what a GID stands for.
type GIDType uint8

// The types.
const (
	GIDInfiniBand GIDType = iota
	GIDRoCEv1             // Ethernet frames: not routed, and not used by rdma_cm unless it is told to
	GIDRoCEv2             // UDP
	GIDIWARP              // the MAC address of the interface
)

// String names the type.
func (t GIDType) String() string {
	return [...]string{"ib", "roce-v1", "roce-v2", "iwarp"}[min(t, GIDIWARP)]
}

// GID is an entry of a port's table of addresses (IBA 4.1.1).
type GID struct {
	Index  int
	Addr   netip.Addr // 128 bits; IPv4 addresses on RoCE are mapped (::ffff:192.0.2.1)
	Type   GIDType
	Netdev string // the network interface whose address it is; empty on InfiniBand
}

// NetdevKind is what a network interface is made of.
type NetdevKind string

// Kinds that matter to RDMA. Others are as rtnetlink names them.
const (
	KindPhysical NetdevKind = "physical" // a device on a bus
	KindLoopback NetdevKind = "loopback"
	KindBridge   NetdevKind = "bridge"
	KindVLAN     NetdevKind = "vlan"
	KindBond     NetdevKind = "bond"
	KindTeam     NetdevKind = "team"
	KindIPoIB    NetdevKind = "ipoib"
	KindVeth     NetdevKind = "veth"
	KindMACVLAN  NetdevKind = "macvlan"
	KindTun      NetdevKind = "tun"
	KindDummy    NetdevKind = "dummy"
	KindVirtual  NetdevKind = "virtual" // without a bus, and nothing more is known
)

// Netdev is a network interface.
type Netdev struct {
	Name         string
	Index        int
	Kind         NetdevKind
	HardwareAddr net.HardwareAddr // 20 bytes on IPoIB
	MTU          int              // bytes
	Speed        uint64           // bit/s; 0: it says none
	OperState    string           // RFC 2863 ifOperStatus: "up", "down", "unknown", "lowerlayerdown", …
	Up           bool             // set up by the administrator
	Carrier      bool             // has a link; virtual ones always while they are up
	Lower, Upper []string         // the interfaces it is stacked on, and those stacked on it
	Driver       string           // of its bus; empty for virtual ones
	RXQueues     int
	Addrs        []netip.Prefix // its addresses, and their networks
}

// Running reports whether the interface can carry packets.
func (n *Netdev) Running() bool {
	return n.Up && n.Carrier && n.OperState != "down" && n.OperState != "lowerlayerdown"
}

// String describes the port as `rdma link` names it, e.g. "mlx5_0/1".
func (r PortRef) String() string { return fmt.Sprintf("%s/%d", r.Device.Name, r.Port.Num) }

// Below are the names of all interfaces that one is stacked on, nearest first.
func (t *Topology) Below(name string) (list []string) {
	next := []string{name}
	for len(next) > 0 {
		n := t.Netdev(next[0])
		next = next[1:]
		if n == nil {
			continue
		}
		for _, l := range n.Lower {
			if l != name && !slices.Contains(list, l) {
				list = append(list, l)
				next = append(next, l)
			}
		}
	}
	return list
}
