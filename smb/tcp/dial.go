package tcp

import (
	"context"
	"net"

	"fileserver/internal/connlimit"
	"fileserver/internal/slab"
	"fileserver/smb/transport"
)

// NewClient runs the client's end of nc, which it closes when the connection ends. It
// needs cfg's Handler and Buffers; Limits mean nothing, and
// messages may be long from the beginning: who dials trusts the server with memory.
func NewClient(nc net.Conn, cfg Config) (transport.Conn, error) {
	if cfg.MaxMessage == 0 {
		cfg.MaxMessage = slab.MaxSize
	}
	cfg.Limits = connlimit.Config{}
	s, err := New(cfg)
	if err != nil {
		nc.Close()
		return nil, err
	}
	e, err := s.conns.Admit(nc)
	if err != nil {
		return nil, err
	}
	c := newConn(s, context.Background(), nc, e)
	c.handler = cfg.Handler(c)
	c.Authenticated()
	if err := s.conns.Add(c, e); err != nil {
		return nil, err // never: the server is ours, and open
	}
	go func() {
		defer s.conns.Remove(c)
		_ = c.serve() // the handler is told
	}()
	return c, nil
}
