package server

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"fileserver/config"
	"fileserver/rdma"
	"fileserver/rdma/discover"
)

// rdmaService is a protocol that is served over RDMA.
type rdmaService struct {
	name     string                          // nfs, smb
	software []uint16                        // its ports over the provider in software
	ports    func(t rdma.Transport) []uint16 // its ports on a device
	serve    func(context.Context, rdma.Listener) error
	shutdown func(context.Context) error
}

// place is an address of a device on which a service should listen by RDMA.
type place struct {
	service   string
	device    string // rdma.Device.Name; softwareDevice for the provider in software
	transport rdma.Transport
	addr      netip.AddrPort
}

// softwareDevice is the name of the one device of the provider in software.
const softwareDevice = "iwarp"

// attrs returns the attributes of the place for the log.
func (p place) attrs() []any {
	return []any{"service", p.service, "transport", p.transport.String(), "addr", p.addr.String(), "device", p.device}
}

// covers reports whether a listener at the place accepts connections to an address of this machine.
func (p place) covers(a netip.Addr) bool {
	l := p.addr.Addr()
	return l == a || l.IsUnspecified() && l.Is4() == a.Is4()
}

// softwarePlaces returns the places of iWARP in software, which listens on the addresses of TCP.
func softwarePlaces(listen []netip.Addr, services []*rdmaService) (list []place) {
	for _, sv := range services {
		for _, a := range on(listen, sv.software...) {
			list = append(list, place{sv.name, softwareDevice, rdma.TransportIWARP, a})
		}
	}
	return list
}

// devicePlaces returns the places of the devices: every address of cfg.Listen that belongs to a port of a device. If several
// devices are on one network interface, the kernel chooses one, so each address and port is listed once.
func devicePlaces(cfg *config.Config, t *discover.Topology, services []*rdmaService) (list []place) {
	taken := map[netip.AddrPort]bool{}
	for i := range t.Netdevs {
		for _, prefix := range t.Netdevs[i].Addrs {
			a := prefix.Addr().Unmap()
			if a.IsLoopback() || a.IsLinkLocalUnicast() || !listensOn(cfg.Listen, a) {
				continue
			}
			for _, ref := range t.PortsOf(a) {
				if unused(cfg, ref.Device) != "" || ref.Port.Transport == rdma.TransportUnknown {
					continue
				}
				for _, sv := range services {
					for _, at := range on([]netip.Addr{a}, sv.ports(ref.Port.Transport)...) {
						if !taken[at] {
							taken[at] = at.Port() != 0
							list = append(list, place{sv.name, ref.Device.Name, ref.Port.Transport, at})
						}
					}
				}
			}
		}
	}
	return list
}

// unused returns why the configuration leaves a device out, and "" if it does not.
func unused(cfg *config.Config, d *discover.Device) string {
	names := cfg.RDMA.Devices
	switch {
	case slices.Contains(names, config.DevicesOff):
		return "rdma.devices is off"
	case !slices.Contains(names, config.DevicesAuto) && !slices.Contains(names, d.Name):
		return "rdma.devices does not name it"
	case slices.Contains(names, config.DevicesAuto) && d.Driver == "siw" && cfg.IWARP.Enabled:
		return "siw and the provider in software both take ports of TCP; set iwarp.enabled to false, or name it in rdma.devices"
	}
	return ""
}

// site is the state of a place: it has a listener, or the reason why it has none.
type site struct {
	open   bool
	absent int // how many checks in a row did not want the place
	err    error
	tries  int       // failed attempts in a row
	retry  time.Time // when to try again
}

// maxAbsent is how many checks in a row must not want a place before its listener is closed: a list of
// addresses that changes while it is read may be incomplete.
const maxAbsent = 2

// firstRetry and maxRetry are the shortest and the longest time between two attempts to listen.
const (
	firstRetry = time.Second
	maxRetry   = 30 * time.Second
)

// failed returns the site after a failed attempt.
func (s site) failed(err error, now time.Time) site {
	wait := min(firstRetry<<min(s.tries, 10), maxRetry)
	return site{err: err, tries: s.tries + 1, retry: now.Add(wait)}
}

// plan compares the places that are wanted with the sites that exist. It returns the places to open, those to close, in
// order, and those that are unwanted but stay open for now.
func plan(want []place, have map[place]site, now time.Time) (open, closing, unwanted []place) {
	for _, p := range want {
		if s, ok := have[p]; !ok || !s.open && !now.Before(s.retry) {
			open = append(open, p)
		}
	}
	for p, s := range have {
		switch {
		case slices.Contains(want, p):
		case !s.open || s.absent+1 >= maxAbsent:
			closing = append(closing, p)
		default:
			unwanted = append(unwanted, p)
		}
	}
	slices.SortFunc(closing, comparePlaces)
	return open, closing, unwanted
}

func comparePlaces(a, b place) int {
	if c := a.addr.Compare(b.addr); c != 0 {
		return c
	}
	if a.String() < b.String() {
		return -1
	}
	return 1
}

// String names the place in messages.
func (p place) String() string {
	return fmt.Sprintf("%s over %s on %s (%s)", p.service, p.transport, p.addr, p.device)
}
