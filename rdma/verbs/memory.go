//go:build linux && cgo && rdmacore

package verbs

import (
	"errors"
	"fmt"
	"sync"

	"fileserver/rdma"
)

// pd implements [rdma.PD].
type pd struct {
	dev *device

	mu   sync.Mutex
	h    pdHandle
	gone bool // deallocated, or the device is removed
	qps  int
	mrs  map[*mr]struct{}
}

// AllocPD implements [rdma.Device].
func (d *device) AllocPD() (rdma.PD, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.usableLocked(); err != nil {
		return nil, err
	}
	h, err := d.ctx.allocPD()
	if err != nil {
		return nil, err
	}
	p := &pd{dev: d, h: h, mrs: make(map[*mr]struct{})}
	d.pds[p] = struct{}{}
	return p, nil
}

// Dealloc implements [rdma.PD].
func (p *pd) Dealloc() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.qps > 0 || len(p.mrs) > 0 {
		return fmt.Errorf("%w: protection domain with %d queue pairs and %d regions", rdma.ErrBusy, p.qps, len(p.mrs))
	}
	p.dev.mu.Lock()
	delete(p.dev.pds, p)
	p.dev.mu.Unlock()
	if p.gone {
		return nil
	}
	p.gone = true
	return p.h.dealloc()
}

// release releases the domain and its regions when the device is being removed.
func (p *pd) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return
	}
	p.gone = true
	for m := range p.mrs {
		_ = m.h.deregister()
	}
	_ = p.h.dealloc()
}

// mr implements [rdma.MR].
type mr struct {
	pd         *pd
	h          mrHandle
	mem        []byte
	addr       uint64
	lkey, rkey uint32
}

const remoteAccess = rdma.AccessRemoteRead | rdma.AccessRemoteWrite

// RegMR implements [rdma.PD].
func (p *pd) RegMR(mem []byte, access rdma.Access) (rdma.MR, error) {
	switch {
	case len(mem) == 0:
		return nil, errors.New("rdma/verbs: registering no memory")
	case access&rdma.AccessRemoteAtomic != 0:
		return nil, fmt.Errorf("%w: remote atomics", rdma.ErrUnsupported)
	case access&rdma.AccessRemoteWrite != 0 && access&rdma.AccessLocalWrite == 0:
		return nil, errors.New("rdma/verbs: remote writing needs local writing")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return nil, rdma.ErrDeviceRemoved
	}
	h, err := p.h.register(mem, access)
	if err != nil {
		return nil, err
	}
	m := &mr{pd: p, h: h, mem: mem[:len(mem):len(mem)], addr: address(mem), lkey: h.lkey()}
	if access&remoteAccess != 0 {
		m.rkey = h.rkey()
	}
	p.mrs[m] = struct{}{}
	return m, nil
}

// Bytes implements [rdma.MR].
func (m *mr) Bytes() []byte { return m.mem }

// Addr implements [rdma.MR].
func (m *mr) Addr() uint64 { return m.addr }

// LKey implements [rdma.MR].
func (m *mr) LKey() uint32 { return m.lkey }

// RKey implements [rdma.MR].
func (m *mr) RKey() uint32 { return m.rkey }

// Deregister implements [rdma.MR].
func (m *mr) Deregister() error {
	m.pd.mu.Lock()
	defer m.pd.mu.Unlock()
	if _, ok := m.pd.mrs[m]; !ok {
		return rdma.ErrClosed
	}
	if !m.pd.gone {
		if err := m.h.deregister(); err != nil {
			return err
		}
	}
	delete(m.pd.mrs, m)
	return nil
}
