package discover

import (
	"encoding/hex"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/Mellanox/rdmamap"

	"fileserver/rdma"
)

// maxGIDGap is how many empty entries in a row end a GID table. The kernel fills the first free entry, so that only
// who removes hundreds of addresses leaves a longer gap; rxe's table has 1024 entries, each one a file.
const maxGIDGap = 256

// readDevice reads a device; false: it is gone, or not yet whole.
func readDevice(class, name string) (Device, bool) {
	dir := filepath.Join(class, name)
	d := Device{Name: name}
	typ, ok := readFile(dir + "/node_type")
	if !ok {
		return d, false
	}
	num, text, _ := strings.Cut(typ, ": ")
	d.NodeType = text
	if guid, ok := readFile(dir + "/node_guid"); ok {
		d.NodeGUID, _ = strconv.ParseUint(strings.ReplaceAll(guid, ":", ""), 16, 64)
	}
	d.Firmware, _ = readFile(dir + "/fw_ver")
	d.Description, _ = readFile(dir + "/node_desc")
	d.Driver = linkBase(dir + "/device/driver")
	d.BusAddr = linkBase(dir + "/device")
	parent, _ := readFile(dir + "/parent")
	if d.BusAddr == "" { // no bus: in software
		switch {
		case parent != "":
			d.Driver, d.Software = "rxe", true
		case num == "4":
			d.Driver, d.Software = "siw", true
		}
	}
	d.CharDevices = rdmamap.GetRdmaCharDevices(name)
	slices.Sort(d.CharDevices)
	for _, p := range rdmamap.GetPorts(name) {
		if n, err := strconv.Atoi(p); err == nil {
			port := readPort(name, dir+"/ports/"+p, n, num)
			if parent != "" {
				port.Netdevs = []string{parent}
			}
			d.Ports = append(d.Ports, port)
		}
	}
	slices.SortFunc(d.Ports, func(a, b Port) int { return a.Num - b.Num })
	return d, true
}

// readPort reads a port; nodeType is the number of the device's type (enum rdma_node_type).
func readPort(device, dir string, num int, nodeType string) Port {
	p := Port{Num: num, Transport: rdma.TransportUnknown}
	layer, _ := readFile(dir + "/link_layer")
	switch {
	case nodeType == "4":
		p.Transport = rdma.TransportIWARP
	case nodeType != "1":
	case layer == "Ethernet":
		p.Transport = rdma.TransportRoCE
	case layer == "InfiniBand":
		p.Transport = rdma.TransportInfiniBand
	}
	state, _ := readFile(dir + "/state")
	n, _, _ := strings.Cut(state, ":")
	if s, err := strconv.ParseUint(n, 10, 8); err == nil && s <= uint64(PortActiveDefer) {
		p.State = PortState(s)
	}
	phys, _ := readFile(dir + "/phys_state")
	_, p.PhysState, _ = strings.Cut(phys, ": ")
	if rate, ok := readFile(dir + "/rate"); ok {
		word, _, _ := strings.Cut(rate, " ")
		gbit, _ := strconv.ParseFloat(word, 64)
		p.Rate = uint64(gbit*1000+0.5) * 1e6
	}
	if lid, ok := readFile(dir + "/lid"); ok {
		v, _ := strconv.ParseUint(lid, 0, 16)
		p.LID = uint16(v)
	}
	p.GIDs = readGIDs(dir, p.Transport)
	p.Counters = counterMap(rdmamap.GetRdmaSysfsStats(device, num))
	p.HWCounters = counterMap(rdmamap.GetRdmaSysfsHwStats(device, num))
	return p
}

// readGIDs reads the table of addresses.
func readGIDs(dir string, transport rdma.Transport) (list []GID) {
	gap := 0
	for i := 0; gap < maxGIDGap; i++ {
		index := strconv.Itoa(i)
		text, ok := readFile(dir + "/gids/" + index)
		if !ok {
			break // the end of the table
		}
		addr, err := netip.ParseAddr(text)
		// A table has empty entries as zeros.
		if err != nil || addr.IsUnspecified() {
			gap++
			continue
		}
		gap = 0
		g := GID{Index: i, Addr: addr}
		g.Netdev, _ = readFile(dir + "/gid_attrs/ndevs/" + index)
		typ, _ := readFile(dir + "/gid_attrs/types/" + index)
		switch {
		case transport == rdma.TransportIWARP:
			g.Type = GIDIWARP
		case transport != rdma.TransportRoCE:
			g.Type = GIDInfiniBand
		case typ == "RoCE v2":
			g.Type = GIDRoCEv2
		default:
			g.Type = GIDRoCEv1
		}
		// The default GID of an InfiniBand port is there before the port has a GUID.
		if b := addr.As16(); transport == rdma.TransportInfiniBand && allZero(b[8:]) {
			continue
		}
		list = append(list, g)
	}
	return list
}

