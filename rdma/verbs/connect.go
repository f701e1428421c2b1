//go:build linux && cgo && rdmacore

package verbs

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"syscall"

	"fileserver/rdma"
)

// resolveTime bounds the resolution of an address, and of a route, in milliseconds.
const resolveTime = 5000

func (p *Provider) resolve(ctx context.Context, addr netip.AddrPort) (*id, error) {
	ch, err := p.channel()
	if err != nil {
		return nil, err
	}
	id := newID(p, true)
	if id.cm, err = ch.newID(id.number); err != nil {
		p.drop(id.number)
		return nil, err
	}
	err = func() error {
		if err := id.cm.resolveAddr(addr, resolveTime); err != nil {
			return err
		}
		if err := id.await(ctx, addr, cmAddrResolved); err != nil {
			return err
		}
		if err := id.cm.resolveRoute(resolveTime); err != nil {
			return err
		}
		if err := id.await(ctx, addr, cmRouteResolved); err != nil {
			return err
		}
		return id.place()
	}()
	if err != nil {
		_ = id.Close()
		return nil, err
	}
	return id, nil
}

// await waits for one step of the resolution.
func (id *id) await(ctx context.Context, addr netip.AddrPort, kind int) error {
	select {
	case ev := <-id.steps:
		switch ev.kind {
		case kind:
			return nil
		case cmDeviceRemoval:
			return rdma.ErrDeviceRemoved
		}
		return fmt.Errorf("rdma/verbs: no way to %v: %w", addr, statusError(ev.status))
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// statusError is the error of an event's status, an errno.
func statusError(status int) error {
	if status < 0 {
		status = -status
	}
	if status == 0 {
		return errors.New("unknown reason")
	}
	return syscall.Errno(status)
}

// refusal returns the error of a connection that was not established.
func refusal(ev cmEvent, peer netip.AddrPort) error {
	switch ev.kind {
	case cmRejected:
		return &rdma.RejectedError{PrivateData: ev.private, Reason: rejectReason(ev.status, peer)}
	case cmDeviceRemoval:
		return rdma.ErrDeviceRemoved
	case cmUnreachable:
		return fmt.Errorf("rdma/verbs: %v cannot be reached: %w", peer, statusError(ev.status))
	}
	return fmt.Errorf("rdma/verbs: connection with %v: %w", peer, statusError(ev.status))
}

// rejectReason names the reasons of the InfiniBand connection manager (volume 1,
// 12.6.7.2) that are met; iWARP's are errnos.
func rejectReason(status int, peer netip.AddrPort) string {
	switch status {
	case 1:
		return fmt.Sprintf("%v has no queue pair for it", peer)
	case 3:
		return fmt.Sprintf("%v has no resources for it", peer)
	case 4:
		return fmt.Sprintf("%v has given up waiting", peer)
	case 8:
		return fmt.Sprintf("nobody listens on %v", peer)
	case 10:
		return fmt.Sprintf("%v knows the connection already (stale)", peer)
	case 28:
		return fmt.Sprintf("refused by %v", peer)
	}
	if status < 0 {
		return fmt.Sprintf("refused by %v: %v", peer, syscall.Errno(-status))
	}
	return fmt.Sprintf("refused by %v, reason %d", peer, status)
}

// beginLocked checks the conditions that Connect and Accept share, and lowers the depths
// to what the device allows.
func (id *id) beginLocked(active bool, p *rdma.ConnParams, private int) error {
	caps := &id.dev.ctx.caps
	switch {
	case len(p.PrivateData) > private:
		return fmt.Errorf("rdma/verbs: %d bytes of private data, %d allowed", len(p.PrivateData), private)
	case id.active != active:
		return errors.New("rdma/verbs: Connect of an ID that accepts, or Accept of one that connects")
	case id.qp == nil:
		return errors.New("rdma/verbs: an ID without a queue pair")
	case id.ending || id.state != idFresh:
		return rdma.ErrNotConnected
	}
	p.IRD, p.ORD = max(0, min(p.IRD, caps.MaxIRD)), max(0, min(p.ORD, caps.MaxORD))
	return nil
}

// Connect implements [rdma.ID].
func (id *id) Connect(ctx context.Context, p rdma.ConnParams) error {
	err := id.connect(ctx, p)
	if err != nil {
		id.mu.Lock()
		begun := id.state != idFresh
		id.mu.Unlock()
		if begun {
			id.giveUp()
		}
	}
	return err
}

func (id *id) connect(ctx context.Context, p rdma.ConnParams) error {
	id.mu.Lock()
	err := id.beginLocked(true, &p, id.dev.ctx.caps.MaxRequestPrivateData)
	if err == nil {
		id.state = idMaking
		err = id.cm.connect(id.qp, p)
	}
	id.mu.Unlock()
	if err != nil {
		return err
	}
	var ev cmEvent
	select {
	case ev = <-id.steps:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-id.closing:
		return rdma.ErrClosed
	case <-id.dead:
		return rdma.ErrNotConnected
	}
	if ev.kind != cmConnectResponse && ev.kind != cmEstablished {
		return refusal(ev, id.RemoteAddr())
	}
	id.mu.Lock()
	defer id.mu.Unlock()
	if id.ending {
		return rdma.ErrNotConnected
	}
	if id.dev.ctx.siw { // siw reports the connecting side's own figures
		ev.ird, ev.ord = ev.ord, ev.ird
	}
	id.params = stated(ev)
	id.ird, id.ord = p.IRD, min(p.ORD, ev.ord)
	if err := id.qp.connected(id.ird, id.ord); err != nil {
		return err
	}
	if ev.kind == cmConnectResponse {
		if err := id.cm.establish(); err != nil {
			return err
		}
	}
	id.state, id.told = idUp, true
	id.local, id.remote = id.cm.local(), id.cm.remote()
	id.events <- rdma.Event{Type: rdma.EventEstablished}
	return nil
}

func (q *qp) connected(ird, ord int) error {
	q.sendMu.Lock()
	defer q.sendMu.Unlock()
	return q.readyLocked(ird, ord)
}

// stated returns the peer's parameters, from our point of view.
func stated(ev cmEvent) rdma.ConnParams {
	return rdma.ConnParams{IRD: ev.ird, ORD: ev.ord, RNRRetry: ev.retry, PrivateData: ev.private}
}

// giveUp ends an attempt to connect. The peer learns of it when the connection
// manager's ID is destroyed; with iWARP that may have to wait until the peer has
// answered, or for the driver's timeout (siw: 10 s).
func (id *id) giveUp() {
	id.end(rdma.Event{Type: rdma.EventDisconnected}, false)
	if id.dev.ctx.caps.Transport == rdma.TransportIWARP {
		id.p.wg.Go(id.destroyCM)
	} else {
		id.destroyCM()
	}
}

func (id *id) destroyCM() {
	<-id.dead
	<-id.disconnectSent
	id.mu.Lock()
	cm := id.cm
	id.cm = cmID{}
	id.mu.Unlock()
	destroyCM(id.dev, cm)
}

// Accept implements [rdma.ID].
func (id *id) Accept(p rdma.ConnParams) error {
	id.mu.Lock()
	defer id.mu.Unlock()
	if err := id.beginLocked(false, &p, id.dev.ctx.caps.MaxReplyPrivateData); err != nil {
		return err
	}
	p.IRD, p.ORD = min(p.IRD, id.params.IRD), min(p.ORD, id.params.ORD)
	if id.dev.ctx.siw { // answers as many READs as the peer asks for, whatever we say
		p.IRD = min(id.params.IRD, id.dev.ctx.caps.MaxIRD)
	}
	if err := id.qp.connected(p.IRD, p.ORD); err != nil {
		return err
	}
	id.state = idMaking
	if err := id.cm.accept(id.qp, p); err != nil {
		id.p.wg.Go(func() { id.end(rdma.Event{Type: rdma.EventFatal, Err: err}, false) })
		return fmt.Errorf("%w: %w", rdma.ErrNotConnected, err)
	}
	id.state, id.ird, id.ord = idUp, p.IRD, p.ORD
	return nil
}

// Reject implements [rdma.ID].
func (id *id) Reject(privateData []byte) error {
	caps := &id.dev.ctx.caps
	most := caps.MaxReplyPrivateData
	if caps.Transport != rdma.TransportIWARP {
		most = 148 // of a REJ (InfiniBand volume 1, 12.6.7)
	}
	if len(privateData) > most {
		return fmt.Errorf("rdma/verbs: %d bytes of private data, %d allowed", len(privateData), most)
	}
	id.mu.Lock()
	if id.active || id.ending || id.state != idFresh {
		id.mu.Unlock()
		return rdma.ErrNotConnected
	}
	err := id.cm.reject(privateData)
	id.mu.Unlock()
	return errors.Join(err, id.Close())
}
