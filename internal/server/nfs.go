package server

import (
	"errors"
	"fmt"
	"net/netip"

	"fileserver/config"
	"fileserver/nfs/rpc"
	"fileserver/nfsrdma"
	"fileserver/rdma/iwarp"
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
	crc := iwarp.CRCIfAsked
	if cfg.IWARP.CRC == config.CRCAlways {
		crc = iwarp.CRCAlways
	}
	provider, err := iwarp.New(iwarp.Config{Log: s.log.Logger, CRC: crc, MaxFPDU: cfg.IWARP.MaxFPDU})
	if err != nil {
		return nil, fmt.Errorf("iwarp: %w", err)
	}
	r := &rdmaService{
		log: s.log, provider: provider, closeProvider: provider.Close,
		addrs: on(cfg.Listen, cfg.NFS.RDMAPort), memory: &memories{pool: s.pool},
	}
	r.rpc, err = nfsrdma.NewServer(nfsrdma.Config{
		Handler: handler, Memory: r.memory.get, Logger: s.log.Logger,
		MaxConns: cfg.Limits.Connections, Credits: cfg.Limits.InFlight,
	})
	if err != nil {
		return nil, errors.Join(err, provider.Close())
	}
	if err := s.listen("nfs", "iwarp", r); err != nil {
		return nil, err
	}
	s.addIWARPMetrics(provider)
	return r, nil
}

// on is a port on every address.
func on(addrs []netip.Addr, port uint16) []netip.AddrPort {
	out := make([]netip.AddrPort, len(addrs))
	for i, a := range addrs {
		out[i] = netip.AddrPortFrom(a, port)
	}
	return out
}
