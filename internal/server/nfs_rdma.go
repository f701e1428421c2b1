package server

import (
	"context"
	"errors"
	"net/netip"
	"sync"

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
