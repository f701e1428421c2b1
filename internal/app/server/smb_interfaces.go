package server

import (
	"net/netip"
	"slices"

	"fileserver/config"
	"fileserver/rdma/discover"
	"fileserver/smb"
)

// unknownSpeed is the speed, bit/s, of links that do not say theirs: virtual ones mostly.
const unknownSpeed = 10e9

// interfaces are the addresses that SMB clients can connect to: those of this
// machine that are listened on, or what the configuration says.
func (s *Server) interfaces() []smb.Interface {
	return interfaces(s.rdma.cfg, s.rdma.topology(), func(a netip.Addr) bool { return s.rdma.listensAt("smb", a) })
}

// interfaces is the pure part: direct tells where SMB Direct is listened for.
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
	// Others cannot reach what is only here.
	if slices.ContainsFunc(list, func(i smb.Interface) bool { return !i.Addr.IsLoopback() }) {
		list = slices.DeleteFunc(list, func(i smb.Interface) bool { return i.Addr.IsLoopback() })
	}
	return list
}

// speed is the speed of the link below an address, bit/s: that of the network
// interface, or, as those of IPoIB say none, of the port of the RDMA device. What
// devices in software say of themselves is made up.
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

// listensOn reports whether an address of this machine is listened on.
func listensOn(listen []netip.Addr, a netip.Addr) bool {
	return slices.ContainsFunc(listen, func(l netip.Addr) bool { return l == a || l.IsUnspecified() && l.Is4() == a.Is4() })
}
