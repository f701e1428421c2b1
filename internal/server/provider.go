package server

import (
	"errors"
	"fmt"

	"fileserver/config"
	"fileserver/rdma/iwarp"
)

// provider is the RDMA provider in software, and the pool's memory as registered with its devices.
type provider struct {
	*iwarp.Provider
	memory *domains
}

// software is the RDMA provider in software, which all protocols use; it is made when first asked for.
func (s *Server) software() (*provider, error) {
	if s.iwarp != nil {
		return s.iwarp, nil
	}
	cfg := s.cfg
	crc := iwarp.CRCIfAsked
	if cfg.IWARP.CRC == config.CRCAlways {
		crc = iwarp.CRCAlways
	}
	p, err := iwarp.New(iwarp.Config{Log: s.log.Logger, CRC: crc, MaxFPDU: cfg.IWARP.MaxFPDU})
	if err != nil {
		return nil, fmt.Errorf("iwarp: %w", err)
	}
	s.iwarp = &provider{p, &domains{pool: s.pool, own: cfg.RDMA.Domain == config.DomainConnection}}
	s.addIWARPMetrics(s.iwarp)
	return s.iwarp, nil
}

// close ends the provider; no connection of it is left.
func (p *provider) close() error { return errors.Join(p.Close(), p.memory.close()) }
