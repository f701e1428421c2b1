package rdma_test

import (
	"errors"
	"testing"

	"fileserver/internal/slab"
	"fileserver/rdma"
	"fileserver/rdma/rdmatest/mem"
)

func domain(t *testing.T, caps rdma.Caps, own bool) (*mem.Device, *rdma.Domain, *slab.Pool) {
	t.Helper()
	dev := mem.New(mem.Config{Devices: []mem.DeviceConfig{{Caps: caps}}}).Device(0)
	pool := slab.New(slab.Config{Limit: 4 * slab.ArenaSize})
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return dev, rdma.NewDomain(dev, pool, own), pool
}

func attach(t *testing.T, d *rdma.Domain) *rdma.Memory {
	t.Helper()
	m, err := d.Attach()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestDomain: connections share a protection domain, or have one each, and the peer has a key of neither.
func TestDomain(t *testing.T) {
	for name, tc := range map[string]struct {
		caps        rdma.Caps
		own, shared bool
	}{
		"shared":     {mem.RoCECaps(), false, true},
		"connection": {mem.RoCECaps(), true, false},
		"adapter":    {mem.AdapterCaps(), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, d, pool := domain(t, tc.caps, tc.own)
			b, _ := pool.TryGet(100)
			if n := d.Registered(); n != 0 {
				t.Errorf("%d bytes registered before there is a connection", n)
			}
			one, two := attach(t, d), attach(t, d)
			if (one == two) != tc.shared || (one.PD() == two.PD()) != tc.shared {
				t.Errorf("memory shared: %v", one == two)
			}
			if s, err := one.Segment(b, 0, 1); err != nil || s.RKey != 0 || one.Access() != rdma.AccessLocalWrite {
				t.Errorf("the pool is open to peers: %+v %v", s, err)
			}
			if n := d.Registered(); n < slab.ArenaSize || tc.shared != (n == slab.ArenaSize) {
				t.Errorf("%d bytes registered", n)
			}
			if err := one.Release(); err != nil {
				t.Error(err)
			}
			if err := two.Err(b); err != nil {
				t.Errorf("the other connection lost its memory: %v", err)
			}
			if err := d.Close(); !errors.Is(err, rdma.ErrBusy) {
				t.Errorf("closed while in use: %v", err)
			}
			select {
			case <-d.Done():
				t.Error("done while in use")
			default:
			}
			if _, err := d.Attach(); !errors.Is(err, rdma.ErrDeviceRemoved) {
				t.Errorf("attached to a retired domain: %v", err)
			}
			if err := two.Release(); err != nil {
				t.Error(err)
			}
			<-d.Done()
			if err := d.Close(); err != nil {
				t.Error(err)
			}
			if two.Err(b) == nil {
				t.Error("the memory is still registered")
			}
			b.Release()
		})
	}
}

func TestDomainCannotRegister(t *testing.T) {
	dev, d, pool := domain(t, mem.RoCECaps(), false)
	b, _ := pool.TryGet(1)
	limit := errors.New("memlock")
	dev.Inject(mem.Fault{At: mem.AtRegister, Err: limit})
	if _, err := d.Attach(); !errors.Is(err, limit) {
		t.Errorf("error %v", err)
	}
	m := attach(t, d) // the next may fare better
	b.Release()
	if err := errors.Join(m.Release(), d.Close()); err != nil {
		t.Error(err)
	}
}
