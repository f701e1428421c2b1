package iwarp

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"time"
)

// CRCMode says when CRC32C protects a connection.
type CRCMode uint8

// CRC modes. A peer that asks for CRC gets it in both.
const (
	CRCIfAsked CRCMode = iota
	CRCAlways
)

// Config is the configuration of a provider. The zero value is fit for use.
type Config struct {
	Log *slog.Logger // nil: discard
	CRC CRCMode
	// Dial makes the TCP connections of connecting IDs, *net.TCPConn, as [net.Dialer.DialContext] does; nil: that, from any port.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// MPARevision is what a connecting ID speaks, 1 or 2; 0: 2. Accepting IDs speak both.
	MPARevision int
	// NoPeerToPeer makes connecting IDs offer no ready-to-receive frame, as Linux
	// siw does. Adapters refuse such peers.
	NoPeerToPeer bool
	// MaxFPDU is the largest FPDU sent, bytes, 128 to 65544. 0 decides for
	// each connection: one TCP segment, unless the peer is known to take more.
	MaxFPDU int
	// MaxIRD and MaxORD bound the READs answered and issued at once, per connection; 0: 128.
	MaxIRD, MaxORD int

	// RequestTimeout is how long a peer may take for its MPA request; 0: 5 s.
	RequestTimeout time.Duration
	// ReplyTimeout is how long a connecting ID waits for the reply; 0: 10 s.
	ReplyTimeout time.Duration
	// RTRRepeatAfter is how long a connecting ID waits for the peer's first FPDU after its
	// own before it sends another, of no bytes, for the sake of Linux siw, which may
	// miss what comes just behind its reply; 0: 20 ms; less: never.
	RTRRepeatAfter time.Duration
	// StallTimeout is how long TCP may make no progress while there is something
	// to send, or to be acknowledged; 0: 30 s.
	StallTimeout time.Duration
	// CloseTimeout bounds the orderly end of a connection; 0: 5 s.
	CloseTimeout time.Duration
	// KeepAlive is the idle time before TCP probes the peer; 0: 30 s.
	KeepAlive time.Duration

	// Admits reports whether connections from an address are taken; nil: all are.
	Admits func(netip.Addr) bool
	// MaxHalfOpen bounds the connections that have not sent their MPA request, per listener; 0: 256.
	// When all are taken the client that has most loses one to a newcomer.
	MaxHalfOpen int
	// Backlog bounds the requests that wait for [rdma.Listener.Accept], per listener; 0: 256.
	Backlog int
}

// ListenConfig is what [Provider.ListenShared] adds to a listener.
type ListenConfig struct {
	// Plain is given, in a goroutine of its own, each connection that does not
	// begin like an MPA request; nothing has been read from it.
	Plain func(net.Conn)
}

const defaultDepth = 128

func (c Config) withDefaults() (Config, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	orInt := func(p *int, d int) {
		if *p == 0 {
			*p = d
		}
	}
	or := func(p *time.Duration, d time.Duration) {
		if *p == 0 {
			*p = d
		}
	}
	if c.Dial == nil {
		c.Dial = new(net.Dialer).DialContext
	}
	orInt(&c.MPARevision, mpaRevision)
	orInt(&c.MaxIRD, defaultDepth)
	orInt(&c.MaxORD, defaultDepth)
	orInt(&c.MaxHalfOpen, 256)
	orInt(&c.Backlog, 256)
	or(&c.RequestTimeout, 5*time.Second)
	or(&c.ReplyTimeout, 10*time.Second)
	or(&c.RTRRepeatAfter, 20*time.Millisecond)
	or(&c.StallTimeout, 30*time.Second)
	or(&c.CloseTimeout, 5*time.Second)
	or(&c.KeepAlive, 30*time.Second)
	switch {
	case c.MPARevision < 1 || c.MPARevision > mpaRevision:
		return c, fmt.Errorf("iwarp: MPA revision %d: must be 1 or 2", c.MPARevision)
	case c.MaxFPDU != 0 && (c.MaxFPDU < minFPDU || c.MaxFPDU > maxFPDU):
		return c, fmt.Errorf("iwarp: FPDU size %d: must be %d to %d bytes", c.MaxFPDU, minFPDU, maxFPDU)
	case c.MaxIRD < 0 || c.MaxIRD >= mpaDepth || c.MaxORD < 0 || c.MaxORD >= mpaDepth:
		return c, fmt.Errorf("iwarp: READ depths %d and %d: must be below %d", c.MaxIRD, c.MaxORD, mpaDepth)
	case c.MaxHalfOpen < 0 || c.Backlog < 0:
		return c, fmt.Errorf("iwarp: negative limit on connections")
	}
	return c, nil
}
