package guest

import (
	"fmt"
	"os/exec"
	"strconv"
)

// uml connects a guest to the bridge and returns the command that boots it. Documentation/virt/uml explains the kernel's arguments.
func (h *Host) uml(g *Guest, kernel string, cfg *Config) (*exec.Cmd, error) {
	h.mu.Lock()
	h.guests++
	n := strconv.Itoa(h.guests + 1)
	h.mu.Unlock()
	inside, outside := "in"+n, "out"+n
	// Frames of 9000 bytes, because siw sends one FPDU per segment and each one costs User Mode Linux much time.
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
		"quiet", "loglevel=2", // the log comes from /dev/kmsg; only the script and a panic may use the console
		"con0=fd:0,fd:1",
		"vec0:transport=raw,ifname="+inside+",depth=128,gro=1,mtu=9000",
		"init="+g.control.path("busybox"),
		"--", "sh", g.control.path("init-uml"), string(g.control)), nil
}
