package rdma

import (
	"errors"
	"fmt"
	"sync"

	"fileserver/internal/slab"
)

// Domain gives the connections of one device their memory: a pool, registered
// once for all of them, or for each in a protection domain of its own. It is the
// latter on devices with [Caps].ReadSinkNeedsRemoteWrite, too: there a connection
// has a key open for writing while it reads, which must be of no use to others.
// Its methods are safe for concurrent use.
//
// The regions allow local writing and nothing else. Lock order: mu, then that of [Memory].
type Domain struct {
	dev  Device
	pool *slab.Pool
	own  bool

	mu      sync.Mutex
	shared  *Memory // nil: not made yet, or own
	users   int     // memories given out and not released
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

// Attach returns the memory for one connection more. It is given back with
// [Memory.Release], which an [Endpoint] made with it does at its end. After
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

// Registered is how much memory is registered with the device for the moment, bytes.
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

// Retire gives nobody memory any more, and releases all of it when the last
// connection has ended: for a device that goes away.
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

// Close is Retire where no connection is left; otherwise it fails with [ErrBusy].
func (d *Domain) Close() error {
	d.Retire()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.users > 0 {
		return fmt.Errorf("%w: memory of device %s, by %d connections", ErrBusy, d.dev.Name(), d.users)
	}
	return d.err
}

// settle releases what a retired domain without users has. Called with mu held.
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

// Release gives back the memory of one [Domain.Attach]. With memory that is of no domain it does nothing.
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
