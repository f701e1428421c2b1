package mem

import (
	"context"
	"net/netip"
	"sync"

	"fileserver/rdma"
)

// Listener implements [rdma.Listener].
type Listener struct {
	fabric  *Fabric
	addrs   []netip.AddrPort
	devices map[netip.AddrPort]*Device
	ready   chan struct{} // capacity 1: requests may not be empty, or closed has changed

	mu       sync.Mutex
	requests []*ID
	closed   bool
	lost     int // of addrs, with their devices
}

// lose notes that the device of one of the addresses has been removed.
func (l *Listener) lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost++
	l.signal()
}

// offer queues a connection request, unless the listener is closed.
func (l *Listener) offer(id *ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.requests = append(l.requests, id)
	l.signal()
	return true
}

func (l *Listener) signal() {
	select {
	case l.ready <- struct{}{}:
	default:
	}
}

// Accept implements [rdma.Listener]. When all devices of the listener have been
// removed it fails with [rdma.ErrDeviceRemoved].
func (l *Listener) Accept(ctx context.Context) (rdma.ID, error) {
	for {
		l.mu.Lock()
		if len(l.requests) > 0 {
			id := l.requests[0]
			l.requests = l.requests[1:]
			if len(l.requests) > 0 {
				l.signal()
			}
			l.mu.Unlock()
			return id, nil
		}
		if l.closed {
			l.signal()
			l.mu.Unlock()
			return nil, rdma.ErrClosed
		}
		if l.lost == len(l.addrs) {
			l.signal()
			l.mu.Unlock()
			return nil, rdma.ErrDeviceRemoved
		}
		l.mu.Unlock()
		select {
		case <-l.ready:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Addr implements [rdma.Listener].
func (l *Listener) Addr() netip.AddrPort { return l.addrs[0] }

// Close implements [rdma.Listener]. Requests nobody has taken are refused.
func (l *Listener) Close() error {
	l.fabric.unbind(l)
	l.mu.Lock()
	l.closed = true
	rest := l.requests
	l.requests = nil
	l.signal()
	l.mu.Unlock()
	for _, id := range rest {
		if id.Reject(nil) != nil {
			_ = id.Close() // the other side has given up already
		}
	}
	return nil
}
