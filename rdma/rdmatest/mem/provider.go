package mem

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"fileserver/rdma"
)

// Config describes a provider.
type Config struct {
	Fabric  *Fabric        // nil: one of its own
	Devices []DeviceConfig // none: one with DefaultCaps
	// LateEstablished delays the accepting side's [rdma.EventEstablished] until
	// after the first message has completed a receive, as some drivers do.
	LateEstablished bool
	// StrictKeys refuses to register memory for remote access while another
	// region with remote access overlaps it: a window opened again before its key
	// has been invalidated.
	StrictKeys bool
	// StrictReads ends a connection whose user posts more READs than the
	// negotiated ORD, instead of holding them back.
	StrictReads bool
}

// DeviceConfig describes a device.
type DeviceConfig struct {
	Name string     // "": mem0, mem1 …
	Addr netip.Addr // zero: the fabric's next
	Caps rdma.Caps  // zero: DefaultCaps
}

// Provider implements [rdma.Provider].
type Provider struct {
	cfg    Config
	fabric *Fabric

	mu      sync.Mutex
	devices []*Device
}

// New makes a provider. Abilities that the package lacks are taken out of the
// devices' Caps: immediate data, atomics, memory windows, datagrams, shared
// receive queues.
func New(cfg Config) *Provider {
	p := &Provider{cfg: cfg, fabric: cfg.Fabric}
	if p.fabric == nil {
		p.fabric = NewFabric()
	}
	if len(cfg.Devices) == 0 {
		cfg.Devices = []DeviceConfig{{}}
	}
	for _, d := range cfg.Devices {
		p.Add(d)
	}
	return p
}

// Add plugs a device in.
func (p *Provider) Add(d DeviceConfig) *Device {
	if !d.Addr.IsValid() {
		d.Addr = p.fabric.host()
	}
	if d.Caps == (rdma.Caps{}) {
		d.Caps = DefaultCaps()
	}
	d.Caps.Immediate, d.Caps.Atomics, d.Caps.MemoryWindows = false, false, false
	d.Caps.Datagrams, d.Caps.SRQ = false, false
	p.mu.Lock()
	defer p.mu.Unlock()
	if d.Name == "" {
		d.Name = fmt.Sprintf("mem%d", len(p.devices))
	}
	dev := newDevice(p, d)
	p.devices = append(p.devices, dev)
	return dev
}

// all are the devices, removed ones included.
func (p *Provider) all() []*Device {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.devices)
}

// Name implements [rdma.Provider].
func (p *Provider) Name() string { return "mem" }

// Fabric is the fabric the devices are on.
func (p *Provider) Fabric() *Fabric { return p.fabric }

// Device is the i-th device, in the order of their coming.
func (p *Provider) Device(i int) *Device { return p.all()[i] }

// Devices implements [rdma.Provider]. Removed devices are not listed.
func (p *Provider) Devices() ([]rdma.Device, error) {
	var out []rdma.Device
	for _, d := range p.all() {
		if !d.isRemoved() {
			out = append(out, d)
		}
	}
	return out, nil
}

// Listen implements [rdma.Provider]. An unspecified or invalid address listens on
// all devices.
func (p *Provider) Listen(_ context.Context, addr netip.AddrPort) (rdma.Listener, error) {
	l := &Listener{fabric: p.fabric, devices: make(map[netip.AddrPort]*Device), ready: make(chan struct{}, 1)}
	port := addr.Port()
	if port == 0 {
		port = p.fabric.ephemeral()
	}
	for _, d := range p.all() {
		if !d.isRemoved() && (!addr.Addr().IsValid() || addr.Addr().IsUnspecified() || addr.Addr() == d.addr) {
			a := netip.AddrPortFrom(d.addr, port)
			l.addrs = append(l.addrs, a)
			l.devices[a] = d
		}
	}
	if len(l.addrs) == 0 {
		return nil, fmt.Errorf("mem: %v: no device has this address", addr)
	}
	if err := p.fabric.bind(l); err != nil {
		return nil, err
	}
	return l, nil
}

// Resolve implements [rdma.Provider]; the connection leaves from the first device.
func (p *Provider) Resolve(_ context.Context, addr netip.AddrPort) (rdma.ID, error) {
	return p.Device(0).Resolve(addr)
}

// Resolve prepares a connection from this device.
func (d *Device) Resolve(addr netip.AddrPort) (rdma.ID, error) {
	if d.isRemoved() {
		return nil, rdma.ErrDeviceRemoved
	}
	local := netip.AddrPortFrom(d.addr, d.provider.fabric.ephemeral())
	return newID(d, &link{}, local, addr, true), nil
}
