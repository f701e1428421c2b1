//go:build linux && cgo && rdmacore

package verbs

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"fileserver/rdma"
)

// Bounds of a listener.
const (
	// backlog is how many requests may wait for Accept. The connection manager of
	// the kernel has its own limit for what it has not told us (net.rdma_ucm.max_backlog).
	backlog = 1024
	// rebindEvery is how often a listener whose device has gone tries to get back.
	rebindEvery = 500 * time.Millisecond
)

// listener implements [rdma.Listener].
type listener struct {
	p    *Provider
	addr netip.AddrPort
	stop chan struct{}
	once sync.Once

	mu       sync.Mutex
	parts    []*part
	requests []*id
	closed   bool
	ready    chan struct{} // capacity 1: requests may not be empty
}

// part is a listening ID. A listener has one for an address, two for all addresses.
type part struct {
	l      *listener
	number uint64
	device deviceKey // the device cm is bound to, if any; guarded by Provider.mu

	mu   sync.Mutex // held while binding, so that a removal meanwhile finds the ID
	addr netip.AddrPort
	cm   cmID // zero while its device is gone
}

func (p *Provider) listen(addr netip.AddrPort) (rdma.Listener, error) {
	ch, err := p.channel()
	if err != nil {
		return nil, err
	}
	l := &listener{p: p, stop: make(chan struct{}), ready: make(chan struct{}, 1)}
	ip := addr.Addr().Unmap()
	var also netip.Addr
	if !ip.IsValid() || ip == netip.IPv6Unspecified() {
		ip, also = netip.IPv4Unspecified(), netip.IPv6Unspecified()
	}
	if err := l.bind(ch, netip.AddrPortFrom(ip, addr.Port())); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	l.addr = l.parts[0].addr
	if also.IsValid() {
		err := l.bind(ch, netip.AddrPortFrom(also, l.addr.Port()))
		switch {
		case err == nil:
			l.addr = l.parts[1].addr
		case !errors.Is(err, syscall.EAFNOSUPPORT) && !errors.Is(err, syscall.EADDRNOTAVAIL):
			return nil, errors.Join(err, l.Close())
		}
	}
	return l, nil
}

// bind adds a part. A port of zero becomes one that is free.
func (l *listener) bind(ch channel, addr netip.AddrPort) error {
	t := &part{l: l, addr: addr}
	t.number = l.p.add(t)
	if err := t.bind(ch); err != nil {
		l.p.drop(t.number)
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.parts = append(l.parts, t)
	return nil
}

func (t *part) bind(ch channel) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	cm, err := ch.newID(t.number)
	if err != nil {
		return err
	}
	if err = cm.bind(t.addr); err == nil {
		// librdmacm has opened the device, and keeps it open when the ID is destroyed.
		// The provider must know the device to release it when it is removed.
		_ = t.l.p.deviceOf(cm)
		err = cm.listen(backlog)
	}
	if err == nil && !t.addr.Addr().IsUnspecified() && cm.device() == (deviceKey{}) {
		err = fmt.Errorf("rdma/verbs: no RDMA device has the address %v", t.addr.Addr())
	}
	if err != nil {
		_ = cm.destroy()
		if errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.EADDRNOTAVAIL) {
			err = fmt.Errorf("%w: no RDMA device has this address (rdma link)", err)
		}
		return err
	}
	if t.cm = cm; t.addr.Port() == 0 {
		t.addr = netip.AddrPortFrom(t.addr.Addr(), cm.local().Port())
	}
	t.boundTo(cm.device())
	return nil
}

func (t *part) boundTo(k deviceKey) {
	t.l.p.mu.Lock()
	defer t.l.p.mu.Unlock()
	t.device = k
}

// handle implements target.
func (t *part) handle(ev cmEvent) {
	switch ev.kind {
	case cmConnectRequest:
		t.l.request(ev)
	case cmDeviceRemoval, cmAddrChange:
		t.l.p.wg.Go(func() { t.lost(ev.kind == cmDeviceRemoval) })
	}
}

// lost gives up the ID, which its device waits for, and listens again as soon as
// the address is there again.
func (t *part) lost(removed bool) {
	t.mu.Lock()
	cm := t.cm
	t.cm = cmID{}
	t.boundTo(deviceKey{})
	t.mu.Unlock()
	if !cm.valid() {
		return
	}
	if removed {
		if d := t.l.p.known(cm); d != nil {
			d.startRemoval()
		}
		cm.orphan()
	}
	_ = cm.destroy()
	t.l.p.log.Warn("RDMA listener lost its device", "addr", t.addr)
	for {
		select {
		case <-t.l.stop:
			return
		case <-time.After(rebindEvery):
		}
		if t.bind(t.l.p.ch) == nil {
			t.l.p.log.Info("RDMA listener is back", "addr", t.addr)
			select {
			case <-t.l.stop: // too late
				t.close()
			default:
			}
			return
		}
	}
}

func (t *part) close() {
	t.mu.Lock()
	cm := t.cm
	t.cm = cmID{}
	t.boundTo(deviceKey{})
	t.mu.Unlock()
	if cm.valid() {
		_ = cm.destroy()
	}
}

// request takes a connection request, on the event goroutine.
func (l *listener) request(ev cmEvent) {
	id := newID(l.p, false)
	ev.cm.setHandle(id.number)
	id.cm = ev.cm
	id.params = stated(ev)
	err := id.place()
	l.mu.Lock()
	switch {
	case err != nil:
	case l.closed:
		err = rdma.ErrClosed
	case len(l.requests) >= backlog:
		err = errors.New("too many requests wait")
	default:
		l.requests = append(l.requests, id)
		l.signal()
	}
	l.mu.Unlock()
	if err != nil {
		l.p.log.Warn("connection refused", "remote", ev.cm.remote(), "err", err)
		l.p.wg.Go(func() { _ = id.Close() })
		return
	}
}

func (l *listener) signal() {
	select {
	case l.ready <- struct{}{}:
	default:
	}
}

// next takes the first request whose peer has not gone, if there is one.
func (l *listener) next() (*id, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.requests) > 0 {
		id := l.requests[0]
		l.requests = l.requests[1:]
		if len(l.requests) > 0 {
			l.signal()
		}
		if !id.isEnding() {
			return id, nil
		}
		l.p.wg.Go(func() { _ = id.Close() })
	}
	if l.closed {
		l.signal()
		return nil, rdma.ErrClosed
	}
	return nil, nil
}

// Accept implements [rdma.Listener].
func (l *listener) Accept(ctx context.Context) (rdma.ID, error) {
	for {
		if id, err := l.next(); id != nil {
			return id, nil
		} else if err != nil {
			return nil, err
		}
		select {
		case <-l.ready:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Addr implements [rdma.Listener].
func (l *listener) Addr() netip.AddrPort { return l.addr }

// Close implements [rdma.Listener]. Requests nobody has taken are refused.
func (l *listener) Close() error {
	l.once.Do(func() {
		close(l.stop)
		l.mu.Lock()
		l.closed = true
		rest, parts := l.requests, l.parts
		l.requests = nil
		l.signal()
		l.mu.Unlock()
		for _, t := range parts {
			t.close()
			l.p.drop(t.number)
		}
		for _, id := range rest {
			if id.Reject(nil) != nil {
				_ = id.Close() // the other side has given up already
			}
		}
	})
	return nil
}
