package server

import (
	"slices"
	"strconv"
	"strings"

	"fileserver/internal/metrics"
	"fileserver/rdma/discover"
)

// transports returns the names of the transports that a service should have listeners on.
func (r *rdmaSide) transports(service string) (names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p := range r.sites {
		if n := p.transport.String(); p.service == service && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

// addRDMAMetrics publishes the metrics of devices and listeners.
func (s *Server) addRDMAMetrics() {
	r := s.rdma
	s.metrics.Add(metrics.Metric{
		Kind: metrics.Gauge, Name: "rdma_listener", Labels: []string{"service", "transport", "device", "addr"},
		Help: "1 if a service listens by RDMA on the address, 0 if it should and cannot.",
		Read: func(emit func(float64, ...string)) {
			r.mu.Lock()
			defer r.mu.Unlock()
			for p, st := range r.sites {
				if l := r.open[p]; l != nil {
					p.addr = l.Addr() // the configured port may be 0
				}
				emit(oneIf(st.open), p.service, p.transport.String(), p.device, p.addr.String())
			}
		},
	}, metrics.Metric{
		Kind: metrics.Gauge, Name: "rdma_registered_bytes", Help: "Memory registered with the device.", Labels: []string{"device"},
		Read: r.domains.report,
	})
	if r.software != nil {
		s.addIWARPMetrics(r)
	}
	if r.devices != nil {
		s.addPortMetrics(r)
	}
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// addPortMetrics publishes the state and the counters of the devices in use, as of the last scan.
func (s *Server) addPortMetrics(r *rdmaSide) {
	each := func(f func(d *discover.Device, p *discover.Port, port string)) {
		t := r.topology()
		for i := range t.Devices {
			d := &t.Devices[i]
			for j := range d.Ports {
				if unused(r.cfg, d) == "" {
					f(d, &d.Ports[j], strconv.Itoa(d.Ports[j].Num))
				}
			}
		}
	}
	s.metrics.Add(metrics.Metric{
		Kind: metrics.Gauge, Name: "rdma_port_active", Labels: []string{"device", "port", "transport", "netdev"},
		Help: "1 if the port of an RDMA device in use is active.",
		Read: func(emit func(float64, ...string)) {
			each(func(d *discover.Device, p *discover.Port, port string) {
				emit(oneIf(p.Active()), d.Name, port, p.Transport.String(), strings.Join(p.Netdevs, "+"))
			})
		},
	}, metrics.Metric{
		Kind: metrics.Gauge, Name: "rdma_port_rate_bits", Labels: []string{"device", "port"},
		Help: "Signalling rate of the port, bit/s.",
		Read: func(emit func(float64, ...string)) {
			each(func(d *discover.Device, p *discover.Port, port string) { emit(float64(p.Rate), d.Name, port) })
		},
	}, metrics.Metric{
		Kind: metrics.Counter, Name: "rdma_port_counter_total", Labels: []string{"device", "port", "counter"},
		Help: "Counters of the port and its driver, by the kernel's names; port_xmit_data and port_rcv_data are words of 4 bytes.",
		Read: func(emit func(float64, ...string)) {
			each(func(d *discover.Device, p *discover.Port, port string) {
				for name, v := range p.Counters {
					if _, both := p.HWCounters[name]; !both {
						emit(float64(v), d.Name, port, name)
					}
				}
				for name, v := range p.HWCounters {
					emit(float64(v), d.Name, port, name)
				}
			})
		},
	})
}

// addIWARPMetrics publishes the metrics of iWARP in software.
func (s *Server) addIWARPMetrics(r *rdmaSide) {
	s.metrics.Add(metrics.Metric{
		Kind: metrics.Counter, Name: "iwarp_terminates_total", Labels: []string{"direction"},
		Help: "Terminate messages, sent and received.",
		Read: func(emit func(float64, ...string)) {
			st := r.software.Stats()
			emit(float64(st.TerminatesSent), "out")
			emit(float64(st.TerminatesReceived), "in")
		},
	}, metrics.Metric{
		Kind: metrics.Counter, Name: "iwarp_ended_total", Labels: []string{"reason"},
		Help: "iWARP connections refused or ended, by reason.",
		Read: func(emit func(float64, ...string)) {
			for reason, n := range r.software.Stats().Reasons {
				if n > 0 {
					emit(float64(n), reason)
				}
			}
		},
	})
}
