package doctor

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"fileserver/rdma"
	"fileserver/rdma/discover"
)

// local returns the problems of an interface, as codes of findings. The keys are "" for every kind of RDMA, "verbs" for devices, and
// the name of a port ("mlx5_0/1").
func (e *examiner) local(n *discover.Netdev, ports []discover.PortRef) map[string][]string {
	out := map[string][]string{}
	bad := func(where string, f Finding) {
		f.Interface = n.Name
		e.add(f)
		out[where] = append(out[where], f.Code)
	}
	usable := slices.DeleteFunc(slices.Clone(n.Addrs), func(p netip.Prefix) bool { return p.Addr().IsLinkLocalUnicast() })
	served := e.served(n)
	switch {
	case !n.Running():
		f := Finding{Severity: Info, Code: "link-down", What: fmt.Sprintf("%s is down (%s)", n.Name, n.OperState)}
		if len(served) > 0 || len(ports) > 0 {
			f.Severity = Warning
		}
		if !n.Up {
			f.Do = []Step{{OnServer, "ip link set " + n.Name + " up", ""}}
		} else {
			f.Why, f.Do = "it is set up, but has no link", []Step{{OnServer, "ethtool " + n.Name, "what the link says; look at cable and switch"}}
		}
		if f.Severity == Info && !n.Up {
			out[""] = append(out[""], f.Code) // nobody uses it, and nobody asks
			break
		}
		bad("", f)
	case len(usable) == 0:
		f := Finding{Severity: Info, Code: "no-address", What: n.Name + " has no address"}
		if len(n.Upper) > 0 {
			f.Why = "it is part of " + strings.Join(n.Upper, ", ")
		} else {
			f.Do = []Step{{OnServer, "ip addr add ADDRESS/24 dev " + n.Name, "if clients are to use it"}}
		}
		bad("", f)
	case len(served) == 0:
		f := Finding{Severity: Info, Code: "not-listened", What: n.Name + " is not listened on", Why: fmt.Sprintf("listen is %v", e.Config.Listen)}
		if n.Kind != discover.KindLoopback {
			a := usable[0].Addr()
			f.Do = []Step{{OnServer, fmt.Sprintf("fileserver serve … --listen %s --allow %s", a, usable[0].Masked()), "if clients are to use it"}}
		}
		bad("", f)
	}
	for _, p := range ports {
		e.port(n, p, served, bad)
	}
	if len(ports) == 0 {
		e.noPort(n, served, bad)
	}
	return out
}

// port judges a port of an interface.
func (e *examiner) port(n *discover.Netdev, p discover.PortRef, served []netip.Addr, bad func(string, Finding)) {
	name := p.String()
	if n.Kind == discover.KindLoopback {
		bad(name, Finding{Severity: Info, Code: "device-not-used", What: fmt.Sprintf("the RDMA device %s is not used: it is on the loopback interface", p.Device.Name)})
		return
	}
	if ok, why := e.used(p.Device); !ok {
		f := Finding{Severity: Info, Code: "device-not-used", What: fmt.Sprintf("the RDMA device %s is not used: %s", p.Device.Name, why)}
		if p.Device.Driver != "siw" {
			f.Severity, f.Do = Warning, []Step{{OnServer, "rdma: {devices: auto}", "in the configuration; then restart"}}
		}
		bad(name, f)
		return
	}
	switch {
	case p.Port.Transport == rdma.TransportUnknown:
		bad(name, Finding{Severity: Info, Code: "device-unfit", What: fmt.Sprintf("%s (%s) has no reliable connections of the kind that NFS and SMB need", name, p.Device.NodeType)})
		return
	case p.Port.State == discover.PortInit && p.Port.Transport == rdma.TransportInfiniBand:
		bad(name, Finding{Severity: Warning, Code: "no-subnet-manager", What: name + " is in the state init: no subnet manager has set it up",
			Do: []Step{{OnServer, "systemctl start opensm", "on one machine of the fabric, or in the switch"}}})
		return
	case !p.Port.Active():
		if n.Running() { // otherwise the interface says why
			bad(name, Finding{Severity: Warning, Code: "port-down", What: fmt.Sprintf("the port %s is %v (%s)", name, p.Port.State, p.Port.PhysState),
				Do: []Step{{OnServer, "rdma link show " + name, "look at cable and switch"}}})
		}
		return
	}
	if p.Port.Transport == rdma.TransportRoCE && n.Running() && len(served) > 0 {
		e.roce(n, p, served, bad)
	}
	if p.Port.Transport == rdma.TransportInfiniBand && n.MTU > 0 && len(served) > 0 {
		e.add(Finding{Severity: Info, Code: "ipoib", Interface: n.Name, What: n.Name + " is IP over InfiniBand: it gives the addresses, RDMA goes past it by " + name,
			Why: "clients must be on the same fabric, or on a machine with a route to it; the MTU of the interface does not matter to RDMA"})
	}
}