func allZero(b []byte) bool {
	return !slices.ContainsFunc(b, func(x byte) bool { return x != 0 })
}

// counterMap drops what is no counter.
func counterMap(list []rdmamap.RdmaStatEntry, err error) map[string]uint64 {
	if err != nil || len(list) == 0 {
		return nil
	}
	m := make(map[string]uint64, len(list))
	for _, e := range list {
		if e.Name != "lifespan" { // for how long the kernel keeps the values, ms
			m[e.Name] = e.Value
		}
	}
	return m
}

// bind finds the network interfaces of a port. GID tables name them; those of InfiniBand do not, nor did those of iWARP before Linux 6.6.
func (t *Topology) bind(d *Device, p *Port) {
	add := func(name string) {
		if name != "" && !slices.Contains(p.Netdevs, name) {
			p.Netdevs = append(p.Netdevs, name)
		}
	}
	for _, g := range p.GIDs {
		if d.Driver != "rxe" || t.rxeTakes(p, g.Netdev) {
			add(g.Netdev)
		}
	}
	for i := range t.Netdevs {
		n := &t.Netdevs[i]
		for j := range p.GIDs {
			gid := p.GIDs[j].Addr.As16()
			switch {
			case p.Transport == rdma.TransportInfiniBand && len(n.HardwareAddr) == 20:
				// RFC 4391 9.1.1: four bytes with the queue pair, and the port's GID, whose prefix the subnet manager may change.
				if string(n.HardwareAddr[12:]) == string(gid[8:]) {
					add(n.Name)
				}
			case p.Transport == rdma.TransportIWARP && p.GIDs[j].Netdev == "" && len(n.HardwareAddr) == 6:
				if string(n.HardwareAddr) == string(gid[:6]) && n.Kind != KindVLAN {
					add(n.Name)
				}
			}
		}
	}
	t.ownFirst(p)
	if n := t.first(p); n != nil && p.Transport == rdma.TransportRoCE {
		p.ActiveMTU = roceMTU(n.MTU)
	}
}

// rxeTakes reports whether rxe takes the packets of an interface that its GID table names: those of its own and of VLANs on it. The table has the addresses of
// bridges and bonds above, too, but what comes in through these is dropped, and only this machine itself would reach them.
func (t *Topology) rxeTakes(p *Port, netdev string) bool {
	for !slices.Contains(p.Netdevs, netdev) {
		n := t.Netdev(netdev)
		if n == nil { // of another namespace
			return true
		}
		if n.Kind != KindVLAN || len(n.Lower) != 1 {
			return false
		}
		netdev = n.Lower[0]
	}
	return true
}

// ownFirst puts the interface that is stacked on no other of the port's in front.
func (t *Topology) ownFirst(p *Port) {
	slices.SortStableFunc(p.Netdevs, func(a, b string) int {
		switch below := slices.Contains(t.Below(b), a); {
		case below:
			return -1
		case slices.Contains(t.Below(a), b):
			return 1
		}
		return 0
	})
}

func (t *Topology) first(p *Port) *Netdev {
	if len(p.Netdevs) == 0 {
		return nil
	}
	return t.Netdev(p.Netdevs[0])
}

// roceHeaders are the bytes before and behind the payload that a RoCE packet may have inside an Ethernet frame's: GRH or IPv6, UDP, BTH, XRC, AtomicETH, ICRC.
const roceHeaders = 40 + 8 + 12 + 4 + 28 + 4

// roceMTU is the largest MTU of InfiniBand (IBA 9.7.1: powers of two from 256 to 4096) that goes into an MTU of Ethernet, or 0.
func roceMTU(mtu int) int {
	for m := 4096; m >= 256; m /= 2 {
		if m <= mtu-roceHeaders {
			return m
		}
	}
	return 0
}

// parseMAC reads a hardware address of any length.
func parseMAC(s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, ":", ""))
	if err != nil {
		return nil
	}
	return b
}
