//go:build linux && cgo && rdmacore

package verbs

import (
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"

	"fileserver/rdma"
)

// device implements [rdma.Device]: one device, from when it is seen until it goes.
// A device that returns under its name is another one.
type device struct {
	p    *Provider
	ctx  *devContext
	file *os.File // of asynchronous events

	mu      sync.Mutex
	removed bool // gone, or going
	closed  bool // by us
	ids     map[*id]struct{}
	cqs     map[*cq]struct{}
	pds     map[*pd]struct{}
	remains map[*remains]struct{}
	keeper  *keeper
	keeping bool // a keeper is being made
}

func newDevice(p *Provider, c *devContext) *device {
	d := &device{p: p, ctx: c, ids: make(map[*id]struct{}), cqs: make(map[*cq]struct{}), pds: make(map[*pd]struct{}),
		remains: make(map[*remains]struct{})}
	f, err := pollable(c.asyncFD(), c.name)
	if err != nil {
		p.log.Error("asynchronous events", "device", c.name, "err", err)
	}
	d.file = f
	return d
}

func sortDevices(d []rdma.Device) {
	slices.SortFunc(d, func(a, b rdma.Device) int { return strings.Compare(a.Name(), b.Name()) })
}

// Name implements [rdma.Device].
func (d *device) Name() string { return d.ctx.name }

// Caps implements [rdma.Device].
func (d *device) Caps() rdma.Caps { return d.ctx.caps }

// events handles the asynchronous events.
func (d *device) events() {
	if d.file == nil {
		return
	}
	err := onReadable(d.file, func() error {
		kind, handle, err := d.ctx.nextAsync()
		if err != nil {
			return err
		}
		d.event(kind, handle)
		return nil
	})
	if err != nil {
		d.p.log.Warn("asynchronous events", "device", d.ctx.name, "err", err)
	}
}

func (d *device) event(kind int, handle uint64) {
	switch kind {
	case asyncQPFatal, asyncQPReqErr, asyncQPAccessErr, asyncCommEst:
		d.p.mu.Lock()
		id, ok := d.p.targets[handle].(*id)
		d.p.mu.Unlock()
		if ok {
			id.async(kind)
		}
	case asyncDeviceFatal:
		d.p.log.Error("RDMA device failed", "device", d.ctx.name)
		d.p.wg.Go(d.remove)
	case asyncPortActive:
		d.p.log.Info("RDMA port up", "device", d.ctx.name)
	case asyncPortErr:
		d.p.log.Warn("RDMA port down", "device", d.ctx.name)
	case asyncCQErr: // cannot be: queues are never overrun
		d.p.log.Error("RDMA completion queue failed", "device", d.ctx.name)
	}
}

// remove ends all connections of a device that goes away, and releases everything:
// the driver may be waiting for that. What users hold stays valid but does nothing
// any more. It waits until all is done.
func (d *device) remove() {
	d.mu.Lock()
	first := !d.removed
	d.removed = true
	ids, rest := keys(d.ids), keys(d.remains)
	k := d.keeper
	d.keeper = nil
	d.mu.Unlock()
	if !first {
		return
	}
	d.p.log.Warn("RDMA device removed", "device", d.ctx.name, "connections", len(ids))
	d.p.mu.Lock()
	if d.p.devices[d.ctx.key] == d {
		delete(d.p.devices, d.ctx.key)
	}
	d.p.mu.Unlock()
	for _, id := range ids {
		id.end(rdma.Event{Type: rdma.EventDeviceRemoval, Err: rdma.ErrDeviceRemoved}, false)
	}
	for _, id := range ids {
		id.release()
	}
	for _, r := range rest {
		r.cut()
	}
	if k != nil {
		k.release(true)
	}
	d.close()
}

func keys[T comparable](m map[T]struct{}) (out []T) {
	for k := range m {
		out = append(out, k)
	}
	return out
}

// close releases what of the device is left. There are no queue pairs any more.
func (d *device) close() {
	d.mu.Lock()
	first := !d.closed
	d.closed = true
	cqs, pds, k := keys(d.cqs), keys(d.pds), d.keeper
	d.keeper = nil
	d.mu.Unlock()
	if !first {
		return
	}
	if k != nil {
		k.release(false)
	}
	for _, c := range cqs {
		c.release()
	}
	for _, p := range pds {
		p.release()
	}
	if d.file != nil {
		_ = d.file.Close()
	}
	d.ctx.close()
}

// usable fails when no objects may be made any more. Called with mu held.
func (d *device) usable() error {
	switch {
	case d.removed:
		return rdma.ErrDeviceRemoved
	case d.closed:
		return rdma.ErrClosed
	}
	return nil
}

func (d *device) isRemoved() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.removed
}

// idle fails while objects of the device exist.
func (d *device) idle() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := len(d.ids) + len(d.cqs) + len(d.pds); n > 0 {
		return fmt.Errorf("%w: device %s has %d connections, %d completion queues, %d protection domains", rdma.ErrBusy,
			d.ctx.name, len(d.ids), len(d.cqs), len(d.pds))
	}
	return nil
}

// enter adds an ID to the device.
func (d *device) enter(id *id) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.usable(); err != nil {
		return err
	}
	d.ids[id] = struct{}{}
	return nil
}

func (d *device) leave(id *id) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.ids, id)
}

// keeper is an ID that is bound to a device and does nothing, from the first
// connection until the device goes: it is told of the removal when nobody else is,
// and keeps librdmacm's own hold of the device where it can be broken.
type keeper struct {
	dev    *device
	cm     cmID
	number uint64
	once   sync.Once
}

// keep makes sure that the device has a keeper, at the address of one of its connections.
func (d *device) keep(addr netip.Addr) {
	d.mu.Lock()
	need := d.keeper == nil && d.usable() == nil && !d.keeping
	d.keeping = d.keeping || need
	d.mu.Unlock()
	if need {
		d.p.wg.Go(func() { d.newKeeper(addr) })
	}
}

func (d *device) newKeeper(addr netip.Addr) {
	k := &keeper{dev: d}
	k.number = d.p.add(k)
	var err error
	if k.cm, err = d.p.ch.newID(k.number); err == nil {
		err = k.cm.bind(netip.AddrPortFrom(addr, 0))
	}
	if err == nil && k.cm.device() != d.ctx.key {
		err = fmt.Errorf("%v is another device's", addr)
	}
	d.mu.Lock()
	d.keeping = false
	usable := err == nil && d.usable() == nil
	if usable {
		d.keeper = k
	}
	d.mu.Unlock()
	if !usable {
		k.release(d.isRemoved())
	}
	if err != nil {
		d.p.log.Debug("RDMA device is not watched", "device", d.ctx.name, "err", err)
	}
}

func (k *keeper) handle(ev cmEvent) {
	if ev.kind == cmDeviceRemoval {
		k.dev.p.wg.Go(k.dev.remove)
	}
}

// cut implements lingerer.
func (k *keeper) cut() { k.release(false) }

// release destroys the ID, and breaks librdmacm's hold of a device that is going.
func (k *keeper) release(removed bool) {
	k.once.Do(func() {
		k.dev.p.drop(k.number)
		if !k.cm.valid() {
			return
		}
		if removed {
			k.cm.orphan()
		}
		_ = k.cm.destroy()
	})
}
