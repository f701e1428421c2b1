package doctor

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"fileserver/config"
	"fileserver/rdma/discover"
)

// Facts are what [Examine] judges by.
type Facts struct {
	// Config is the configuration; nil: it cannot be read. Problems are what is wrong with it.
	Config   *config.Config
	Problems []config.Problem

	Topology    *discover.Topology
	TopologyErr error

	// VerbsBuilt is nil if the program has the provider for RDMA devices; VerbsUsable if rdma-core, which that loads, is there.
	VerbsBuilt, VerbsUsable error
	// DeviceFiles are files that drive RDMA devices, with the errors of opening them.
	DeviceFiles map[string]error

	Modules   Modules
	Listeners []Listener // TCP
	// CM are the listeners of rdma_cm; those of processes in Servers are ours. CMKnown reports whether they could be listed.
	CM      []discover.CMListener
	CMKnown bool
	Servers []Process // programs among them
	// NFSD are the listeners of the kernel's NFS server as /proc/fs/nfsd/portlist has them: "rdma 20049".
	NFSD []string

	Memlock  Memlock
	UID      int
	LowPort  uint16 // the lowest port that an unprivileged process may listen on
	BindLow  bool   // privileged to listen on any
	Users    int
	UsersErr error
	// Firewalls are the names of active ones.
	Firewalls []string
}

// Memlock is the limit on locked memory, to which registered memory counts.
type Memlock struct {
	Limit     uint64 // bytes
	Unlimited bool   // or exempt by CAP_IPC_LOCK
	PID       int    // of the server it was read of; 0: of the doctor itself
}

// Process is a program that runs.
type Process struct {
	PID  int
	Name string
	Ours bool // a fileserver
}

// Listener is a socket of TCP that listens.
type Listener struct {
	Addr    netip.AddrPort
	Holders []Process // none: the kernel, or a process that one may not look into
}

// holds reports whether the listener stands in the way of another one.
func (l *Listener) holds(a netip.AddrPort) bool {
	mine, want := l.Addr.Addr(), a.Addr()
	return l.Addr.Port() == a.Port() && (mine == want ||
		mine.IsUnspecified() && (mine.Is6() || want.Is4()) || // :: mostly takes IPv4, too
		want.IsUnspecified() && want.Is4() == mine.Is4())
}

// ours reports whether a fileserver has it.
func (l *Listener) ours() bool {
	return slices.ContainsFunc(l.Holders, func(p Process) bool { return p.Ours })
}

// holder names the program that has it.
func (l *Listener) holder(f *Facts) string {
	switch {
	case len(l.Holders) > 0:
		return fmt.Sprintf("%s (process %d)", l.Holders[0].Name, l.Holders[0].PID)
	case f.UID != 0:
		return "another user's program, or the kernel; root can see which"
	}
	return "the kernel"
}

// server is the process id of a fileserver that listens on a port of the configuration; 0: none.
func (f *Facts) server() int {
	for _, l := range f.Listeners {
		for _, p := range l.Holders {
			if p.Ours && slices.ContainsFunc(f.ports(), func(w wanted) bool { return w.port == l.Addr.Port() }) {
				return p.PID
			}
		}
	}
	return 0
}

// cmHolder says who has a listener of rdma_cm, and whether that is a fileserver.
func (f *Facts) cmHolder(l *discover.CMListener) (name string, ours bool) {
	for _, p := range f.Servers {
		if p.PID == l.PID && l.PID != 0 {
			return fmt.Sprintf("%s (process %d)", p.Name, p.PID), p.Ours
		}
	}
	switch {
	case l.Kernel == "rpcrdma":
		return "the kernel's NFS server", false
	case l.Kernel == "ksmbd":
		return "the kernel's SMB server", false
	case l.Kernel != "":
		return "the kernel's module " + l.Kernel, false
	case l.PID != 0:
		return fmt.Sprintf("process %d", l.PID), false
	}
	return "a program of another namespace", false
}

// wanted is a port that the server should listen on, by TCP or by iWARP in software, which share the ports.
type wanted struct {
	key     string // of the configuration
	service string
	rdma    bool
	port    uint16
}

// ports are the ports of TCP the server is to listen on.
func (f *Facts) ports() (list []wanted) {
	cfg := f.Config
	if cfg == nil {
		return nil
	}
	if cfg.NFS.Enabled {
		list = append(list, wanted{"nfs.port", "nfs", false, cfg.NFS.Port})
		if cfg.IWARP.Enabled {
			list = append(list, wanted{"nfs.rdma_port", "nfs", true, cfg.NFS.RDMAPort})
		}
	}
	if f.smbServed() {
		for _, p := range cfg.SMB.Port {
			list = append(list, wanted{"smb.port", "smb", false, p})
		}
		if cfg.IWARP.Enabled {
			for _, p := range cfg.IWARPPorts() {
				list = append(list, wanted{"smb.rdma_port", "smb", true, p})
			}
		}
	}
	return slices.DeleteFunc(list, func(w wanted) bool { return w.port == 0 })
}

// smbServed reports whether a server that starts now serves SMB.
func (f *Facts) smbServed() bool {
	switch f.Config.SMB.Enabled {
	case config.SwitchOff:
		return false
	case config.SwitchOn:
		return true
	}
	return f.Users > 0
}

// listensOn reports whether an address of this machine is listened on.
func (f *Facts) listensOn(a netip.Addr) bool {
	return slices.ContainsFunc(f.Config.Listen, func(l netip.Addr) bool { return l == a || l.IsUnspecified() && l.Is4() == a.Is4() })
}

// used reports whether the configuration uses a device, and if not, why.
func (f *Facts) used(d *discover.Device) (bool, string) {
	list := f.Config.RDMA.Devices
	switch {
	case slices.Contains(list, d.Name):
		return true, ""
	case slices.Contains(list, config.DevicesOff):
		return false, "rdma.devices is off"
	case !slices.Contains(list, config.DevicesAuto):
		return false, "rdma.devices does not name it"
	case f.Config.IWARP.Enabled && d.Driver == "siw":
		return false, "iwarp.enabled: the server's own iWARP has the ports"
	}
	return true, ""
}

// Modules are those of the kernel.
type Modules struct {
	Loaded    map[string]bool // and those built in that show themselves
	Available map[string]bool // that modprobe would find, and those built in; nil: unknown
}

// missing reports whether a module is neither loaded nor there to be loaded, as far as one can know.
func (m *Modules) missing(name string) bool {
	return !m.Loaded[name] && m.Available != nil && !m.Available[name]
}

// moduleName is a module's name as the kernel writes it, of a path.
func moduleName(path string) string {
	name := path[strings.LastIndexByte(path, '/')+1:]
	name, _, _ = strings.Cut(name, ".ko")
	return strings.ReplaceAll(name, "-", "_")
}
