package doctor

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"fileserver/config"
	"fileserver/rdma/discover"
)

// client is what to type on clients to mount through an interface.
func (e *examiner) client(n *discover.Netdev, i *Interface) (list []Step) {
	if !i.NFS.RDMA && !i.SMB.RDMA {
		return nil
	}
	served := e.served(n)
	if len(served) == 0 {
		return nil
	}
	addr, share := served[0], "SHARE"
	if len(e.Config.Shares) > 0 {
		share = e.Config.Shares[0].Name
	}
	list = append(list, devices(append(slices.Clone(i.NFS.Ways), i.SMB.Ways...))...)
	if i.NFS.RDMA {
		list = append(list, e.mountNFS(addr, share)...)
	}
	if i.SMB.RDMA {
		list = append(list, mountSMB(addr, share)...)
		list = append(list, windows(i.SMB.Ways)...)
	}
	return list
}

// devices is how a Linux client gets an RDMA device that fits.
func devices(ways []Way) (list []Step) {
	has := func(transport string) bool {
		return slices.ContainsFunc(ways, func(w Way) bool { return w.Transport == transport })
	}
	if has("iwarp") {
		list = append(list, Step{OnClient, "rdma link add siw0 type siw netdev INTERFACE", "for iWARP, unless it has an iWARP adapter; INTERFACE is the one that leads here. Needs a kernel with CONFIG_RDMA_SIW"})
	}
	if has("roce") {
		list = append(list, Step{OnClient, "rdma link add rxe0 type rxe netdev INTERFACE", "for RoCE, unless it has a RoCE adapter"})
	}
	if has("infiniband") {
		list = append(list, Step{OnClient, "rdma link", "for InfiniBand: an adapter on this fabric, with IP over InfiniBand"})
	}
	return list
}

func (e *examiner) mountNFS(addr netip.Addr, share string) []Step {
	cfg := &e.Config.NFS
	host := hostOf(addr)
	list := []Step{{OnClient, "modprobe rpcrdma", "NFS over RDMA"}}
	version := config.Version3
	for _, v := range []config.Version{config.Version41, config.Version42} {
		if cfg.Serves(v) {
			version = v
		}
	}
	if version != config.Version3 {
		list = append(list, Step{OnClient, fmt.Sprintf("mount -t nfs -o rdma,port=%s,vers=%s %s:/%s /mnt", portOf(cfg.RDMAPort), version, host, share), "NFS; proto=rdma in /proc/mounts shows that it worked"})
	}
	if cfg.Serves(config.Version3) {
		list = append(list, Step{OnClient, fmt.Sprintf("mount -t nfs -o rdma,port=%s,vers=3,mountport=%s,mountproto=tcp,nolock %s:/%s /mnt", portOf(cfg.RDMAPort), portOf(cfg.Port), host, share), "NFSv3; MOUNT goes over TCP"})
	}
	return list
}

func mountSMB(addr netip.Addr, share string) []Step {
	return []Step{
		{OnClient, "modprobe cifs", "SMB Direct needs a kernel with CONFIG_CIFS_SMB_DIRECT"},
		{OnClient, fmt.Sprintf("mount -t cifs -o rdma,vers=3.1.1,username=NAME //%s/%s /mnt", addr, share), "SMB; grep SMBDirect /proc/fs/cifs/DebugData shows that it worked"},
	}
}

// windows is how to look at a Windows client, which decides for itself.
func windows(ways []Way) []Step {
	var kinds []string
	for _, w := range ways {
		kind := map[string]string{"iwarp": "iWARP", "roce": "RoCE", "infiniband": "InfiniBand"}[w.Transport]
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	note := "Windows uses RDMA by itself if both lists say so, after a first connection over TCP 445. It needs an adapter for " + strings.Join(kinds, " or ") +
		", and an edition with SMB Direct (Server, Enterprise, Pro for Workstations)"
	return []Step{
		{OnWindows, "Get-SmbClientNetworkInterface", note},
		{OnWindows, "Get-SmbMultichannelConnection -IncludeNotSelected", "what it chose, and what it saw of this server"},
		{OnWindows, "Get-SmbClientConfiguration | fl EnableMultiChannel,RequireSecuritySignature", "multichannel must be on; Windows 11 24H2 requires signatures"},
	}
}

// hostOf is an address as mount.nfs wants it.
func hostOf(a netip.Addr) string {
	if a.Is6() {
		return "[" + a.String() + "]"
	}
	return a.String()
}

// portOf is a port as a command has it.
func portOf(p uint16) string {
	if p == 0 {
		return "PORT"
	}
	return strconv.Itoa(int(p))
}
