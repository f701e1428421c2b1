//go:build linux && cgo && rdmacore

package verbs

import (
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
)

// boundID is an ID that is bound to a device as long as the device exists, and does
// nothing else. It has two purposes: it gets the removal event when no connection does, and
// it gives access to librdmacm's context of the device, which outlasts all connections
// and would make the driver wait.
type boundID struct {
	dev    atomic.Pointer[device]
	cm     cmID
	number uint64
	once   sync.Once
}

// bindAllLocked creates bound IDs for the devices that have an address and no bound ID
// yet. The lock is refreshing.
func (p *Provider) bindAllLocked() {
	p.mu.Lock()
	var without []*device
	for _, d := range p.devices {
		if !d.hasBoundID() {
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
		if slices.ContainsFunc(without, func(d *device) bool { return !d.hasBoundID() }) {
			p.bindAt(ch, a)
		}
	}
}

// localAddrs returns this machine's addresses.
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

// bindAt creates a bound ID at an address, if the address's device has none.
func (p *Provider) bindAt(ch channel, addr netip.Addr) {
	k := &boundID{}
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

func (d *device) hasBoundID() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.bound != nil || d.usableLocked() != nil
}

func (d *device) adopt(k *boundID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.bound != nil || d.usableLocked() != nil {
		return false
	}
	d.bound = k
	k.dev.Store(d)
	return true
}

// handle implements target.
func (k *boundID) handle(ev cmEvent) {
	if d := k.dev.Load(); d != nil && ev.kind == cmDeviceRemoval {
		d.startRemoval()
	}
}

// release destroys the ID, and closes librdmacm's context of a device that is being removed.
func (k *boundID) release(p *Provider, removed bool) {
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

// cut implements lingerer. It does nothing: device.close has released the ID.
func (k *boundID) cut() {}
