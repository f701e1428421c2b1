package rpcclient

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"syscall"
)

// DialReserved connects to addr ("host:port") like [net.Dialer.DialContext]. Root does so from a reserved port, below 1024, as
// servers want it that believe a client's root and nobody else; without one that is free it takes any.
func DialReserved(ctx context.Context, network, addr string) (net.Conn, error) {
	const lowest, ports = 665, 1024 - 665
	var d net.Dialer
	if os.Geteuid() == 0 {
		from := rand.IntN(ports)
		for i := range 32 {
			d.LocalAddr = &net.TCPAddr{Port: lowest + (from+i)%ports}
			nc, err := d.DialContext(ctx, network, addr)
			if err == nil {
				return nc, nil
			}
			if !errors.Is(err, syscall.EADDRINUSE) && !errors.Is(err, syscall.EADDRNOTAVAIL) && !errors.Is(err, syscall.EACCES) {
				break
			}
		}
		d.LocalAddr = nil
	}
	return d.DialContext(ctx, network, addr)
}
