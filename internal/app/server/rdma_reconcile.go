package server

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fileserver/config"
	"fileserver/rdma"
	"fileserver/rdma/discover"
)

// reconcile opens and closes listeners until they are those that are wanted now. One goroutine at a time may call it.
func (r *rdmaSide) reconcile(now time.Time) {
	var want []place
	if r.software != nil {
		want = softwarePlaces(r.cfg.Listen, r.services)
	}
	if r.devices != nil {
		t, err := r.scanIfChanged(now)
		r.logChange("", errorText(err), func() { r.log.Warn("the network interfaces cannot be listed", "err", err) })
		r.logDevices(t)
		want = append(want, devicePlaces(r.cfg, t, r.services)...)
	}
	r.mu.Lock()
	open, closing, unwanted := plan(want, r.sites, now)
	for p, s := range r.sites {
		s.absent = 0
		if slices.Contains(unwanted, p) {
			s.absent = r.sites[p].absent + 1
		}
		r.sites[p] = s
	}
	listeners := make([]rdma.Listener, len(closing))
	for i, p := range closing {
		listeners[i] = r.open[p]
		delete(r.sites, p)
		delete(r.open, p)
	}
	r.mu.Unlock()
	for i, p := range closing {
		if listeners[i] == nil {
			continue
		}
		_ = listeners[i].Close() // an error changes nothing: the listener is not used again
		r.log.Info("no longer listening", append(p.attrs(), "reason", "the device, its link or the address is gone")...)
	}
	for _, p := range open {
		r.openPlace(p, now)
	}
	r.retire()
}

// logChange calls write if the text about a thing differs from the last one and is not empty.
func (r *rdmaSide) logChange(thing, text string, write func()) {
	if r.logged[thing] == text {
		return
	}
	if r.logged[thing] = text; text != "" {
		write()
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// logDevices logs a line for each device that was added, changed or removed.
func (r *rdmaSide) logDevices(t *discover.Topology) {
	for i := range t.Devices {
		d := &t.Devices[i]
		var ports []string
		for j := range d.Ports {
			p := &d.Ports[j]
			ports = append(ports, fmt.Sprintf("%d: %s %s %dG on %s", p.Num, p.Transport, p.State, p.Rate/1e9, strings.Join(p.Netdevs, "+")))
		}
		reason := unused(r.cfg, d)
		r.logChange(d.Name, fmt.Sprint(d.Driver, ports, reason), func() {
			args := []any{"device", d.Name, "driver", d.Driver, "ports", ports}
			if reason != "" {
				args = append(args, "unused", reason)
			}
			r.log.Info("rdma device", args...)
		})
	}
	for name, was := range r.logged {
		if name != "" && was != gone && t.Device(name) == nil {
			r.logChange(name, gone, func() { r.log.Warn("an RDMA device is gone", "device", name) })
		}
	}
	for _, name := range r.cfg.RDMA.Devices {
		if name != config.DevicesAuto && name != config.DevicesOff && t.Device(name) == nil {
			r.logChange(name, gone, func() { r.log.Warn("a device of rdma.devices is not there", "device", name) })
		}
	}
}

// gone is the text about a device that does not exist.
const gone = "gone"

// openPlace tries to listen. It logs a failure only if the reason differs from that of the attempt before.
func (r *rdmaSide) openPlace(p place, now time.Time) {
	var provider rdma.Provider = r.devices
	if p.device == softwareDevice {
		provider = r.software
	}
	l, err := provider.Listen(r.ctx, p.addr)
	r.mu.Lock()
	was := r.sites[p]
	if err != nil {
		err = explain(p.service, p.addr, err)
		r.sites[p] = was.failed(err, now)
		r.mu.Unlock()
		if was.err == nil || was.err.Error() != err.Error() {
			r.log.Warn("not listening", append(p.attrs(), "err", err)...)
		}
		return
	}
	r.sites[p] = site{open: true}
	r.open[p] = l
	r.mu.Unlock()
	at := p
	at.addr = l.Addr() // the configured port may be 0
	r.log.Info("listening", at.attrs()...)
	sv := r.service(p.service)
	r.accepting.Go(func() {
		if err := sv.serve(r.ctx, l); err != nil {
			r.ended(p, l, err)
		}
	})
}

func (r *rdmaSide) service(name string) *rdmaService {
	for _, sv := range r.services {
		if sv.name == name {
			return sv
		}
	}
	panic("server: no service " + name)
}

// ended handles the end of a listener that has failed, mostly because its device was removed.
func (r *rdmaSide) ended(p place, l rdma.Listener, err error) {
	_ = l.Close()
	r.mu.Lock()
	mine := r.open[p] == l
	if mine {
		delete(r.open, p)
		r.sites[p] = site{}.failed(err, time.Now())
	}
	r.mu.Unlock()
	if !mine {
		return
	}
	level := r.log.Error
	if errors.Is(err, rdma.ErrDeviceRemoved) {
		level = r.log.Warn
	}
	level("listener ended", append(p.attrs(), "err", err)...)
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// retire releases the memory of devices that are gone.
func (r *rdmaSide) retire() {
	if r.devices == nil || !r.domains.any() {
		return
	}
	list, err := r.devices.Devices()
	if err != nil {
		return
	}
	if r.software != nil {
		soft, _ := r.software.Devices() // it has no error
		list = append(list, soft...)
	}
	r.domains.retire(func(d rdma.Device) bool { return !slices.Contains(list, d) })
}
