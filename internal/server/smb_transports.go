package server

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"

	"fileserver/rdma"
	"fileserver/smb/tcp"
	"fileserver/smbdirect"
)

// tcpListeners listens on the addresses of a service.
type tcpListeners struct {
	log     *Log
	service string
	addrs   []netip.AddrPort
	wg      sync.WaitGroup
	open    []net.Listener
}

// start serves each listener that can be had on a goroutine of its own.
func (t *tcpListeners) start(ctx context.Context, serve func(net.Listener) error) (addrs []string, failed []error) {
	for _, a := range t.addrs {
		// The family's own network, or "::" would take 0.0.0.0's port as well.
		network := "tcp4"
		if a.Addr().Is6() {
			network = "tcp6"
		}
		l, err := (&net.ListenConfig{}).Listen(ctx, network, a.String())
		if err != nil {
			failed = append(failed, explain(a, err))
			continue
		}
		t.open = append(t.open, l)
		addrs = append(addrs, l.Addr().String())
		t.wg.Go(func() {
			if err := serve(l); err != nil {
				t.log.Error("listener ended", "service", t.service, "transport", "tcp", "addr", l.Addr().String(), "err", err)
			}
		})
	}
	return addrs, failed
}

// smbTCP is SMB over TCP.
type smbTCP struct {
	tcpListeners
	tcp *tcp.Server
}

func (t *smbTCP) listen(ctx context.Context) (addrs []string, failed []error) {
	return t.start(ctx, func(l net.Listener) error {
		if err := t.tcp.Serve(context.Background(), l); !errors.Is(err, tcp.ErrServerClosed) {
			return err
		}
		return nil
	})
}

func (t *smbTCP) shutdown(ctx context.Context) error {
	err := t.tcp.Shutdown(ctx)
	t.wg.Wait()
	return err
}

// rdmaListeners listens on the addresses of a service through a provider.
type rdmaListeners struct {
	log      *Log
	service  string
	provider *provider
	addrs    []netip.AddrPort
	wg       sync.WaitGroup
	cancel   context.CancelFunc
	open     []rdma.Listener
}

func (r *rdmaListeners) start(ctx context.Context, serve func(context.Context, rdma.Listener) error) (addrs []string, failed []error) {
	accept, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	for _, a := range r.addrs {
		l, err := r.provider.Listen(ctx, a)
		if err != nil {
			failed = append(failed, explain(a, err))
			continue
		}
		r.open = append(r.open, l)
		addrs = append(addrs, l.Addr().String())
		r.wg.Go(func() {
			if err := serve(accept, l); err != nil {
				r.log.Error("listener ended", "service", r.service, "transport", r.provider.Name(), "addr", l.Addr(), "err", err)
			}
		})
	}
	return addrs, failed
}

// stop ends accepting.
func (r *rdmaListeners) stop() error {
	var errs []error
	r.cancel()
	for _, l := range r.open {
		errs = append(errs, l.Close())
	}
	r.wg.Wait()
	return errors.Join(errs...)
}

// smbDirect is SMB over RDMA.
type smbDirect struct {
	rdmaListeners
	direct *smbdirect.Server
	served *rdmaAddrs
}

func (d *smbDirect) listen(ctx context.Context) (addrs []string, failed []error) {
	addrs, failed = d.start(ctx, d.direct.Serve)
	for _, l := range d.open {
		d.served.add(l.Addr())
	}
	return addrs, failed
}

func (d *smbDirect) shutdown(ctx context.Context) error {
	return errors.Join(d.stop(), d.direct.Shutdown(ctx))
}

// rdmaAddrs are the addresses that SMB Direct listens on. They are complete before the first client comes.
type rdmaAddrs struct {
	mu   sync.Mutex
	list []netip.Addr
}

func (r *rdmaAddrs) add(a netip.AddrPort) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, a.Addr().Unmap())
}

// has tells whether SMB Direct listens on an address of this machine.
func (r *rdmaAddrs) has(a netip.Addr) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.list {
		if l == a || l.IsUnspecified() && l.Is4() == a.Is4() {
			return true
		}
	}
	return false
}
