//go:build linux && cgo && rdmacore

package verbs

import (
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
)

// keeper is an ID that is bound to a device and does nothing, as long as the device
// is there: it is told of the removal when nobody else is, and it keeps hold of
// librdmacm's own use of the device, which outlasts all connections and would keep
// the driver from going.
type keeper struct {
	dev    atomic.Pointer[device]
	cm     cmID
	number uint64
	once   sync.Once
}

// keepAll makes keepers for the devices that have none yet, as soon as they have an
// address. Called with refreshing held.
func (p *Provider) keepAll() {
	p.mu.Lock()
	var without []*device
	for _, d := range p.devices {
		if !d.kept() {
			without = append(without, d)
		}
	}
	p.mu.Unlock()
	if len(without) == 0 {
		return
	}
	addrs := localAddrs()
	if slices.Equal(addrs, p.tried) && !p.fresh {
		return
	}
	p.tried, p.fresh = addrs, false
	ch, err := p.channel()
	if err != nil {
		return
	}
	for _, a := range addrs {
		if slices.ContainsFunc(without, func(d *device) bool { return !d.kept() }) {
			p.keep(ch, a)
		}
	}
}

// localAddrs are this machine's addresses.
func localAddrs() (out []netip.Addr) {
	ifs, _ := net.Interfaces()
	for _, i := range ifs {
		if i.Flags&net.FlagLoopback != 0 || i.Flags&net.FlagUp == 0 {
			continue
		}
		addrs, _ := i.Addrs()
		for _, a := range addrs {
			n, ok := a.(*net.IPNet)
			if !ok {
				continue
			}
			ip, ok := netip.AddrFromSlice(n.IP)
			if ip = ip.Unmap(); ip.Is6() && ip.IsLinkLocalUnicast() {
				ip = ip.WithZone(i.Name)
			}
			if ok {
				out = append(out, ip)
			}
		}
	}
	return out
}

// keep makes a keeper at an address, if its device has none.
func (p *Provider) keep(ch channel, addr netip.Addr) {
	k := &keeper{}
	k.number = p.add(k)
	var err error
	if k.cm, err = ch.newID(k.number); err == nil {
		err = k.cm.bind(netip.AddrPortFrom(addr, 0))
	}
	if err == nil {
		p.mu.Lock()
		d := p.devices[k.cm.device()]
		p.mu.Unlock()
		if d != nil && d.adopt(k) {
			return
		}
	}
	k.release(p, false)
}

func (d *device) kept() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.keeper != nil || d.usable() != nil
}

func (d *device) adopt(k *keeper) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.keeper != nil || d.usable() != nil {
		return false
	}
	d.keeper = k
	k.dev.Store(d)
	return true
}

// handle implements target.
func (k *keeper) handle(ev cmEvent) {
	if d := k.dev.Load(); d != nil && ev.kind == cmDeviceRemoval {
		d.leaves()
	}
}

// release destroys the ID, and breaks librdmacm's hold of a device that is going.
func (k *keeper) release(p *Provider, removed bool) {
	k.once.Do(func() {
		p.drop(k.number)
		if !k.cm.valid() {
			return
		}
		if removed {
			k.cm.orphan()
		}
		_ = k.cm.destroy()
	})
}

// cut implements lingerer; the device has done it.
func (k *keeper) cut() {}
