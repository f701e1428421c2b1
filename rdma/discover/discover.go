// Package discover finds the RDMA devices of the machine, their ports and GIDs, the network
// interfaces they belong to ([Scan]), and who listens by rdma_cm ([CMListeners]). It reads sysfs
// and asks the kernel by netlink. It needs no privilege and no RDMA library.
package discover

import (
	"net/netip"
	"path/filepath"
	"slices"
	"sync"

	"github.com/Mellanox/rdmamap"

	"fileserver/rdma"
)

// Config says where [Scan] looks. The zero value is this machine.
type Config struct {
	Sysfs string // the root of sysfs; empty: /sys
	Dev   string // the root of the device files; empty: /dev
	// Links lists the network interfaces by name; nil asks the kernel by netlink. Entries with an Index
	// are complete as far as netlink knows them; if there are any, interfaces without an entry are left out. Sysfs adds the rest.
	Links func() (map[string]Netdev, error)
}

// Topology is what [Scan] found: a picture of one moment, not updated.
type Topology struct {
	Devices []Device // in order of their names
	Netdevs []Netdev // in order of their indexes
}

// rdmamapMu guards the directories that rdmamap looks into, which are variables of that package.
var rdmamapMu sync.Mutex

// Scan finds the RDMA devices of the machine, their ports and GIDs, and the network interfaces these belong to. A
// machine without RDMA has no devices, which is no error. A device that goes away during the scan is left out. A scan
// takes some milliseconds, so it may be made every other second.
//
// The lists of devices, ports, device files and counters are rdmamap's. The mapping to network interfaces is our own:
// rdmamap's takes the first of several devices, asks the GID table of every device once per interface, and compares the
// address of an IPoIB interface, which has the port's GUID, with the node's.
//
// Scan fails when the network interfaces cannot be listed. It then still returns what it found without them.
func Scan(cfg Config) (*Topology, error) {
	if cfg.Sysfs == "" {
		cfg.Sysfs = "/sys"
	}
	if cfg.Dev == "" {
		cfg.Dev = "/dev"
	}
	if cfg.Links == nil {
		cfg.Links = netlinkLinks
	}
	links, err := cfg.Links()
	t := &Topology{Netdevs: readNetdevs(cfg.Sysfs, links), Devices: discoverDevices(cfg)}
	for i := range t.Devices {
		for j := range t.Devices[i].Ports {
			t.bind(&t.Devices[i], &t.Devices[i].Ports[j])
		}
	}
	return t, err
}

// discoverDevices reads the devices.
func discoverDevices(cfg Config) []Device {
	rdmamapMu.Lock()
	defer rdmamapMu.Unlock()
	rdmamap.RdmaClassDir = filepath.Join(cfg.Sysfs, "class/infiniband")
	rdmamap.RdmaIbUcmDir = filepath.Join(cfg.Sysfs, "class/infiniband_cm")
	rdmamap.RdmaUmadDir = filepath.Join(cfg.Sysfs, "class/infiniband_mad")
	rdmamap.RdmaUverbsDir = filepath.Join(cfg.Sysfs, "class/infiniband_verbs")
	rdmamap.RdmaDeviceDir = filepath.Join(cfg.Dev, "infiniband")
	rdmamap.RdmaUcmDevice = filepath.Join(cfg.Dev, "infiniband/rdma_cm")
	names := rdmamap.GetRdmaDeviceList()
	slices.Sort(names)
	var list []Device
	for _, name := range names {
		if d, ok := readDevice(rdmamap.RdmaClassDir, name); ok {
			list = append(list, d)
		}
	}
	return list
}

// PortRef is a port of a device.
type PortRef struct {
	Device *Device
	Port   *Port
}

// Device returns the device with a name, or nil.
func (t *Topology) Device(name string) *Device {
	for i := range t.Devices {
		if t.Devices[i].Name == name {
			return &t.Devices[i]
		}
	}
	return nil
}

// Netdev returns the network interface with a name, or nil.
func (t *Topology) Netdev(name string) *Netdev {
	for i := range t.Netdevs {
		if t.Netdevs[i].Name == name {
			return &t.Netdevs[i]
		}
	}
	return nil
}

// NetdevOf returns the network interface that has an address, or nil.
func (t *Topology) NetdevOf(a netip.Addr) *Netdev {
	a = a.Unmap().WithZone("")
	for i := range t.Netdevs {
		for _, p := range t.Netdevs[i].Addrs {
			if p.Addr() == a {
				return &t.Netdevs[i]
			}
		}
	}
	return nil
}

// Ports are the ports that a network interface is a way to, in whatever state they are: the port it belongs to and, for VLANs and bonds
// on such interfaces, the ports whose GID tables name it.
func (t *Topology) Ports(netdev string) (list []PortRef) {
	for i := range t.Devices {
		d := &t.Devices[i]
		for j := range d.Ports {
			if slices.Contains(d.Ports[j].Netdevs, netdev) {
				list = append(list, PortRef{d, &d.Ports[j]})
			}
		}
	}
	return list
}

// PortsOf are the active ports by which rdma_cm reaches an address of this machine: with iWARP and InfiniBand those of its interface; with RoCE
// those of them that have the address as a GID of version 2.
func (t *Topology) PortsOf(a netip.Addr) (list []PortRef) {
	n := t.NetdevOf(a)
	if n == nil {
		return nil
	}
	for _, r := range t.Ports(n.Name) {
		if r.Port.Active() && (r.Port.Transport != rdma.TransportRoCE || r.Port.hasGID(a, n.Name)) {
			list = append(list, r)
		}
	}
	return list
}

func (p *Port) hasGID(a netip.Addr, netdev string) bool {
	a = a.Unmap().WithZone("")
	return slices.ContainsFunc(p.GIDs, func(g GID) bool {
		return g.Type == GIDRoCEv2 && g.Netdev == netdev && g.Addr.Unmap() == a
	})
}
