package doctor

import (
	"fmt"
	"slices"
	"strings"

	"fileserver/config"
	"fileserver/rdma"
	"fileserver/rdma/discover"
)

// devices judges what concerns all RDMA devices.
func (e *examiner) devices() {
	cfg := e.Config.RDMA.Devices
	for _, name := range cfg {
		if name != config.DevicesAuto && name != config.DevicesOff && e.Topology.Device(name) == nil {
			e.add(Finding{Severity: Error, Code: "device-unknown", What: fmt.Sprintf("rdma.devices names %s, but there is no such device", name),
				Why: "there are: " + e.names(), Do: []Step{{OnServer, "rdma link", "lists the devices"}}})
		}
	}
	used := e.usedDevices()
	if len(used) == 0 {
		return
	}
	switch {
	case e.VerbsBuilt != nil:
		e.block("verbs", "verbs-not-built", both...)
		e.add(Finding{Severity: Warning, Code: "verbs-not-built", What: "this program was built without the provider for RDMA devices", Why: "its devices are left to the server's own iWARP, which clients with siw or an iWARP adapter can use",
			Do: []Step{{OnServer, "apt-get install gcc libibverbs-dev librdmacm-dev && make build", "where the program is built"}}})
	case e.VerbsUsable != nil:
		e.block("verbs", "rdma-core-missing", both...)
		e.add(Finding{Severity: Warning, Code: "rdma-core-missing", What: "there are RDMA devices, but rdma-core cannot be used", Why: e.VerbsUsable.Error(),
			Do: []Step{{OnServer, "apt-get install rdma-core libibverbs1 librdmacm1 ibverbs-providers", "or dnf install rdma-core libibverbs librdmacm; then start the server again"}}})
	}
	e.deviceFiles(used)
	e.memlock()
	if e.VerbsBuilt == nil && e.VerbsUsable == nil {
		e.devicePorts("nfs", used)
		e.devicePorts("smb", used)
	}
}

// devicePorts checks whether other programs have a service's ports on devices, and whether a running server has them.
func (e *examiner) devicePorts(service string, used []*discover.Device) {
	if len(e.general[service]) > 0 {
		return // it is not served
	}
	for _, d := range used {
		for i := range d.Ports {
			for _, port := range e.portsOn(service, d.Ports[i].Transport) {
				if port != 0 && e.devicePort(service, d, &d.Ports[i], port) {
					return // one finding is enough
				}
			}
		}
	}
}

// portsOn are the ports of a service on devices of a transport.
func (e *examiner) portsOn(service string, t rdma.Transport) []uint16 {
	if service == "nfs" {
		return []uint16{e.Config.NFS.RDMAPort}
	}
	return e.Config.SMBDirectPorts(t == rdma.TransportIWARP)
}

// devicePort reports whether a port of a service on a device is not available, or the running server does not listen on it.
func (e *examiner) devicePort(service string, d *discover.Device, p *discover.Port, port uint16) bool {
	reached, ours := false, false // whether clients can reach the device, and whether our server listens there
	for _, name := range p.Netdevs {
		n := e.Topology.Netdev(name)
		reached = reached || n != nil && n.Running() && p.Active() && len(e.served(n)) > 0
	}
	for i := range e.CM {
		l := &e.CM[i]
		if l.Device != d.Name || l.Addr.Port() != port {
			continue
		}
		name, mine := e.cmHolder(l)
		if ours = ours || mine; mine {
			continue
		}
		e.block("verbs", "port-taken", service)
		e.add(Finding{Severity: Error, Code: "port-taken", Service: service, What: fmt.Sprintf("port %d of the RDMA device %s is taken: by %s", port, d.Name, name),
			Why: "the server cannot listen there", Do: stopKernel(l.Kernel, service+".rdma_port")})
		return true
	}
	// For rdma_cm this is fixed, whatever ip_unprivileged_port_start says (cma_use_port in Linux).
	if port < 1024 && !e.BindLow && !ours {
		e.block("verbs", "port-privilege", service)
		e.add(Finding{Severity: Error, Code: "port-privilege", Service: service, What: fmt.Sprintf("port %d of the RDMA device %s needs privilege: ports of devices below 1024 do, whatever those of TCP need", port, d.Name),
			Do: []Step{{OnServer, "AmbientCapabilities=CAP_NET_BIND_SERVICE", "in the [Service] section of its systemd unit"},
				{OnServer, "setcap cap_net_bind_service=+ep $(which fileserver)", "or run the server as root, or give " + service + ".rdma_port another number"}}})
		return true
	}
	if running := e.server(); running > 0 && e.CMKnown && reached && !ours {
		e.block("verbs", "not-listening", service)
		e.add(Finding{Severity: Warning, Code: "not-listening", Service: service, What: fmt.Sprintf("the server that runs does not listen on port %d of %s", port, d.Name),
			Why: "it was started with another configuration, without the provider for RDMA devices, or it could not: its log has a line with msg=\"not listening\"",
			Do:  []Step{{OnServer, fmt.Sprintf("kill %d, and fileserver serve …", running), "start it again with this configuration"}}})
		return true
	}
	return false
}

