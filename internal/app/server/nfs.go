package server

import (
	"net/netip"

	"fileserver/nfs/rpc"
	"fileserver/nfsrdma"
	"fileserver/rdma"
)

// startNFS creates the RPC programs, serves them over TCP, and registers them for RDMA.
func (s *Server) startNFS() error {
	cfg := s.cfg
	programs, err := s.programs()
	if err != nil {
		return err
	}
	handler, err := rpc.NewServer(rpc.Config{Logger: s.log.Logger, Observer: newRPCObserver(s.metrics)}, programs...)
	if err != nil {
		return err
	}
	over, err := nfsrdma.NewServer(nfsrdma.Config{
		Handler: handler, Memory: s.rdma.domains.attach, Logger: s.log.Logger,
		Limits: s.connLimits("nfs", "rdma", s.exports.Admits), Credits: cfg.Limits.InFlight, MaxHeld: s.connMemory(nfsrdma.DefaultMaxHeld),
	})
	if err != nil {
		return err
	}
	s.rdma.add(&rdmaService{
		name: "nfs", software: []uint16{cfg.NFS.RDMAPort}, ports: func(rdma.Transport) []uint16 { return []uint16{cfg.NFS.RDMAPort} },
		serve: over.Serve, shutdown: over.Shutdown,
	})
	seen := &tcpObserver{log: s.log, maxCalls: cfg.Limits.InFlight, noRDMA: func(a netip.Addr) string {
		return s.rdma.noRDMA("nfs", a, "the client did not ask for it (mount option rdma)")
	}}
	s.addConnMetrics(seen, over)
	tcp := rpc.NewTCPServer(rpc.TCPConfig{
		Handler: handler, Buffers: s.pool, Logger: s.log.Logger, Observer: seen, MaxCalls: cfg.Limits.InFlight,
		MaxHeld: s.connMemory(rpc.DefaultMaxHeld),
		Limits:  s.connLimits("nfs", "tcp", s.exports.Admits),
	})
	s.connections.recheck = append(s.connections.recheck, over.Recheck, tcp.Recheck)
	return s.listen("nfs", "tcp", &tcpService{
		tcpListeners{log: s.log, service: "nfs", addrs: on(cfg.Listen, cfg.NFS.Port)}, rpc.ErrServerClosed, tcp,
	})
}

// on returns every address with each of the ports.
func on(addrs []netip.Addr, ports ...uint16) []netip.AddrPort {
	out := make([]netip.AddrPort, 0, len(addrs)*len(ports))
	for _, p := range ports {
		for _, a := range addrs {
			out = append(out, netip.AddrPortFrom(a, p))
		}
	}
	return out
}
