package server

import (
	"net/netip"
	"slices"

	"fileserver/config"
	"fileserver/rdma/discover"
	"fileserver/smb"
)

// unknownSpeed is the speed reported for links whose speed is not known, bit/s. Most of these are virtual.
const unknownSpeed = 10e9

// interfaces returns the addresses reported to SMB clients: those of this machine that the server listens on, or
// smb.interfaces if it is set.
func (s *Server) interfaces() []smb.Interface {
	return interfaces(s.rdma.cfg, s.rdma.topology(), func(a netip.Addr) bool { return s.rdma.listensAt("smb", a) })
}

// interfaces is the pure part. direct reports whether SMB Direct has a listener for an address.
func interfaces(cfg *config.Config, t *discover.Topology, direct func(netip.Addr) bool) (list []smb.Interface) {
	for _, c := range cfg.SMB.Interfaces {
		i := smb.Interface{Addr: c.Addr, Speed: c.Speed, RDMA: c.RDMA, RSS: c.RSS}
		n := t.NetdevOf(c.Addr)
		if n != nil {
			i.Index = uint32(n.Index)
		}
		if i.Speed == 0 {
			i.Speed = speed(t, n, c.Addr)
		}
		list = append(list, i)
	}
	if len(list) > 0 {
		return list
	}
	for i := range t.Netdevs {
		n := &t.Netdevs[i]
		if !n.Up {
			continue
		}
		for _, p := range n.Addrs {
			a := p.Addr().Unmap()
			if listensOn(cfg.Listen, a) && !a.IsLinkLocalUnicast() {
				list = append(list, smb.Interface{Index: uint32(n.Index), Addr: a, Speed: speed(t, n, a), RSS: n.RXQueues > 1, RDMA: direct(a)})
			}
		}
	}
	// Clients on other machines cannot reach loopback addresses.
	if slices.ContainsFunc(list, func(i smb.Interface) bool { return !i.Addr.IsLoopback() }) {
		list = slices.DeleteFunc(list, func(i smb.Interface) bool { return i.Addr.IsLoopback() })
	}
	return list
}

// speed returns the speed of the link below an address, bit/s: that of the network interface or of the RDMA device's
// port, whichever is higher. Interfaces of IPoIB report none. Devices in software report made-up speeds, which are ignored.
func speed(t *discover.Topology, n *discover.Netdev, a netip.Addr) uint64 {
	if n == nil {
		return unknownSpeed
	}
	best := n.Speed
	for _, ref := range t.PortsOf(a) {
		if !ref.Device.Software {
			best = max(best, ref.Port.Rate)
		}
	}
	if best == 0 {
		return unknownSpeed
	}
	return best
}

// listensOn reports whether listen includes an address of this machine.
func listensOn(listen []netip.Addr, a netip.Addr) bool {
	return slices.ContainsFunc(listen, func(l netip.Addr) bool { return l == a || l.IsUnspecified() && l.Is4() == a.Is4() })
}
