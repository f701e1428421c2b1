package iwarp

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"fileserver/rdma"
)

// Provider implements rdma.Provider. It has one device, which serves every address.
type Provider struct {
	cfg    Config
	policy policy
	dev    *device
	stats  counters

	wg sync.WaitGroup // goroutines of connections

	mu        sync.Mutex
	listeners map[*listener]struct{}
	ids       map[*connID]struct{}
	closed    bool
}

// New makes a provider.
func New(cfg Config) (*Provider, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	p := &Provider{
		cfg:       cfg,
		listeners: make(map[*listener]struct{}),
		ids:       make(map[*connID]struct{}),
		policy: policy{
			crc: cfg.CRC == CRCAlways, p2p: !cfg.NoPeerToPeer, rev: uint8(cfg.MPARevision),
			maxIRD: cfg.MaxIRD, maxORD: cfg.MaxORD,
		},
	}
	p.dev = newDevice(&cfg)
	return p, nil
}

// Name implements rdma.Provider.
func (p *Provider) Name() string { return "iwarp" }

// Devices implements rdma.Provider.
func (p *Provider) Devices() ([]rdma.Device, error) { return []rdma.Device{p.dev}, nil }

// Resolve implements rdma.Provider.
func (p *Provider) Resolve(ctx context.Context, addr netip.AddrPort) (rdma.ID, error) {
	// An unconnected datagram socket tells the route and sends nothing.
	var d net.Dialer
	c, err := d.DialContext(ctx, "udp", addr.String())
	if err != nil {
		return nil, fmt.Errorf("iwarp: no route to %v: %w", addr, err)
	}
	local := netip.AddrPortFrom(addrPort(c.LocalAddr()).Addr(), 0)
	_ = c.Close()
	return p.newID(local, addr)
}

// Close closes the listeners, ends every connection and waits until nothing of
// the provider runs any more.
func (p *Provider) Close() error {
	p.mu.Lock()
	p.closed = true
	ls, ids := make([]*listener, 0, len(p.listeners)), make([]*connID, 0, len(p.ids))
	for l := range p.listeners {
		ls = append(ls, l)
	}
	for id := range p.ids {
		ids = append(ids, id)
	}
	p.mu.Unlock()
	for _, l := range ls {
		_ = l.Close()
	}
	for _, id := range ids {
		_ = id.Disconnect()
	}
	p.wg.Wait()
	return nil
}

// enter counts a goroutine of a connection; false: the provider is closed.
func (p *Provider) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.wg.Add(1)
	}
	return !p.closed
}

func addrPort(a net.Addr) netip.AddrPort {
	switch a := a.(type) {
	case *net.TCPAddr:
		return unmap(a.AddrPort())
	case *net.UDPAddr:
		return unmap(a.AddrPort())
	}
	return netip.AddrPort{}
}

func unmap(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }

// device implements rdma.Device.
type device struct {
	caps rdma.Caps
	keys keyTable
	qpn  atomic.Uint32
}

func newDevice(cfg *Config) *device {
	d := &device{caps: rdma.Caps{
		Transport:  rdma.TransportIWARP,
		MaxSGE:     32,
		MaxSGERead: 1,
		MaxInline:  1024,
		MaxQPWR:    16384,
		MaxIRD:     cfg.MaxIRD,
		MaxORD:     cfg.MaxORD,
		MaxMsgSize: maxMessage,
		// Linux takes 256 bytes with the four of IRD and ORD.
		MaxRequestPrivateData: 252,
		MaxReplyPrivateData:   251,
		InitiatorSpeaksFirst:  true,
		SendInvalidate:        true,
	}}
	d.keys.rng = rand.New(rand.NewChaCha8(seed()))
	return d
}

// Name implements rdma.Device.
func (d *device) Name() string { return "iwarp" }

// Caps implements rdma.Device.
func (d *device) Caps() rdma.Caps { return d.caps }

// AllocPD implements rdma.Device.
func (d *device) AllocPD() (rdma.PD, error) { return &protectionDomain{dev: d}, nil }

// CreateCQ implements rdma.Device.
func (d *device) CreateCQ(depth int) (rdma.CQ, error) {
	if depth < 0 {
		return nil, fmt.Errorf("iwarp: completion queue of depth %d", depth)
	}
	return newCQ(), nil
}

func (d *device) nextQPN() uint32 { return d.qpn.Add(1) }

func seed() (s [32]byte) {
	for i := range s {
		s[i] = byte(rand.Uint32()) // the runtime's generator is seeded by the kernel
	}
	return s
}
