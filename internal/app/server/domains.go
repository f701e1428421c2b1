package server

import (
	"errors"
	"maps"
	"slices"
	"sync"

	"fileserver/internal/slab"
	"fileserver/rdma"
)

// domains registers the buffer pool with the devices in use: once for each device, or once for each connection.
type domains struct {
	pool *slab.Pool
	own  bool // each connection has its own registration

	mu sync.Mutex
	of map[rdma.Device]*rdma.Domain
}

// attach returns the memory for a new connection on a device.
func (m *domains) attach(dev rdma.Device) (*rdma.Memory, error) {
	m.mu.Lock()
	d := m.of[dev]
	if d == nil {
		d = rdma.NewDomain(dev, m.pool, m.own)
		if m.of == nil {
			m.of = map[rdma.Device]*rdma.Domain{}
		}
		m.of[dev] = d
	}
	m.mu.Unlock()
	return d.Attach()
}

// any reports whether a device is in use.
func (m *domains) any() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.of) > 0
}

// retire releases the memory of devices that are gone, as soon as the last connection of each has ended.
func (m *domains) retire(gone func(rdma.Device) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for dev, d := range m.of {
		if gone(dev) {
			d.Retire()
			delete(m.of, dev)
		}
	}
}

// report emits the memory registered with each device, bytes.
func (m *domains) report(emit func(float64, ...string)) {
	m.mu.Lock()
	list := slices.Collect(maps.Values(m.of))
	m.mu.Unlock()
	for _, d := range list {
		emit(float64(d.Registered()), d.Device().Name())
	}
}

// close deregisters everything; no connection is left.
func (m *domains) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for dev, d := range m.of {
		errs = append(errs, d.Close())
		delete(m.of, dev)
	}
	return errors.Join(errs...)
}
