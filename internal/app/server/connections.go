package server

import (
	"net/netip"
	"sync/atomic"

	"fileserver/internal/connlimit"
	"fileserver/internal/metrics"
)

// connections is what the servers of all protocols and transports have in common of their connections.
type connections struct {
	refused []*refusals
	recheck []func() // ends connections from addresses that are not admitted any more
}

// refusals counts the connections of one protocol on one transport that were not taken, or ended.
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

// connMemory is what the requests of one connection may hold of the buffers, bytes: limits.connection_memory, or else
// what is usual, if that is not too large a part of all.
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
		Help: "Connections that were not taken, or were ended, because of limits and admission.",
		Read: func(emit func(float64, ...string)) {
			for _, r := range s.connections.refused {
				for why := range r.by {
					emit(float64(r.by[why].Load()), r.protocol, r.transport, connlimit.Reason(why).Name())
				}
			}
		},
	})
}
