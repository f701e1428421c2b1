package server

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"fileserver/internal/slab"
	"fileserver/nfsrdma"
	"fileserver/rdma"
)

// rdmaService is ONC RPC over one RDMA provider.
type rdmaService struct {
	log      *Log
	provider *provider
	addrs    []netip.AddrPort
	rpc      *nfsrdma.Server

	cancel    context.CancelFunc // ends accepting
	listeners []rdma.Listener
	wg        sync.WaitGroup
}

func (r *rdmaService) listen(ctx context.Context) (addrs []string, failed []error) {
	accept, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	for _, a := range r.addrs {
		l, err := r.provider.Listen(ctx, a)
		if err != nil {
			failed = append(failed, explain(a, err))
			continue
		}
		r.listeners = append(r.listeners, l)
		addrs = append(addrs, l.Addr().String())
		r.wg.Go(func() {
			if err := r.rpc.Serve(accept, l); err != nil {
				r.log.Error("listener ended", "service", "nfs", "transport", r.provider.Name(), "addr", l.Addr(), "err", err)
			}
		})
	}
	return addrs, failed
}

func (r *rdmaService) shutdown(ctx context.Context) error {
	var errs []error
	r.cancel()
	for _, l := range r.listeners {
		errs = append(errs, l.Close())
	}
	r.wg.Wait()
	errs = append(errs, r.rpc.Shutdown(ctx))
	return errors.Join(errs...)
}

// memories registers the buffer pool once with each device in use.
type memories struct {
	pool *slab.Pool

	mu sync.Mutex
	of map[rdma.Device]*rdma.Memory
}

// get is the pool's memory as registered with the device.
func (m *memories) get(d rdma.Device) (*rdma.Memory, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if mem := m.of[d]; mem != nil {
		return mem, nil
	}
	pd, err := d.AllocPD()
	if err != nil {
		return nil, fmt.Errorf("device %s: protection domain: %w", d.Name(), err)
	}
	access := rdma.AccessLocalWrite
	if d.Caps().ReadSinkNeedsRemoteWrite {
		access |= rdma.AccessRemoteWrite
	}
	mem, err := rdma.NewMemory(pd, m.pool, access)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("device %s: registering memory: %w", d.Name(), err), pd.Dealloc())
	}
	if m.of == nil {
		m.of = map[rdma.Device]*rdma.Memory{}
	}
	m.of[d] = mem
	return mem, nil
}

// report emits the memory registered with each device, bytes.
func (m *memories) report(emit func(float64, ...string)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for d := range m.of {
		emit(float64(m.pool.Stats().Mapped), d.Name())
	}
}

// close deregisters everything; no connection is left.
func (m *memories) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for d, mem := range m.of {
		errs = append(errs, mem.Close(), mem.PD().Dealloc())
		delete(m.of, d)
	}
	return errors.Join(errs...)
}
