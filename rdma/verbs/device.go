//go:build linux && cgo && rdmacore

package verbs

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"fileserver/rdma"
)

// device implements [rdma.Device]: one device, from its discovery to its removal. A device
// that returns under its name is another one.
type device struct {
	p    *Provider
	ctx  *devContext
	file *os.File // of asynchronous events

	mu      sync.Mutex
	removed bool // the device has been removed, or is being removed
	closed  bool // by us
	once    bool // remove has been called
	ids     map[*id]struct{}
	cqs     map[*cq]struct{}
	pds     map[*pd]struct{}
	remains map[*remains]struct{}
	bound   *boundID
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
		d.startRemoval()
	case asyncPortActive:
		d.p.log.Info("RDMA port up", "device", d.ctx.name)
	case asyncPortErr:
		d.p.log.Warn("RDMA port down", "device", d.ctx.name)
	case asyncCQErr: // cannot be: queues are never overrun
		d.p.log.Error("RDMA completion queue failed", "device", d.ctx.name)
	}
}

// startRemoval marks the device as removed, so that its connections report the removal as
// the reason for their end, and starts remove.
func (d *device) startRemoval() {
	d.mu.Lock()
	d.removed = true
	d.mu.Unlock()
	d.p.wg.Go(d.remove)
}

// remove ends all connections of a device that is being removed, and releases all its
// objects, because the driver may wait for that. Objects that callers hold stay valid but
// do nothing any more. It returns when everything is released.
func (d *device) remove() {
	d.mu.Lock()
	first := !d.once
	d.once, d.removed = true, true
	ids, rest := keys(d.ids), keys(d.remains)
	k := d.bound
	d.bound = nil
	d.mu.Unlock()
	if !first {
		return
	}
	d.p.log.Warn("RDMA device removed", "device", d.ctx.name, "connections", len(ids))
	d.p.mu.Lock()
	if d.p.devices[d.ctx.key] == d {
		delete(d.p.devices, d.ctx.key)
		d.p.going[d.ctx.key] = time.Now()
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
		k.release(d.p, true)
	}
	d.close()
}

func keys[T comparable](m map[T]struct{}) (out []T) {
	for k := range m {
		out = append(out, k)
	}
	return out
}

// close releases the device's remaining objects. There are no queue pairs any more.
func (d *device) close() {
	d.mu.Lock()
	first := !d.closed
	d.closed = true
	cqs, pds, k := keys(d.cqs), keys(d.pds), d.bound
	d.bound = nil
	d.mu.Unlock()
	if !first {
		return
	}
	if k != nil {
		k.release(d.p, false)
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

// usableLocked fails when no objects may be created any more.
func (d *device) usableLocked() error {
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

// addID adds an ID to the device.
func (d *device) addID(id *id) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.usableLocked(); err != nil {
		return err
	}
	d.ids[id] = struct{}{}
	return nil
}

func (d *device) removeID(id *id) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.ids, id)
}
