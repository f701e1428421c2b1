package tcp

import (
	"context"
	"net"

	"fileserver/internal/slab"
	"fileserver/smb/transport"
)

// NewClient runs the client's end of nc, which it closes when the connection ends. It
// needs cfg's Handler and Buffers; limits of numbers of connections mean nothing, and
// messages may be long from the beginning: who dials trusts the server with memory.
func NewClient(nc net.Conn, cfg Config) (transport.Conn, error) {
	if cfg.MaxMessage == 0 {
		cfg.MaxMessage = slab.MaxSize
	}
	s, err := New(cfg)
	if err != nil {
		nc.Close()
		return nil, err
	}
	c := newConn(s, context.Background(), nc)
	_ = s.add(c) // the first is not one too many
	c.handler = cfg.Handler(c)
	c.Authenticated()
	go func() {
		defer s.remove(c)
		_ = c.serve() // the handler is told
	}()
	return c, nil
}
