package discover

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// readNetdevs reads the network interfaces. A program may be in one network namespace and have the sysfs of another (who was
// moved by nsenter or unshare has), so that netlink decides what there is, and sysfs adds to what it knows, too.
func readNetdevs(sysfs string, links map[string]Netdev) (list []Netdev) {
	class := filepath.Join(sysfs, "class/net")
	entries, _ := os.ReadDir(class)
	complete := false
	for name, l := range links {
		if l.Index == 0 {
			continue
		}
		complete = true
		if n, ok := readNetdev(filepath.Join(class, name), l); ok && n.Index == l.Index && bytes.Equal(n.HardwareAddr, l.HardwareAddr) {
			l = n
		}
		list = append(list, l)
	}
	for _, e := range entries {
		if complete {
			break
		}
		if n, ok := readNetdev(filepath.Join(class, e.Name()), links[e.Name()]); ok {
			list = append(list, n)
		}
	}
	slices.SortFunc(list, func(a, b Netdev) int { return a.Index - b.Index })
	return list
}

// readNetdev reads one; false: it is none (bonding_masters), or gone.
func readNetdev(dir string, link Netdev) (Netdev, bool) {
	n := Netdev{Name: filepath.Base(dir), Addrs: link.Addrs}
	index, ok := readInt(dir + "/ifindex")
	if !ok {
		return n, false
	}
	n.Index = int(index)
	mac, _ := readFile(dir + "/address")
	n.HardwareAddr = parseMAC(mac)
	mtu, _ := readInt(dir + "/mtu")
	n.MTU = int(mtu)
	if mbit, ok := readInt(dir + "/speed"); ok && mbit > 0 && mbit < 1<<31-1 {
		n.Speed = uint64(mbit) * 1e6
	}
	n.OperState, _ = readFile(dir + "/operstate")
	flags, _ := readInt(dir + "/flags")
	n.Up = flags&unix.IFF_UP != 0
	carrier, ok := readInt(dir + "/carrier") // invalid while it is not set up
	n.Carrier = ok && carrier == 1
	n.Driver = linkBase(dir + "/device/driver")
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if l, ok := strings.CutPrefix(e.Name(), "lower_"); ok {
			n.Lower = append(n.Lower, l)
		}
		if u, ok := strings.CutPrefix(e.Name(), "upper_"); ok {
			n.Upper = append(n.Upper, u)
		}
	}
	queues, _ := os.ReadDir(dir + "/queues")
	for _, q := range queues {
		if strings.HasPrefix(q.Name(), "rx-") {
			n.RXQueues++
		}
	}
	n.Kind = netdevKind(dir, link.Kind)
	return n, true
}

// netdevKind is what the interface is made of: by rtnetlink if it says so.
func netdevKind(dir string, kind NetdevKind) NetdevKind {
	arphrd, _ := readInt(dir + "/type")
	uevent, _ := readFile(dir + "/uevent")
	devtype := ""
	for line := range strings.Lines(uevent) {
		if t, ok := strings.CutPrefix(strings.TrimSpace(line), "DEVTYPE="); ok {
			devtype = t
		}
	}
	_, err := os.Stat(dir + "/device")
	switch {
	case arphrd == unix.ARPHRD_LOOPBACK:
		return KindLoopback
	case arphrd == unix.ARPHRD_INFINIBAND:
		return KindIPoIB
	case kind != "" && kind != KindVirtual:
		return kind
	case err == nil:
		return KindPhysical // wlan devices have a DEVTYPE, too
	case devtype != "":
		return NetdevKind(devtype)
	}
	if _, err := os.Stat(dir + "/bonding"); err == nil {
		return KindBond
	}
	if _, err := os.Stat(dir + "/tun_flags"); err == nil {
		return KindTun
	}
	return KindVirtual
}

// readFile reads a file of sysfs, which has at most a page, without the space around; false: it is not there, or has no value now.
func readFile(name string) (string, bool) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	for err == unix.EINTR {
		fd, err = unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return "", false
	}
	defer unix.Close(fd)
	var b [4096]byte
	n, err := unix.Read(fd, b[:])
	for err == unix.EINTR {
		n, err = unix.Read(fd, b[:])
	}
	if err != nil {
		return "", false
	}
	return strings.TrimSpace(string(b[:n])), true
}

// readInt reads a number, in whatever base it says.
func readInt(name string) (int64, bool) {
	s, ok := readFile(name)
	if !ok {
		return 0, false
	}
	v, err := strconv.ParseInt(s, 0, 64)
	return v, err == nil
}

// linkBase is the last element of what a symbolic link points to; empty if there is none.
func linkBase(name string) string {
	to, err := os.Readlink(name)
	if err != nil {
		return ""
	}
	return filepath.Base(to)
}
