package doctor

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"fileserver/config"
	"fileserver/internal/users"
	"fileserver/rdma/discover"
)

// Source says what to gather facts of. The zero value is this machine, without a configuration.
type Source struct {
	Config *config.Config // nil: it cannot be read
	Err    error          // of reading it
	Root   string         // of the tree that has /proc, /sys, /dev, /lib and /run; empty: /
	// Links is as in [discover.Config].
	Links func() (map[string]discover.Netdev, error)
	// CM is [discover.CMListeners], unless it is replaced.
	CM func() ([]discover.CMListener, error)
	// VerbsBuilt is nil if there is a provider for RDMA devices, VerbsUsable whether it can be made.
	VerbsBuilt  error
	VerbsUsable func() error
}

// Gather collects the facts. What cannot be found out is left out.
func Gather(s Source) *Facts {
	if s.Root == "" {
		s.Root = "/"
	}
	f := &Facts{Config: s.Config, VerbsBuilt: s.VerbsBuilt, UID: os.Geteuid(), DeviceFiles: map[string]error{}}
	var bad *config.Error
	switch {
	case errors.As(s.Err, &bad):
		f.Problems = bad.Problems
	case s.Err != nil:
		f.Problems = []config.Problem{{Text: s.Err.Error()}}
	}
	f.Topology, f.TopologyErr = discover.Scan(discover.Config{
		Sysfs: filepath.Join(s.Root, "sys"), Dev: filepath.Join(s.Root, "dev"), Links: s.Links,
	})
	if s.VerbsBuilt == nil && s.VerbsUsable != nil && len(f.Topology.Devices) > 0 {
		f.VerbsUsable = s.VerbsUsable()
	}
	for _, d := range f.Topology.Devices {
		for _, name := range d.CharDevices {
			// The server has no use for umad and issm, which are for managers of subnets.
			if base := filepath.Base(name); base == "rdma_cm" || strings.HasPrefix(base, "uverbs") {
				f.DeviceFiles[name] = unix.Access(name, unix.R_OK|unix.W_OK)
			}
		}
	}
	if s.CM == nil {
		s.CM = discover.CMListeners
	}
	if list, err := s.CM(); err == nil {
		f.CM, f.CMKnown, f.Servers = list, true, processes(s.Root, list)
	}
	f.Modules = modules(s.Root)
	f.Listeners = listeners(s.Root)
	if b, err := os.ReadFile(filepath.Join(s.Root, "proc/fs/nfsd/portlist")); err == nil {
		f.NFSD = strings.Split(strings.TrimSpace(string(b)), "\n")
	}
	f.LowPort = 1024
	if b, err := os.ReadFile(filepath.Join(s.Root, "proc/sys/net/ipv4/ip_unprivileged_port_start")); err == nil {
		if n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 16); err == nil {
			f.LowPort = uint16(n)
		}
	}
	pid := 0
	if s.Config != nil {
		pid = f.server()
	}
	f.BindLow = capable(s.Root, pid, unix.CAP_NET_BIND_SERVICE)
	if s.Config != nil {
		list, err := users.Open(s.Config.StateDir).List()
		f.Users, f.UsersErr = len(list), err
		f.Memlock = memlock(s.Root, pid)
	}
	f.Firewalls = firewalls(s.Root)
	return f
}

// processes are the programs that listen by rdma_cm.
func processes(root string, list []discover.CMListener) (out []Process) {
	ours, _ := os.Readlink("/proc/self/exe")
	for _, l := range list {
		if l.PID != 0 && !slices.ContainsFunc(out, func(p Process) bool { return p.PID == l.PID }) {
			out = append(out, process(filepath.Join(root, "proc", strconv.Itoa(l.PID)), l.PID, ours))
		}
	}
	return out
}

// status is a field of a process's status; pid 0: our own.
func status(root string, pid int, field string) string {
	b, _ := os.ReadFile(filepath.Join(root, "proc", self(pid), "status"))
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

func self(pid int) string {
	if pid == 0 {
		return "self"
	}
	return strconv.Itoa(pid)
}

// capable reports whether a process has a capability.
func capable(root string, pid int, cap uint) bool {
	eff, err := strconv.ParseUint(status(root, pid, "CapEff"), 16, 64)
	return err == nil && eff&(1<<cap) != 0
}

// memlock is the limit of the server that runs, or else what one started from here would get.
func memlock(root string, pid int) Memlock {
	m := Memlock{PID: pid, Unlimited: capable(root, pid, unix.CAP_IPC_LOCK)}
	b, err := os.ReadFile(filepath.Join(root, "proc", self(pid), "limits"))
	if err != nil {
		return Memlock{PID: pid, Unlimited: true} // unknown
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "Max locked memory"); ok {
			// The soft limit; Go programs do not raise it.
			word := strings.Fields(v)[0]
			n, err := strconv.ParseUint(word, 10, 64)
			m.Limit, m.Unlimited = n, m.Unlimited || err != nil
		}
	}
	return m
}

// modules are the kernel's.
func modules(root string) Modules {
	m := Modules{Loaded: map[string]bool{}}
	entries, _ := os.ReadDir(filepath.Join(root, "sys/module"))
	for _, e := range entries {
		m.Loaded[e.Name()] = true
	}
	release, err := os.ReadFile(filepath.Join(root, "proc/sys/kernel/osrelease"))
	if err != nil {
		return m
	}
	dir := filepath.Join(root, "lib/modules", strings.TrimSpace(string(release)))
	for _, file := range []string{"modules.dep", "modules.builtin"} {
		b, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			continue
		}
		if m.Available == nil {
			m.Available = map[string]bool{}
		}
		for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
			path, _, _ := strings.Cut(s.Text(), ":")
			m.Available[moduleName(path)] = true
		}
	}
	return m
}

// firewalls are those that show that they run. A set of rules that somebody loaded by hand does not show itself to everybody.
func firewalls(root string) (list []string) {
	if _, err := os.Stat(filepath.Join(root, "run/firewalld")); err == nil {
		list = append(list, "firewalld")
	}
	if b, err := os.ReadFile(filepath.Join(root, "etc/ufw/ufw.conf")); err == nil && strings.Contains(string(b), "\nENABLED=yes") {
		list = append(list, "ufw")
	}
	return list
}
