package doctor

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// tcpListen is the state of a socket that listens (enum in tcp_states.h), as /proc/net/tcp writes it.
const tcpListen = "0A"

// listeners are the sockets of TCP that listen, and the processes that have them.
func listeners(root string) (list []Listener) {
	inodes := map[string][]int{} // by socket, where in the list
	for _, file := range []string{"tcp", "tcp6"} {
		b, err := os.ReadFile(filepath.Join(root, "proc/net", file))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			w := strings.Fields(line)
			if len(w) < 10 || w[3] != tcpListen {
				continue
			}
			if a, ok := procAddr(w[1]); ok {
				inodes[w[9]] = append(inodes[w[9]], len(list))
				list = append(list, Listener{Addr: a})
			}
		}
	}
	ours, _ := os.Readlink("/proc/self/exe")
	entries, _ := os.ReadDir(filepath.Join(root, "proc"))
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		dir := filepath.Join(root, "proc", e.Name())
		fds, _ := os.ReadDir(dir + "/fd")
		for _, fd := range fds {
			to, err := os.Readlink(dir + "/fd/" + fd.Name())
			if err != nil {
				continue
			}
			inode, ok := strings.CutPrefix(to, "socket:[")
			for _, i := range inodes[strings.TrimSuffix(inode, "]")] {
				if ok {
					list[i].add(dir, pid, ours)
				}
			}
		}
	}
	return list
}

// add makes a process a holder, once.
func (l *Listener) add(dir string, pid int, ours string) {
	for _, h := range l.Holders {
		if h.PID == pid {
			return
		}
	}
	l.Holders = append(l.Holders, process(dir, pid, ours))
}

// process looks at a program.
func process(dir string, pid int, ours string) Process {
	comm, _ := os.ReadFile(dir + "/comm")
	exe, _ := os.Readlink(dir + "/exe")
	name := strings.TrimSpace(string(comm))
	return Process{PID: pid, Name: name, Ours: exe != "" && exe == ours || name == "fileserver"}
}

// procAddr reads an address as /proc/net/tcp has it: words of 32 bits in the machine's byte order, and the port.
func procAddr(s string) (netip.AddrPort, bool) {
	host, port, _ := strings.Cut(s, ":")
	p, err := strconv.ParseUint(port, 16, 16)
	b, err2 := hex.DecodeString(host)
	if err != nil || err2 != nil || len(b) != 4 && len(b) != 16 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(b); i += 4 {
		binary.NativeEndian.PutUint32(b[i:], binary.BigEndian.Uint32(b[i:]))
	}
	a, _ := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(a.Unmap(), uint16(p)), true
}
