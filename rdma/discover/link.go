package discover

import (
	"errors"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// stackedByIndex are the kinds of interfaces whose IFLA_LINK is what they are stacked on. That of a veth is its other end.
var stackedByIndex = []NetdevKind{KindVLAN, KindMACVLAN, "macvtap", "ipvlan", "ipvtap", KindIPoIB}

// operStates are those of RFC 2863 as sysfs names them.
var operStates = [...]string{"unknown", "notpresent", "down", "lowerlayerdown", "testing", "dormant", "up"}

// netlinkLinks asks the kernel. A list that changed while it was read is good enough.
func netlinkLinks() (map[string]Netdev, error) {
	links, err := netlink.LinkList()
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		return nil, err
	}
	addrs, err := netlink.AddrList(nil, netlink.FAMILY_ALL)
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		return nil, err
	}
	out := make(map[string]Netdev, len(links))
	names := make(map[int]string, len(links))
	for _, l := range links {
		names[l.Attrs().Index] = l.Attrs().Name
		out[l.Attrs().Name] = linkNetdev(l)
	}
	for _, l := range links {
		a := l.Attrs()
		kind := out[a.Name].Kind
		if slices.Contains(stackedByIndex, kind) && a.NetNsID < 0 {
			stack(out, a.Name, names[a.ParentIndex])
		}
		stack(out, names[a.MasterIndex], a.Name)
	}
	for _, a := range addrs {
		ip, ok := netip.AddrFromSlice(a.IP)
		n, known := out[names[a.LinkIndex]]
		if !ok || !known {
			continue
		}
		bits, _ := a.Mask.Size()
		n.Addrs = append(n.Addrs, netip.PrefixFrom(ip.Unmap(), bits))
		out[n.Name] = n
	}
	return out, nil
}

// linkNetdev is what netlink tells of an interface by itself.
func linkNetdev(l netlink.Link) Netdev {
	a := l.Attrs()
	n := Netdev{
		Name: a.Name, Index: a.Index, HardwareAddr: a.HardwareAddr, MTU: a.MTU, RXQueues: a.NumRxQueues,
		Up: a.RawFlags&unix.IFF_UP != 0, Carrier: a.RawFlags&unix.IFF_LOWER_UP != 0,
	}
	if int(a.OperState) < len(operStates) {
		n.OperState = operStates[a.OperState]
	}
	switch kind := l.Type(); {
	case a.EncapType == "loopback":
		n.Kind = KindLoopback
	case a.EncapType == "infiniband":
		n.Kind = KindIPoIB
	case kind != "device": // that is what it calls those without a kind
		n.Kind = NetdevKind(kind)
	case a.ParentDev != "":
		n.Kind = KindPhysical
	default:
		n.Kind = KindVirtual
	}
	return n
}

// stack notes that one interface is upon another.
func stack(m map[string]Netdev, upper, lower string) {
	u, ok := m[upper]
	l, ok2 := m[lower]
	if !ok || !ok2 {
		return
	}
	u.Lower, l.Upper = append(u.Lower, lower), append(l.Upper, upper)
	m[upper], m[lower] = u, l
}
