package rdma

import (
	"errors"
	"fmt"
	"sync"

	"fileserver/internal/slab"
)

// Domain gives the connections of one device their memory: a pool, registered
// once for all of them, or for each in a protection domain of its own. Devices with
// [Caps].ReadSinkNeedsRemoteWrite always need the latter: while a connection reads, its
// peer has a key for writing, which must not work on other connections.
// Its methods are safe for concurrent use.
//
// The regions allow local writing and nothing else. Lock order: mu, then that of [Memory].
type Domain struct {
	dev  Device
	pool *slab.Pool
	own  bool

	mu      sync.Mutex
	shared  *Memory // nil: not made yet, or own
	users   int     // memories attached and not released
	retired bool
	err     error
	done    chan struct{} // closed when retired and released
}

// NewDomain makes the domain of a device; own gives each connection a protection
// domain of its own. Nothing is registered before [Domain.Attach].
func NewDomain(dev Device, pool *slab.Pool, own bool) *Domain {
	return &Domain{dev: dev, pool: pool, own: own || dev.Caps().ReadSinkNeedsRemoteWrite, done: make(chan struct{})}
}

// Device is the device.
func (d *Domain) Device() Device { return d.dev }

// Attach returns the memory for another connection. [Memory.Release] ends its use; an
// [Endpoint] calls that at its end. After
// [Domain.Retire] the error is [ErrDeviceRemoved].
func (d *Domain) Attach() (*Memory, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.retired {
		return nil, ErrDeviceRemoved
	}
	m := d.shared
	if m == nil {
		var err error
		if m, err = d.register(); err != nil {
			return nil, err
		}
		m.domain, m.own = d, d.own
		if !d.own {
			d.shared = m
		}
	}
	d.users++
	return m, nil
}

func (d *Domain) register() (*Memory, error) {
	pd, err := d.dev.AllocPD()
	if err != nil {
		return nil, fmt.Errorf("rdma: protection domain of device %s: %w", d.dev.Name(), err)
	}
	m, err := NewMemory(pd, d.pool, AccessLocalWrite)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("rdma: memory of device %s: %w", d.dev.Name(), err), pd.Dealloc())
	}
	return m, nil
}

// Registered returns how many bytes are registered with the device now.
func (d *Domain) Registered() int64 {
	mapped := d.pool.Stats().Mapped
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.shared != nil:
		return mapped
	case d.own && d.dev.Caps().ReadSinkNeedsRemoteWrite:
		return int64(d.users) * (mapped + sinkSlots*sinkChunk)
	case d.own:
		return int64(d.users) * mapped
	}
	return 0
}

// Retire makes Attach fail from now on, and releases all memory when the last
// connection has ended. It is for devices that are being removed.
func (d *Domain) Retire() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.retired {
		d.retired = true
		d.settleLocked()
	}
}

// Done is closed when the domain is retired and everything released.
func (d *Domain) Done() <-chan struct{} { return d.done }

// Close is Retire, and fails with [ErrBusy] while connections use the memory.
func (d *Domain) Close() error {
	d.Retire()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.users > 0 {
		return fmt.Errorf("%w: memory of device %s, by %d connections", ErrBusy, d.dev.Name(), d.users)
	}
	return d.err
}

// settleLocked releases the memory of a retired domain that has no users.
func (d *Domain) settleLocked() {
	if !d.retired || d.users > 0 {
		return
	}
	if m := d.shared; m != nil {
		d.shared = nil
		d.err = errors.Join(m.Close(), m.pd.Dealloc())
	}
	close(d.done)
}

// Release ends the use of memory that [Domain.Attach] returned. It does nothing with other memory.
func (m *Memory) Release() error {
	d := m.domain
	if d == nil {
		return nil
	}
	var err error
	if m.own {
		err = errors.Join(m.Close(), m.pd.Dealloc())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.users--
	d.settleLocked()
	return err
}
