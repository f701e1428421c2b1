//go:build linux && cgo && rdmacore

package verbs

import (
	"errors"
	"testing"

	"fileserver/rdma"
)

// TestRegMRRefusals: what no device can register is refused before the device is asked.
func TestRegMRRefusals(t *testing.T) {
	p := &pd{dev: bareDevice(bareProvider(t), "d"), mrs: map[*mr]struct{}{}, gone: true}
	mem := make([]byte, 16)
	for _, c := range []struct {
		mem    []byte
		access rdma.Access
		want   error // nil: any
	}{
		{nil, rdma.AccessLocalWrite, nil},
		{mem, rdma.AccessRemoteAtomic, rdma.ErrUnsupported},
		{mem, rdma.AccessRemoteWrite, nil},
		{mem, rdma.AccessLocalWrite, rdma.ErrDeviceRemoved},
	} {
		if _, err := p.RegMR(c.mem, c.access); err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%d bytes with access %v: %v, want %v", len(c.mem), c.access, err, c.want)
		}
	}
	if len(p.mrs) != 0 {
		t.Error("a refused region is remembered")
	}
}

// TestDomainAfterRemoval: what a user holds of a device that is gone can be given back, once, in any order that the interface allows.
func TestDomainAfterRemoval(t *testing.T) {
	d := bareDevice(bareProvider(t), "d")
	p := &pd{dev: d, mrs: map[*mr]struct{}{}, gone: true}
	d.pds[p] = struct{}{}
	m := &mr{pd: p}
	p.mrs[m], p.qps = struct{}{}, 1
	if err := p.Dealloc(); !errors.Is(err, rdma.ErrBusy) {
		t.Errorf("Dealloc with a region and a queue pair: %v", err)
	}
	if err := m.Deregister(); err != nil {
		t.Error(err)
	}
	if err := m.Deregister(); !errors.Is(err, rdma.ErrClosed) {
		t.Errorf("Deregister again: %v", err)
	}
	if err := p.Dealloc(); !errors.Is(err, rdma.ErrBusy) {
		t.Errorf("Dealloc with a queue pair: %v", err)
	}
	p.qps = 0
	if err := p.Dealloc(); err != nil || len(d.pds) != 0 {
		t.Errorf("Dealloc: %v, %d domains left", err, len(d.pds))
	}
	p.release() // nothing is left to be released
}

// TestDeviceUse: a device that has gone or is closed lends nothing, and says what of it is still in use.
func TestDeviceUse(t *testing.T) {
	p := bareProvider(t)
	d := bareDevice(p, "d")
	id := newID(p, true)
	if err := d.addID(id); err != nil {
		t.Fatal(err)
	}
	if err := d.idle(); !errors.Is(err, rdma.ErrBusy) {
		t.Errorf("in use: %v", err)
	}
	d.removeID(id)
	if err := d.idle(); err != nil {
		t.Error(err)
	}
	d.closed = true
	if err := d.addID(id); !errors.Is(err, rdma.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	d.removed = true
	if _, err := d.AllocPD(); !errors.Is(err, rdma.ErrDeviceRemoved) {
		t.Errorf("removed: %v", err)
	}
	list := []rdma.Device{bareDevice(p, "b"), bareDevice(p, "a")}
	if sortDevices(list); list[0].Name() != "a" {
		t.Error("devices are not in order")
	}
}

// TestBoundID: a device takes one bound ID, and none when it is going.
func TestBoundID(t *testing.T) {
	d := bareDevice(bareProvider(t), "d")
	if d.hasBoundID() || !d.adopt(&boundID{}) || !d.hasBoundID() || d.adopt(&boundID{}) {
		t.Error("not exactly one bound ID")
	}
	gone := bareDevice(d.p, "e")
	gone.removed = true
	if gone.adopt(&boundID{}) || !gone.hasBoundID() {
		t.Error("a device that is gone is bound")
	}
}
