package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"

	"golang.org/x/sys/unix"
)

// tcpListeners are the listeners of a service, one for each address.
type tcpListeners struct {
	log     *Log
	service string
	addrs   []netip.AddrPort
	wg      sync.WaitGroup
	open    []net.Listener
}

// start opens the listeners, and serves each in its own goroutine.
func (t *tcpListeners) start(ctx context.Context, serve func(net.Listener) error) (addrs []string, failed []error) {
	for _, a := range t.addrs {
		// With the network "tcp", a listener on "::" would also take the port on 0.0.0.0.
		network := "tcp4"
		if a.Addr().Is6() {
			network = "tcp6"
		}
		l, err := (&net.ListenConfig{}).Listen(ctx, network, a.String())
		if err != nil {
			failed = append(failed, explain(t.service, a, err))
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

// tcpServer serves a protocol over TCP.
type tcpServer interface {
	Serve(context.Context, net.Listener) error
	Shutdown(context.Context) error
}

// tcpService is a protocol over TCP.
type tcpService struct {
	tcpListeners
	closed error // what Serve returns after Shutdown
	server tcpServer
}

func (t *tcpService) listen(ctx context.Context) (addrs []string, failed []error) {
	return t.start(ctx, func(l net.Listener) error {
		if err := t.server.Serve(context.Background(), l); !errors.Is(err, t.closed) {
			return err
		}
		return nil
	})
}

func (t *tcpService) shutdown(ctx context.Context) error {
	err := t.server.Shutdown(ctx)
	t.wg.Wait()
	return err
}

// explain adds to an error of listening what the operator can do.
func explain(service string, a netip.AddrPort, err error) error {
	var hint string
	switch {
	case errors.Is(err, unix.EADDRINUSE):
		hint = fmt.Sprintf("another program listens there; stop it, or set %s.port or %s.rdma_port", service, service)
	case errors.Is(err, unix.EADDRNOTAVAIL), errors.Is(err, unix.EAFNOSUPPORT):
		hint = "this machine has no such address; see ip addr"
	case errors.Is(err, unix.EACCES):
		hint = fmt.Sprintf("this user may not open the port; set %s.port and %s.rdma_port above 1023", service, service)
	default:
		return fmt.Errorf("%s: %w", a, err)
	}
	return fmt.Errorf("%s: %w: %s", a, err, hint)
}
