package server

import (
	"errors"
	"net/netip"

	"fileserver/nfs/rpc"
	"fileserver/nfsrdma"
)

// startNFS makes the RPC programs and serves them on every transport.
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
	var missing []error
	noRDMA := "the client did not ask for it (mount option rdma)"
	var over *rdmaService
	if !cfg.IWARP.Enabled {
		noRDMA = "iwarp.enabled is false"
	} else if over, err = s.startIWARP(handler); err != nil {
		noRDMA = "there is no listener for it: " + err.Error()
		missing = append(missing, err)
	}
	seen := &tcpObserver{log: s.log, noRDMA: noRDMA, maxCalls: cfg.Limits.InFlight}
	tcp := &tcpService{
		log: s.log, addrs: on(cfg.Listen, cfg.NFS.Port),
		rpc: rpc.NewTCPServer(rpc.TCPConfig{
			Handler: handler, Buffers: s.pool, Logger: s.log.Logger, Observer: seen,
			MaxCalls: cfg.Limits.InFlight, MaxConns: cfg.Limits.Connections,
		}),
	}
	err = s.listen("nfs", "tcp", tcp)
	s.addConnMetrics(seen, over)
	if err != nil {
		missing = append(missing, err)
		if over == nil {
			return errors.Join(missing...)
		}
	}
	for _, err := range missing {
		s.log.Error("a service is missing", "err", err)
	}
	return nil
}

// startIWARP serves the handler over the provider in software.
func (s *Server) startIWARP(handler rpc.Handler) (*rdmaService, error) {
	cfg := s.cfg
	p, err := s.software()
	if err != nil {
		return nil, err
	}
	r := &rdmaService{log: s.log, provider: p, addrs: on(cfg.Listen, cfg.NFS.RDMAPort)}
	r.rpc, err = nfsrdma.NewServer(nfsrdma.Config{
		Handler: handler, Memory: p.memory.attach, Logger: s.log.Logger,
		MaxConns: cfg.Limits.Connections, Credits: cfg.Limits.InFlight,
	})
	if err != nil {
		return nil, err
	}
	if err := s.listen("nfs", "iwarp", r); err != nil {
		return nil, err
	}
	return r, nil
}

// on is each of the ports on every address.
func on(addrs []netip.Addr, ports ...uint16) []netip.AddrPort {
	out := make([]netip.AddrPort, 0, len(addrs)*len(ports))
	for _, p := range ports {
		for _, a := range addrs {
			out = append(out, netip.AddrPortFrom(a, p))
		}
	}
	return out
}
