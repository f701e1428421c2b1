package smbdirect

import (
	"context"
	"errors"
	"net/netip"

	"fileserver/rdma"
	"fileserver/smb/transport"
)

// DialConfig is what Dial needs.
type DialConfig struct {
	// Memory is the registered memory for a device.
	Memory func(rdma.Device) (*rdma.Memory, error)
	Params Params
	// Handler returns the handler of the connection's messages. It is called once, after the negotiation, on the
	// connection's goroutine, and must neither block nor send.
	Handler func(*Conn) transport.Handler
}

// Dial connects to an SMB Direct server and negotiates (MS-SMBD 3.1.4.1, 3.1.5.3). ctx
// bounds only the dialling.
func Dial(ctx context.Context, p rdma.Provider, addr netip.AddrPort, cfg DialConfig) (*Conn, error) {
	if cfg.Memory == nil || cfg.Handler == nil {
		return nil, errors.New("smbdirect: dial without memory or handler")
	}
	id, err := p.Resolve(ctx, addr)
	if err != nil {
		return nil, err
	}
	mem, err := cfg.Memory(id.Device())
	if err != nil {
		return nil, errors.Join(err, id.Close())
	}
	c, err := newConn(id, mem, cfg.Params, true, 0, cfg.Handler)
	if err != nil {
		return nil, errors.Join(err, id.Close(), mem.Release())
	}
	gone := make(chan struct{})
	c.ended = func(error) { close(gone) }
	// The server READs from us. We READ nothing from it, but some servers require a depth of one.
	params := rdma.ConnParams{IRD: min(32, id.Device().Caps().MaxIRD), ORD: min(1, id.Device().Caps().MaxORD), RNRRetry: 7}
	params.PrivateData = connectPrivate(id, params)
	if err = id.Connect(ctx, params); err == nil {
		c.start()
		c.mu.Lock()
		c.sendNegotiateLocked(c.m.request().append)
		c.mu.Unlock()
		select {
		case <-c.ready:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	if err == nil {
		c.mu.Lock()
		if c.handler == nil {
			err = c.err
		}
		c.mu.Unlock()
	}
	if err != nil {
		c.Disconnect(err, false)
		<-gone
		return nil, err
	}
	return c, nil
}
