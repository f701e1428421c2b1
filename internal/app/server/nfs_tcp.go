package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"

	"golang.org/x/sys/unix"

	"fileserver/nfs/rpc"
)

// tcpService is ONC RPC over TCP.
type tcpService struct {
	log   *Log
	addrs []netip.AddrPort
	rpc   *rpc.TCPServer
	wg    sync.WaitGroup
}

func (t *tcpService) listen(ctx context.Context) (addrs []string, failed []error) {
	for _, a := range t.addrs {
		// The family's own network, or "::" would take 0.0.0.0's port as well.
		network := "tcp4"
		if a.Addr().Is6() {
			network = "tcp6"
		}
		l, err := (&net.ListenConfig{}).Listen(ctx, network, a.String())
		if err != nil {
			failed = append(failed, explain("nfs", a, err))
			continue
		}
		addrs = append(addrs, l.Addr().String())
		t.wg.Go(func() {
			if err := t.rpc.Serve(context.Background(), l); !errors.Is(err, rpc.ErrServerClosed) {
				t.log.Error("listener ended", "service", "nfs", "transport", "tcp", "addr", l.Addr().String(), "err", err)
			}
		})
	}
	return addrs, failed
}

func (t *tcpService) shutdown(ctx context.Context) error {
	err := t.rpc.Shutdown(ctx)
	t.wg.Wait()
	return err
}

// explain says what to do about an address that a service cannot listen on.
func explain(service string, a netip.AddrPort, err error) error {
	var hint string
	switch {
	case errors.Is(err, unix.EADDRINUSE):
		hint = fmt.Sprintf("another program listens there; stop it, or set %s.port or %s.rdma_port", service, service)
	case errors.Is(err, unix.EADDRNOTAVAIL), errors.Is(err, unix.EAFNOSUPPORT):
		hint = "this machine has no such address; see ip addr"
	case errors.Is(err, unix.EACCES):
		hint = fmt.Sprintf("this user may not take the port; set %s.port and %s.rdma_port above 1023", service, service)
	default:
		return fmt.Errorf("%s: %w", a, err)
	}
	return fmt.Errorf("%s: %w: %s", a, err, hint)
}