// roce judges what RoCE needs: GIDs of version 2 for the addresses, and a large MTU.
func (e *examiner) roce(n *discover.Netdev, p discover.PortRef, served []netip.Addr, bad func(string, Finding)) {
	var none, v1 []string
	for _, a := range served {
		switch gidOf(p.Port, a, n.Name) {
		case 0:
			none = append(none, a.String())
		case 1:
			v1 = append(v1, a.String())
		}
	}
	if len(v1) > 0 {
		f := Finding{Severity: Warning, Code: "gid-v1", What: fmt.Sprintf("%s has GIDs of RoCE version 1 only for %s", p, strings.Join(v1, ", ")),
			Why: "clients use version 2, which is UDP; version 1 does not pass routers, and the two do not talk",
			Do: []Step{{OnServer, fmt.Sprintf("cma_roce_mode -d %s -p %d -m 2", p.Device.Name, p.Port.Num), "makes connections use version 2, if the adapter can"},
				{OnServer, "mlxconfig -d " + or(p.Device.BusAddr, p.Device.Name) + " query | grep ROCE", "NVIDIA adapters: what the firmware allows"}}}
		if len(v1)+len(none) == len(served) {
			bad(p.String(), f)
		} else {
			f.Interface = n.Name
			e.add(f)
		}
	}
	if len(none) > 0 {
		f := Finding{Severity: Warning, Code: "gid-missing", What: fmt.Sprintf("%s has no GID for %s", p, strings.Join(none, ", ")), Why: "RoCE reaches only addresses that are in the port's GID table",
			Do: []Step{{OnServer, fmt.Sprintf("ip link set %[1]s down; ip link set %[1]s up", n.Name), "the kernel fills the table anew"}}}
		if p.Device.Driver == "rxe" && n.Kind != discover.KindPhysical && n.Name != p.Port.Netdevs[0] {
			f.Do = []Step{{OnServer, fmt.Sprintf("rdma link add rxe_%[1]s type rxe netdev %[1]s", n.Name), "a device of its own"}}
		}
		if len(none) == len(served) {
			bad(p.String(), f)
		} else {
			f.Interface = n.Name
			e.add(f)
		}
	}
	switch {
	case p.Port.ActiveMTU == 0:
		bad(p.String(), Finding{Severity: Error, Code: "mtu", What: fmt.Sprintf("the MTU of %s, %d bytes, is too small for RoCE", n.Name, n.MTU),
			Do: []Step{{OnServer, "ip link set " + n.Name + " mtu 1500", ""}}})
	case p.Port.ActiveMTU < 4096:
		e.add(Finding{Severity: Info, Code: "mtu", Interface: n.Name, What: fmt.Sprintf("RoCE on %s has packets of %d bytes: its MTU is %d", n.Name, p.Port.ActiveMTU, n.MTU),
			Why: "with 4200 or more it could have 4096, which is faster; clients and switches need the same",
			Do:  []Step{{OnServer, "ip link set " + n.Name + " mtu 9000", "on the clients and switches as well"}}})
	}
}

// gidOf is the version of the GID of an address: 0 there is none, 1 or 2.
func gidOf(p *discover.Port, a netip.Addr, netdev string) (version int) {
	for _, g := range p.GIDs {
		if g.Netdev != netdev || g.Addr.Unmap() != a.Unmap().WithZone("") {
			continue
		}
		if g.Type == discover.GIDRoCEv2 {
			return 2
		}
		version = 1
	}
	return version
}

// noPort says why an interface has no RDMA device, where it could.
func (e *examiner) noPort(n *discover.Netdev, served []netip.Addr, bad func(string, Finding)) {
	if module, ok := rdmaModules[n.Driver]; ok {
		if !e.Modules.Loaded[module] {
			bad("verbs", Finding{Severity: Warning, Code: "module-missing", What: fmt.Sprintf("the adapter of %s (%s) can do RDMA, but its module %s is not loaded", n.Name, n.Driver, module),
				Do: []Step{e.modprobe(module)}})
		} else {
			bad("verbs", Finding{Severity: Info, Code: "no-device", What: fmt.Sprintf("the adapter of %s (%s) has no RDMA device, although %s is loaded", n.Name, n.Driver, module),
				Why: "not every model has RDMA, and some have it switched off: by devlink, in the firmware, or because the function is in another network namespace",
				Do:  []Step{{OnServer, "devlink dev param show; rdma system show; dmesg | grep " + module, ""}}})
		}
		return
	}
	if len(served) == 0 {
		return
	}
	// What it is stacked on may have a device that does not know of it.
	for _, below := range e.Topology.Below(n.Name) {
		for _, p := range e.Topology.Ports(below) {
			if ok, _ := e.used(p.Device); !ok {
				continue
			}
			bad("verbs", e.stacked(n, p, below))
			return
		}
	}
}

// stacked says that a device below a bridge, VLAN, bond or the like does not serve the addresses above.
func (e *examiner) stacked(n *discover.Netdev, p discover.PortRef, below string) Finding {
	f := Finding{Severity: Warning, Code: "stacked", What: fmt.Sprintf("%s is a %s on %s, whose RDMA device %s does not serve the addresses of %s", n.Name, n.Kind, below, p, n.Name)}
	switch {
	case p.Device.Driver == "rxe":
		f.Why = "rxe takes packets from its own interface and from VLANs on it only"
		f.Do = []Step{{OnServer, fmt.Sprintf("rdma link add rxe_%[1]s type rxe netdev %[1]s", n.Name), "a device of its own"}}
	case p.Port.Transport == rdma.TransportIWARP:
		f.Why = "an iWARP device serves the addresses of its own interface"
		f.Do = []Step{{OnServer, "ip addr add ADDRESS/24 dev " + below, "an address for RDMA"}}
	case n.Kind == discover.KindBond || n.Kind == discover.KindTeam:
		f.Why = "RoCE over a bond needs the ports of one adapter, and the mode active-backup, balance-xor or 802.3ad; teams cannot do it"
		f.Do = []Step{{OnServer, "cat /sys/class/net/" + n.Name + "/bonding/mode", ""}, {OnServer, "ip addr add ADDRESS/24 dev " + below, "or an address of its own, without the bond"}}
	default:
		f.Why = "the addresses are not in the port's GID table; RoCE does not pass through bridges and virtual interfaces in the kernel"
		f.Do = []Step{{OnServer, "ip addr add ADDRESS/24 dev " + below, "an address for RDMA, or a VLAN on it"}}
	}
	return f
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
