package tcp

import (
	"context"
	"net"

	"fileserver/internal/connlimit"
	"fileserver/internal/slab"
	"fileserver/smb/transport"
)

// NewClient runs the client's end of nc, and closes nc when the connection ends. It needs cfg's Handler and Buffers, and
// ignores Limits. Messages may be long from the beginning, because a client trusts the server that it dials.
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
		return nil, err // cannot happen: this server is new and open
	}
	go func() {
		defer s.conns.Remove(c)
		_ = c.serve() // the handler gets the error
	}()
	return c, nil
}
