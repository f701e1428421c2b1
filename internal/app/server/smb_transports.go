package server

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"

	"fileserver/smb/tcp"
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
