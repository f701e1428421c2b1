package guest

import (
	"fmt"
	"os/exec"
	"strconv"
)

// uml wires a guest to the bridge and returns the command that boots it. The kernel's arguments are in Documentation/virt/uml.
func (h *Host) uml(g *Guest, kernel string, cfg *Config) (*exec.Cmd, error) {
	h.mu.Lock()
	h.guests++
	n := strconv.Itoa(h.guests + 1)
	h.mu.Unlock()
	inside, outside := "in"+n, "out"+n
	// Frames of 9000 bytes: siw sends one FPDU per segment, and User Mode Linux pays for each.
	err := h.ip("link add "+outside+" type veth peer name "+inside,
		"link set "+outside+" mtu 9000 master host",
		"link set "+outside+" up",
		"link set "+inside+" mtu 9000 up")
	if err != nil {
		return nil, err
	}
	if cfg.Pcap != "" {
		if err := g.startCapture(h, outside, cfg.Pcap); err != nil {
			return nil, err
		}
	}
	cfg.dev, cfg.addr = "vec0", "198.18.1."+n+"/24"
	if g.control, err = newControl(g.work, UML, cfg); err != nil {
		return nil, fmt.Errorf("guest: %w", err)
	}
	return exec.Command(kernel,
		fmt.Sprintf("mem=%dM", cfg.MemMiB), fmt.Sprintf("ncpus=%d", cfg.CPUs), "seccomp=on",
		"uml_dir="+g.work, "umid=guest",
		"rootfstype=hostfs", "rootflags=/", "ro",
		"quiet", "loglevel=2", // the log is read from /dev/kmsg; the console is the script's, but for a panic
		"con0=fd:0,fd:1",
		"vec0:transport=raw,ifname="+inside+",depth=128,gro=1,mtu=9000",
		"init="+g.control.path("busybox"),
		"--", "sh", g.control.path("init-uml"), string(g.control)), nil
}
