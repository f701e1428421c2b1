package mem

import (
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"

	"fileserver/rdma"
)

// Device implements [rdma.Device].
type Device struct {
	provider *Provider
	name     string
	addr     netip.Addr
	caps     rdma.Caps
	faults   faults
	nextQP   atomic.Uint32

	mu      sync.Mutex // guards what follows, and the use counts of PDs and MRs
	idle    sync.Cond  // some MR's last user has left
	mrs     map[uint32]*MR
	index   uint32 // last key's index
	vaddr   uint64 // last address given out
	ids     map[*ID]struct{}
	removed bool
	holding bool // READs are held back
}

func newDevice(p *Provider, c DeviceConfig) *Device {
	d := &Device{
		provider: p, name: c.Name, addr: c.Addr, caps: c.Caps,
		mrs: make(map[uint32]*MR), ids: make(map[*ID]struct{}), vaddr: 0x7e00_0000_0000,
	}
	d.idle.L = &d.mu
	return d
}

// Name implements [rdma.Device].
func (d *Device) Name() string { return d.name }

// Addr is the device's address on the fabric.
func (d *Device) Addr() netip.Addr { return d.addr }

// Caps implements [rdma.Device].
func (d *Device) Caps() rdma.Caps { return d.caps }

// AllocPD implements [rdma.Device].
func (d *Device) AllocPD() (rdma.PD, error) {
	if d.isRemoved() {
		return nil, rdma.ErrDeviceRemoved
	}
	return &PD{dev: d}, nil
}

func (d *Device) isRemoved() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.removed
}

// PD implements [rdma.PD].
type PD struct {
	dev  *Device
	uses int // regions and queue pairs
}

// MR implements [rdma.MR].
type MR struct {
	pd      *PD
	mem     []byte
	addr    uint64
	key     uint32
	access  rdma.Access
	users   int  // requests that are copying
	revoked bool // for remote access: a peer has invalidated the key
	gone    bool
}

const remoteAccess = rdma.AccessRemoteRead | rdma.AccessRemoteWrite | rdma.AccessRemoteAtomic

// RegMR implements [rdma.PD].
func (pd *PD) RegMR(mem []byte, access rdma.Access) (rdma.MR, error) {
	d := pd.dev
	if f := d.faults.take(AtRegister, 0); f != nil && f.Err != nil {
		return nil, f.Err
	}
	switch {
	case len(mem) == 0:
		return nil, fmt.Errorf("mem: registering no memory")
	case access&rdma.AccessRemoteAtomic != 0:
		return nil, fmt.Errorf("%w: remote atomics", rdma.ErrUnsupported)
	case access&rdma.AccessRemoteWrite != 0 && access&rdma.AccessLocalWrite == 0:
		return nil, fmt.Errorf("mem: remote writing needs local writing")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.removed {
		return nil, rdma.ErrDeviceRemoved
	}
	if d.provider.cfg.StrictKeys && access&remoteAccess != 0 {
		for _, o := range d.mrs {
			if o.access&remoteAccess != 0 && !o.revoked && overlap(o.mem, mem) {
				return nil, fmt.Errorf("%w: key 0x%x of the same memory is still valid", rdma.ErrBusy, o.key)
			}
		}
	}
	d.index++
	mr := &MR{pd: pd, mem: mem[:len(mem):len(mem)], access: access, key: d.index<<8 | d.index*37&0xff}
	// Regions lie apart, so that no overrun of one reaches the next, and keep
	// their alignment within a page.
	mr.addr = d.vaddr
	d.vaddr += uint64(len(mem)+0xffff)&^0xffff + 1<<20
	d.mrs[mr.key] = mr
	pd.uses++
	return mr, nil
}

// overlap reports whether two slices share a byte.
func overlap(a, b []byte) bool {
	within := func(p *byte, s []byte) bool {
		// Only equality of element addresses is asked: &s[i] == p for some i.
		lo, hi := address(&s[0]), address(&s[len(s)-1])
		return address(p) >= lo && address(p) <= hi
	}
	return within(&a[0], b) || within(&b[0], a)
}

// Dealloc implements [rdma.PD].
func (pd *PD) Dealloc() error {
	pd.dev.mu.Lock()
	defer pd.dev.mu.Unlock()
	if pd.uses > 0 {
		return fmt.Errorf("%w: protection domain with %d regions and queue pairs", rdma.ErrBusy, pd.uses)
	}
	return nil
}

// Bytes implements [rdma.MR].
func (m *MR) Bytes() []byte { return m.mem }

// Addr implements [rdma.MR]. It is no address of the process.
func (m *MR) Addr() uint64 { return m.addr }

// LKey implements [rdma.MR].
func (m *MR) LKey() uint32 { return m.key }

// RKey implements [rdma.MR].
func (m *MR) RKey() uint32 {
	if m.access&remoteAccess == 0 {
		return 0
	}
	return m.key
}

// Valid reports whether the key opens the region to a peer.
func (m *MR) Valid() bool {
	m.pd.dev.mu.Lock()
	defer m.pd.dev.mu.Unlock()
	return !m.gone && !m.revoked && m.access&remoteAccess != 0
}

// Deregister implements [rdma.MR]. A peer's request that is being executed is
// waited for; afterwards none reaches the memory.
func (m *MR) Deregister() error {
	d := m.pd.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	if m.gone {
		return rdma.ErrClosed
	}
	m.gone = true
	delete(d.mrs, m.key)
	m.pd.uses--
	for m.users > 0 {
		d.idle.Wait()
	}
	return nil
}

// acquire finds the memory a key names, and keeps it from being deregistered
// until release. need holds remote flags for a peer's access, AccessLocalWrite or
// none for ours. The reason is for logs.
func (d *Device) acquire(pd *PD, key uint32, addr uint64, n uint32, need rdma.Access) (*MR, []byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := d.mrs[key]
	remote := need&remoteAccess != 0
	switch {
	case m == nil || remote && (m.revoked || m.access&remoteAccess == 0):
		return nil, nil, fmt.Errorf("mem: unknown key 0x%x", key)
	case m.pd != pd:
		return nil, nil, fmt.Errorf("mem: key 0x%x is of another protection domain", key)
	case m.access&need != need:
		return nil, nil, fmt.Errorf("mem: key 0x%x does not allow the access", key)
	case addr < m.addr || addr-m.addr > uint64(len(m.mem)) || uint64(n) > uint64(len(m.mem))-(addr-m.addr):
		return nil, nil, fmt.Errorf("mem: key 0x%x: 0x%x+%d is out of bounds", key, addr, n)
	}
	m.users++
	off := addr - m.addr
	return m, m.mem[off : off+uint64(n)], nil
}

func (d *Device) release(m *MR) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if m.users--; m.users == 0 && m.gone {
		d.idle.Broadcast()
	}
}

// invalidate revokes a key at a peer's request.
func (d *Device) invalidate(pd *PD, key uint32) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := d.mrs[key]
	if m == nil || m.revoked || m.access&remoteAccess == 0 || m.pd != pd {
		return fmt.Errorf("mem: cannot invalidate key 0x%x", key)
	}
	m.revoked = true
	return nil
}
