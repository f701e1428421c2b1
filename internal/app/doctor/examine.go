package doctor

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"fileserver/rdma/discover"
)

// Examine judges the facts. It looks at nothing else.
func Examine(f *Facts) *Report {
	e := &examiner{Facts: f, r: &Report{Interfaces: []Interface{}, Findings: []Finding{}}, general: map[string][]string{}}
	e.configuration()
	if f.TopologyErr != nil {
		e.add(Finding{Severity: Warning, Code: "no-addresses", What: "the addresses of the network interfaces cannot be read", Why: f.TopologyErr.Error()})
	}
	if f.Config != nil {
		e.services()
		e.ports()
		e.devices()
	}
	for i := range f.Topology.Netdevs {
		e.examine(&f.Topology.Netdevs[i])
	}
	if f.Config != nil {
		e.nobody()
		e.environment()
	}
	e.r.finish()
	return e.r
}

// examiner is one examination.
type examiner struct {
	*Facts
	r *Report
	// general are codes of findings that keep a service ("nfs", "smb") from RDMA in software ("nfs/software") or by devices ("nfs/verbs").
	general map[string][]string
}

func (e *examiner) add(f Finding) { e.r.Findings = append(e.r.Findings, f) }

// block notes a finding that keeps services from RDMA of a provider.
func (e *examiner) block(provider, code string, services ...string) {
	for _, s := range services {
		key := s + "/" + provider
		if !slices.Contains(e.general[key], code) {
			e.general[key] = append(e.general[key], code)
		}
	}
}

var both = []string{"nfs", "smb"}

// examine judges one interface.
func (e *examiner) examine(n *discover.Netdev) {
	i := Interface{
		Name: n.Name, Index: n.Index, Kind: string(n.Kind), Driver: n.Driver, Running: n.Running(), OperState: n.OperState, MTU: n.MTU, Speed: n.Speed,
		Addrs: n.Addrs, Below: e.Topology.Below(n.Name),
	}
	ports := e.Topology.Ports(n.Name)
	for _, p := range ports {
		i.Devices = append(i.Devices, describe(p))
	}
	if e.Config != nil {
		local := e.local(n, ports)
		i.NFS = e.verdict("nfs", n, ports, local)
		i.SMB = e.verdict("smb", n, ports, local)
		i.Client = e.client(n, &i)
	}
	e.r.Interfaces = append(e.r.Interfaces, i)
}

// describe is a port for the report.
func describe(p discover.PortRef) Device {
	d := Device{
		Name: p.String(), Driver: p.Device.Driver, Software: p.Device.Software, Transport: p.Port.Transport.String(), State: p.Port.State.String(),
		PhysState: p.Port.PhysState, Rate: p.Port.Rate, ActiveMTU: p.Port.ActiveMTU, Counters: p.Port.Counters, HWCounters: p.Port.HWCounters,
	}
	for _, g := range p.Port.GIDs {
		d.GIDs = append(d.GIDs, GID{Index: g.Index, Type: g.Type.String(), GID: g.Addr.String(), Netdev: g.Netdev})
	}
	return d
}

// served are the addresses of an interface that clients can use and the server listens on.
func (e *examiner) served(n *discover.Netdev) (list []netip.Addr) {
	for _, p := range n.Addrs {
		if a := p.Addr(); e.listensOn(a) && !a.IsLinkLocalUnicast() {
			list = append(list, a)
		}
	}
	return list
}

// verdict is what clients of a service can use through an interface. local are the codes of its own findings, by provider.
func (e *examiner) verdict(service string, n *discover.Netdev, ports []discover.PortRef, local map[string][]string) (v Verdict) {
	why := append(slices.Clone(e.general[service]), local[""]...)
	if len(why) == 0 {
		soft := e.general[service+"/software"]
		if len(soft) == 0 {
			port := []uint16{e.Config.NFS.RDMAPort}
			if service == "smb" {
				port = e.Config.IWARPPorts()
			}
			v.Ways = append(v.Ways, Way{Provider: "iwarp", Transport: "iwarp", Ports: port})
		}
		verbs := append(slices.Clone(e.general[service+"/verbs"]), local["verbs"]...)
		for _, p := range ports {
			if bad := local[p.String()]; len(e.general[service+"/verbs"]) == 0 && len(bad) == 0 {
				v.Ways = append(v.Ways, e.way(service, p))
			} else {
				verbs = append(verbs, bad...)
			}
		}
		// What keeps devices from being used is no news where there are none.
		if why = soft; len(ports) > 0 || len(local["verbs"]) > 0 {
			why = append(slices.Clone(soft), verbs...)
		} else if len(v.Ways) == 0 {
			why = append(slices.Clone(soft), "no-device")
		}
	}
	v.RDMA = len(v.Ways) > 0
	slices.Sort(why)
	v.WhyNot = slices.Compact(why)
	return v
}

// way is the use of a port.
func (e *examiner) way(service string, p discover.PortRef) Way {
	return Way{Provider: "verbs", Transport: p.Port.Transport.String(), Device: p.String(), Hardware: !p.Device.Software, Ports: e.portsOn(service, p.Port.Transport)}
}

// configuration reports what is wrong with the configuration.
func (e *examiner) configuration() {
	for _, p := range e.Problems {
		f := Finding{Severity: Error, Code: "config", What: "the configuration is refused: " + p.String()}
		if p.Key == "shares" && e.Config != nil && e.Config.File == "" && len(e.Config.Shares) == 0 {
			f = Finding{Severity: Info, Code: "no-shares", What: "no shares are given, so this is about the defaults",
				Why: "the doctor reads the same flags, variables and file as serve", Do: []Step{{OnServer, "fileserver doctor --config FILE", "as you give them to serve"}}}
		}
		e.add(f)
	}
	if e.Config == nil {
		return
	}
	for _, w := range e.Config.Warnings {
		e.add(Finding{Severity: Warning, Code: "config-warning", What: w})
	}
}

// nobody reports that nobody can use RDMA at all, and what is the reason.
func (e *examiner) nobody() {
	for _, service := range both {
		if len(e.general[service]) > 0 {
			continue // there is a finding
		}
		var yes, no []string
		for _, i := range e.r.Interfaces {
			v := i.NFS
			if service == "smb" {
				v = i.SMB
			}
			if v.RDMA {
				yes = append(yes, i.Name)
			} else {
				no = append(no, i.Name)
			}
		}
		name := strings.ToUpper(service)
		switch {
		case len(yes) == 1 && e.Topology.Netdev(yes[0]).Kind == discover.KindLoopback:
			e.add(Finding{Severity: Info, Code: "local-only", Service: service, What: fmt.Sprintf("%s clients on this machine only can use RDMA", name),
				Do: []Step{{OnServer, "fileserver serve … --listen 0.0.0.0 --allow NETWORK", "to serve others"}}})
		case len(yes) > 0:
			e.add(Finding{Severity: OK, Code: "rdma", Service: service, What: fmt.Sprintf("%s clients can use RDMA through %s", name, strings.Join(yes, ", "))})
		case len(no) > 0:
			f := Finding{Severity: Warning, Code: "no-rdma", Service: service, What: fmt.Sprintf("%s clients cannot use RDMA through any interface", name),
				Why: "see the reasons at each interface"}
			if !e.Config.IWARP.Enabled {
				f.Do = []Step{{OnServer, "fileserver serve … with iwarp.enabled: true", "RDMA in software, for clients with siw"}}
			}
			e.add(f)
		}
	}
}
