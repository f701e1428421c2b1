package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// RDMA configures RDMA devices: adapters, and the kernel's devices in software (rdma_rxe, siw). Both are used through
// rdma-core. The server's own provider in software is configured by [IWARP].
type RDMA struct {
	// Devices are the devices used: [DevicesAuto], [DevicesOff], or names.
	Devices []string `mapstructure:"devices"`
	// Domain says what shares a protection domain.
	Domain Domain `mapstructure:"domain"`
	// Spin is how long a goroutine polls a connection's completion queue before it sleeps.
	Spin time.Duration `mapstructure:"spin"`
}

// Values of [RDMA].Devices that are not names of devices. Each must be the only element.
const (
	DevicesAuto = "auto" // all devices; siw devices only if [IWARP] is off
	DevicesOff  = "off"  // none
)

// Domain says which connections share a protection domain and its registered buffers.
type Domain string

// The extents of protection domains.
const (
	DomainShared     Domain = "shared"     // all connections of a device
	DomainConnection Domain = "connection" // none: each connection registers the buffers again
)

// RDMAPort is a port of SMB Direct, or [PortAuto].
type RDMAPort int32

// PortAuto stands for the ports clients try on the device's transport.
const PortAuto RDMAPort = -1

// String formats the port as the configuration writes it.
func (p RDMAPort) String() string {
	if p == PortAuto {
		return "auto"
	}
	return strconv.Itoa(int(p))
}

func parseRDMAPort(s string) (any, error) {
	if s == "auto" {
		return PortAuto, nil
	}
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("is not a port; write a number from 1 to 65535, 0 for any that is free, or auto for those that clients try")
	}
	return RDMAPort(n), nil
}

// The ports that clients try for SMB Direct. iWARP shares the ports of TCP, so it has a different one (MS-SMBD 1.9).
const (
	portSMB       = 445
	portSMBDirect = 5445
)

// SMBDirectPorts returns the ports of SMB Direct on the devices of a transport. With [PortAuto] they are the ports that clients
// try: 445, and on iWARP 5445, with 445 unless SMB over TCP has it.
func (c *Config) SMBDirectPorts(iwarp bool) []uint16 {
	s := &c.SMB
	if !slices.Contains(s.RDMAPort, PortAuto) {
		out := make([]uint16, len(s.RDMAPort))
		for i, p := range s.RDMAPort {
			out[i] = uint16(p)
		}
		return out
	}
	switch {
	case !iwarp:
		return []uint16{portSMB}
	case slices.Contains(s.Port, portSMB):
		return []uint16{portSMBDirect}
	}
	return []uint16{portSMBDirect, portSMB}
}

// IWARPPorts returns the ports of SMB Direct over iWARP in software. It shares the ports of TCP, so those that a service over
// TCP has are left out. With [PortAuto] the only port is 5445.
func (c *Config) IWARPPorts() []uint16 {
	if slices.Contains(c.SMB.RDMAPort, PortAuto) {
		return []uint16{portSMBDirect}
	}
	return slices.DeleteFunc(c.SMBDirectPorts(true), func(p uint16) bool {
		return p != 0 && (slices.Contains(c.SMB.Port, p) || c.NFS.Enabled && p == c.NFS.Port)
	})
}

var deviceName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,62}$`) // IB_DEVICE_NAME_MAX is 64

func (c *Config) checkRDMA(bad *problems) {
	r := &c.RDMA
	if len(r.Devices) == 0 {
		bad.add("rdma.devices", "is empty; write auto for all devices, off for none, or names, e.g. [mlx5_0]")
	}
	for i, d := range r.Devices {
		key := fmt.Sprintf("rdma.devices[%d]", i)
		switch {
		case (d == DevicesAuto || d == DevicesOff) && len(r.Devices) > 1:
			bad.add(key, "%s stands alone; write %s, or names only", d, d)
		case d == "false" || d == "no" || d == "none":
			bad.add(key, "%q is no device; write off to use none", d)
		case d == "true" || d == "yes" || d == "on" || d == "all":
			bad.add(key, "%q is no device; write auto to use all", d)
		case !deviceName.MatchString(d):
			bad.add(key, "%q is no name of a device; write one that `rdma link` lists, e.g. mlx5_0, without the port", d)
		case slices.Contains(r.Devices[:i], d):
			bad.add(key, "%s is given twice; remove one", d)
		}
	}
	if r.Spin < 0 || r.Spin > 10*time.Millisecond {
		bad.add("rdma.spin", "%v is not between 0s and 10ms; write e.g. 20us, or 0s not to spin", r.Spin)
	}
}

// checkPorts reports ports that two services would use. TCP and iWARP in software share one port space. RDMA devices have
// another, but an iWARP adapter may also conflict with ports of TCP.
func (c *Config) checkPorts(bad *problems) {
	n, s := &c.NFS, &c.SMB
	tcp, devices := map[uint16]string{}, map[uint16]string{}
	claim := func(taken map[uint16]string, key, owner string, port uint16, fix string) {
		if other := taken[port]; port != 0 && other != "" {
			bad.add(key, "%d is the port of %s, too; %s", port, other, fix)
			return
		}
		taken[port] = owner
	}
	if n.Enabled {
		claim(tcp, "nfs.port", "nfs.port", n.Port, "")
		if c.IWARP.Enabled {
			claim(tcp, "nfs.rdma_port", "nfs.rdma_port", n.RDMAPort, "write e.g. 20049")
		}
		devices[n.RDMAPort] = "nfs.rdma_port"
	}
	if s.Enabled == SwitchOff {
		return
	}
	if len(s.Port) == 0 {
		bad.add("smb.port", "is empty; write e.g. 445")
	}
	for i, p := range s.Port {
		claim(tcp, indexed("smb.port", i, len(s.Port)), "smb.port", p, "give it another")
	}
	if len(s.RDMAPort) == 0 {
		bad.add("smb.rdma_port", "is empty; write auto for the ports that clients try, or e.g. [445, 5445]")
		return
	}
	auto := slices.Contains(s.RDMAPort, PortAuto)
	if auto && len(s.RDMAPort) > 1 {
		bad.add("smb.rdma_port", "auto stands alone; write auto, or ports only, e.g. [445, 5445]")
		return
	}
	if auto {
		if other := devices[portSMB]; other != "" && c.devices() {
			bad.add(other, "%d is the port that clients try for SMB Direct; write e.g. 20049", portSMB)
		}
		if c.IWARP.Enabled {
			if other := tcp[portSMBDirect]; other != "" {
				bad.add(other, "%d is the port that clients try for SMB Direct over iWARP; give it another, or set iwarp.enabled to false", portSMBDirect)
			}
		}
		return
	}
	for i, p := range s.RDMAPort {
		key := indexed("smb.rdma_port", i, len(s.RDMAPort))
		claim(devices, key, "smb.rdma_port", uint16(p), "give it another")
	}
	if c.IWARP.Enabled && len(c.IWARPPorts()) == 0 {
		bad.add("smb.rdma_port", "%v is the port of SMB over TCP, too, and iWARP in software shares its ports with TCP; write e.g. [%v, 5445], or set iwarp.enabled to false", s.RDMAPort[0], s.RDMAPort[0])
	}
}

// devices reports whether RDMA devices may be used.
func (c *Config) devices() bool { return !slices.Contains(c.RDMA.Devices, DevicesOff) }

// indexed returns the key of element i of a list of n elements. The only element has the key of the list.
func indexed(key string, i, n int) string {
	if n == 1 {
		return key
	}
	return fmt.Sprintf("%s[%d]", key, i)
}