// usedDevices are the devices that the configuration uses.
func (e *examiner) usedDevices() (list []*discover.Device) {
	for i := range e.Topology.Devices {
		if ok, _ := e.used(&e.Topology.Devices[i]); ok {
			list = append(list, &e.Topology.Devices[i])
		}
	}
	return list
}

// names are those of the devices.
func (e *examiner) names() string {
	var list []string
	for i := range e.Topology.Devices {
		list = append(list, e.Topology.Devices[i].Name)
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// deviceFiles judges whether devices can be driven by a program of this user.
func (e *examiner) deviceFiles(used []*discover.Device) {
	var cm, verbs bool
	for _, d := range used {
		for _, name := range d.CharDevices {
			err, known := e.DeviceFiles[name]
			cm = cm || strings.HasSuffix(name, "/rdma_cm")
			verbs = verbs || strings.Contains(name, "/uverbs")
			if known && err != nil && !slices.Contains(e.general["nfs/verbs"], "device-files") {
				e.block("verbs", "device-files", both...)
				f := Finding{Severity: Error, Code: "device-files", What: fmt.Sprintf("%s cannot be opened: %v", name, err),
					Do: []Step{{OnServer, "chmod 666 " + name, "or add the server's user to the group that has it"}}}
				if strings.Contains(err.Error(), "no such file") {
					f.Why = "udev made no file: in a container the device has to be passed in"
					f.Do = []Step{{OnServer, "docker run --device=/dev/infiniband …", "in a container; otherwise udevadm trigger"}}
				}
				e.add(f)
			}
		}
	}
	for have, module := range map[*bool]string{&cm: "rdma_ucm", &verbs: "ib_uverbs"} {
		if !*have {
			e.block("verbs", "module-missing", both...)
			e.add(Finding{Severity: Warning, Code: "module-missing", What: "the module " + module + " is missing: programs cannot use RDMA devices",
				Do: []Step{e.modprobe(module)}})
		}
	}
}

// modprobe is how to get a module.
func (e *examiner) modprobe(name string) Step {
	if e.Modules.missing(name) {
		return Step{OnServer, "apt-get install linux-modules-extra-$(uname -r) && modprobe " + name, "this kernel's packages do not have it; other distributions name the package differently"}
	}
	return Step{OnServer, "modprobe " + name, ""}
}

// memlock judges whether the buffers can be registered.
func (e *examiner) memlock() {
	m, need := e.Memlock, uint64(e.Config.Limits.Memory)
	if m.Unlimited || m.Limit >= need {
		return
	}
	whose := "of this shell"
	if m.PID > 0 {
		whose = fmt.Sprintf("of the server, process %d,", m.PID)
	}
	e.block("verbs", "memlock", both...)
	e.add(Finding{Severity: Error, Code: "memlock", What: fmt.Sprintf("the limit on locked memory %s is %s, but limits.memory is %s", whose, bytesOf(m.Limit), bytesOf(need)),
		Why: "buffers registered with RDMA devices are locked in memory; connections are refused when there are no more. The server's own iWARP is not concerned",
		Do: []Step{{OnServer, "LimitMEMLOCK=infinity", "in the [Service] section of its systemd unit; then systemctl daemon-reload and restart it"},
			{OnServer, "ulimit -l unlimited", "in a shell, as root, before starting it"}}})
}

// bytesOf writes a number of bytes.
func bytesOf(n uint64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for ; i < len(units)-1 && n >= 1024 && n%1024 == 0; i++ {
		n /= 1024
	}
	for ; i < len(units)-1 && n >= 10240; i++ {
		n /= 1024
	}
	return fmt.Sprintf("%d %s", n, units[i])
}

// rdmaModules are the modules that make RDMA devices of network adapters, by the driver of these.
var rdmaModules = map[string]string{
	"mlx5_core": "mlx5_ib", "mlx4_core": "mlx4_ib", "mlx4_en": "mlx4_ib", "ice": "irdma", "i40e": "irdma", "idpf": "irdma",
	"bnxt_en": "bnxt_re", "cxgb4": "iw_cxgb4", "qede": "qedr", "hns3": "hns_roce_hw_v2", "mana": "mana_ib", "ionic": "ionic_rdma",
}
