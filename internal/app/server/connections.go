package server

import (
	"net/netip"
	"sync/atomic"

	"fileserver/internal/connlimit"
	"fileserver/internal/metrics"
)

// connections counts the refusals of all protocols and transports, and checks their connections again.
type connections struct {
	refused []*refusals
	recheck []func() // each ends the connections of a server whose addresses are no longer admitted
}

// refusals counts the connections of one protocol on one transport that the server refused or ended.
type refusals struct {
	protocol, transport string
	by                  [connlimit.Reasons]atomic.Int64
}

// connLimits are the limits of a protocol's connections on a transport. admits reports whether any share admits an address.
func (s *Server) connLimits(protocol, transport string, admits func(netip.Addr) bool) connlimit.Config {
	r := &refusals{protocol: protocol, transport: transport}
	s.connections.refused = append(s.connections.refused, r)
	l := &s.cfg.Limits
	return connlimit.Config{
		Admits: admits, Total: s.budgets.conns, PerClient: l.ConnectionsPerAddress, HalfOpen: l.HalfOpenTimeout, Idle: l.IdleTimeout,
		Refused: func(addr netip.Addr, why connlimit.Reason) {
			r.by[why].Add(1)
			switch why {
			case connlimit.NotAdmitted, connlimit.TooMany, connlimit.TooManyOfOne:
				s.log.Warn("connection refused", "protocol", protocol, "transport", transport, "remote", addr, "reason", why.Error())
			}
		},
	}
}

// admits reports whether any share admits an address, for any protocol.
func (s *Server) admits(a netip.Addr) bool {
	return s.exports.Admits(a) || s.smb != nil && s.smb.Admits(a)
}

// connMemory returns how many bytes of the buffers the requests of one connection may hold: limits.connection_memory if it is set,
// otherwise usual, but at most a sixteenth of all memory.
func (s *Server) connMemory(usual int) int {
	l := &s.cfg.Limits
	if l.ConnectionMemory > 0 {
		return int(l.ConnectionMemory)
	}
	return min(usual, int(l.Memory/16))
}

// addRefusedMetrics publishes the refusals.
func (s *Server) addRefusedMetrics() {
	s.metrics.Add(metrics.Metric{
		Kind: metrics.Counter, Name: "connections_refused_total", Labels: []string{"protocol", "transport", "reason"},
		Help: "Connections refused or ended because of limits or because no share admits the address.",
		Read: func(emit func(float64, ...string)) {
			for _, r := range s.connections.refused {
				for why := range r.by {
					emit(float64(r.by[why].Load()), r.protocol, r.transport, connlimit.Reason(why).Name())
				}
			}
		},
	})
}
