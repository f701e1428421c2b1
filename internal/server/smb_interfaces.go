package server

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fileserver/config"
	"fileserver/smb"
)

// unknownSpeed is the speed, bit/s, of links that do not say theirs: virtual ones mostly.
const unknownSpeed = 10e9

// interfaces are the addresses that SMB clients can connect to: those of this
// machine that are listened on, or what the configuration says.
func interfaces(cfg *config.Config, served *rdmaAddrs) (list []smb.Interface) {
	ifs, err := net.Interfaces()
	if err != nil {
		return nil
	}
	indexes := map[netip.Addr]net.Interface{}
	var all []netip.Addr
	for _, i := range ifs {
		addrs, err := i.Addrs()
		if err != nil || i.Flags&net.FlagUp == 0 {
			continue
		}
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				indexes[p.Addr().Unmap()] = i
				all = append(all, p.Addr().Unmap())
			}
		}
	}
	for _, c := range cfg.SMB.Interfaces {
		i := smb.Interface{Index: uint32(indexes[c.Addr].Index), Addr: c.Addr, Speed: c.Speed, RDMA: c.RDMA, RSS: c.RSS}
		if i.Speed == 0 {
			i.Speed = linkSpeed("/sys", indexes[c.Addr].Name)
		}
		list = append(list, i)
	}
	if len(list) > 0 {
		return list
	}
	for _, a := range all {
		if !listensOn(cfg.Listen, a) || a.IsLinkLocalUnicast() {
			continue
		}
		i := indexes[a]
		list = append(list, smb.Interface{
			Index: uint32(i.Index), Addr: a, Speed: linkSpeed("/sys", i.Name), RSS: queues("/sys", i.Name) > 1, RDMA: served.has(a),
		})
	}
	// Others cannot reach what is only here.
	if slices.ContainsFunc(list, func(i smb.Interface) bool { return !i.Addr.IsLoopback() }) {
		list = slices.DeleteFunc(list, func(i smb.Interface) bool { return i.Addr.IsLoopback() })
	}
	return list
}

// listensOn tells whether an address of this machine is listened on.
func listensOn(listen []netip.Addr, a netip.Addr) bool {
	return slices.ContainsFunc(listen, func(l netip.Addr) bool { return l == a || l.IsUnspecified() && l.Is4() == a.Is4() })
}

// linkSpeed is the speed of a network interface, bit/s.
func linkSpeed(sys, name string) uint64 {
	b, err := os.ReadFile(filepath.Join(sys, "class/net", name, "speed"))
	if err != nil || name == "" {
		return unknownSpeed
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil || n <= 0 {
		return unknownSpeed
	}
	return uint64(n) * 1e6
}

// queues is how many receive queues a network interface has.
func queues(sys, name string) int {
	list, err := filepath.Glob(filepath.Join(sys, "class/net", name, "queues/rx-*"))
	if err != nil {
		return 0
	}
	return len(list)
}
