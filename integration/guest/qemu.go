package guest

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
)

// qemu returns the command that boots a guest under emulation.
func (h *Host) qemu(g *Guest, kernel string, cfg *Config) (*exec.Cmd, error) {
	cfg.dev, cfg.addr = "eth0", qemuInside+"/24"
	var err error
	if g.control, err = newControl(g.work, QEMU, cfg); err != nil {
		return nil, fmt.Errorf("guest: %w", err)
	}
	initrd := g.control.path("initrd")
	if err := os.WriteFile(initrd, g.control.initrd(), 0o644); err != nil {
		return nil, fmt.Errorf("guest: %w", err)
	}
	share := func(tag, path string, more string) string {
		return "local,mount_tag=" + tag + ",path=" + path + ",security_model=none,multidevs=remap" + more
	}
	args := []string{
		"-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max",
		"-smp", strconv.Itoa(cfg.CPUs), "-m", strconv.Itoa(cfg.MemMiB),
		"-nodefaults", "-no-reboot", "-display", "none", "-serial", "stdio",
		"-kernel", kernel, "-initrd", initrd,
		"-append", "console=ttyS0 panic=-1 quiet loglevel=2 nokaslr random.trust_cpu=on tsc=reliable",
		"-netdev", "user,id=net", "-device", "virtio-net-pci,netdev=net,romfile=", "-device", "virtio-rng-pci",
		"-virtfs", share("root", "/", ",readonly=on"),
		"-virtfs", share("control", string(g.control), ""),
	}
	if cfg.Out != "" {
		args = append(args, "-virtfs", share("out", cfg.Out, ""))
	}
	if cfg.Pcap != "" {
		args = append(args, "-object", "filter-dump,id=pcap,netdev=net,maxlen=262144,file="+cfg.Pcap)
	}
	return exec.Command("qemu-system-x86_64", args...), nil
}
