package mem

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"fileserver/rdma"
)

// link is what the two ends of a connection share. Its lock guards both ends,
// with their queue pairs.
type link struct {
	mu    sync.Mutex
	ends  [2]*ID // connecting, accepting
	up    bool
	ended bool
	heard bool // the accepting side has heard from the connecting side
}

var idSeq atomic.Uint32

// ID implements [rdma.ID].
type ID struct {
	dev           *Device
	link          *link
	local, remote netip.AddrPort
	active        bool // the connecting side
	seq           uint32
	events        chan rdma.Event

	// The rest is guarded by link.mu.
	qp       *QP
	peer     *ID
	state    idState
	params   rdma.ConnParams // what the peer stated, from our point of view
	rnrRetry int             // of our SENDs
	ird, ord int
	private  []byte        // a rejection's
	answered chan struct{} // closed when the connecting side may look at state
	over     bool          // the last event has been sent
	told     bool          // EventEstablished has been sent
	closed   bool
}

type idState uint8

const (
	idIdle idState = iota
	idRequested
	idUp
	idRejected
	idEnded
)

func newID(d *Device, l *link, local, remote netip.AddrPort, active bool) *ID {
	id := &ID{
		dev: d, link: l, local: local, remote: remote, active: active, seq: idSeq.Add(1),
		events: make(chan rdma.Event, 2), answered: make(chan struct{}),
	}
	end := 0
	if !active {
		end = 1
	}
	l.ends[end] = id
	d.mu.Lock()
	d.ids[id] = struct{}{}
	d.mu.Unlock()
	return id
}

// Device implements [rdma.ID].
func (id *ID) Device() rdma.Device { return id.dev }

// LocalAddr implements [rdma.ID].
func (id *ID) LocalAddr() netip.AddrPort { return id.local }

// RemoteAddr implements [rdma.ID].
func (id *ID) RemoteAddr() netip.AddrPort { return id.remote }

// Events implements [rdma.ID].
func (id *ID) Events() <-chan rdma.Event { return id.events }

// Remote implements [rdma.ID].
func (id *ID) Remote() rdma.ConnParams {
	id.link.mu.Lock()
	defer id.link.mu.Unlock()
	return id.params
}

// Negotiated implements [rdma.ID].
func (id *ID) Negotiated() (ird, ord int) {
	id.link.mu.Lock()
	defer id.link.mu.Unlock()
	return id.ird, id.ord
}

// Connect implements [rdma.ID].
func (id *ID) Connect(ctx context.Context, p rdma.ConnParams) error {
	if f := id.dev.faults.take(AtConnect, 0); f != nil && f.Err != nil {
		return f.Err
	}
	caps := id.dev.caps
	if len(p.PrivateData) > caps.MaxRequestPrivateData {
		return fmt.Errorf("mem: %d bytes of private data, %d allowed", len(p.PrivateData), caps.MaxRequestPrivateData)
	}
	id.link.mu.Lock()
	if !id.active || id.state != idIdle || id.qp == nil || id.closed {
		id.link.mu.Unlock()
		return errors.New("mem: Connect of an ID that is not fresh, or has no queue pair")
	}
	id.state = idRequested
	id.ird, id.ord = min(p.IRD, caps.MaxIRD), min(p.ORD, caps.MaxORD)
	l := id.dev.provider.fabric.listener(id.remote)
	if l == nil {
		id.refuseLocked(nil)
		id.link.mu.Unlock()
		return &rdma.RejectedError{Reason: "nobody listens on " + id.remote.String()}
	}
	peer := newID(l.devices[id.remote], id.link, id.remote, id.local, false)
	peer.peer, id.peer = id, peer
	peer.state = idRequested
	peer.params = rdma.ConnParams{IRD: id.ord, ORD: id.ird, RNRRetry: p.RNRRetry, PrivateData: slices.Clone(p.PrivateData)}
	peer.rnrRetry = p.RNRRetry
	id.link.mu.Unlock()
	if !l.offer(peer) {
		_ = peer.Reject(nil)
	}
	select {
	case <-id.answered:
	case <-ctx.Done():
		id.link.mu.Lock()
		defer id.link.mu.Unlock()
		if id.state == idRequested {
			id.link.endLocked(id, rdma.Event{Type: rdma.EventDisconnected})
			return context.Cause(ctx)
		}
	}
	id.link.mu.Lock()
	defer id.link.mu.Unlock()
	if id.state == idRejected {
		return &rdma.RejectedError{PrivateData: id.private, Reason: "refused by " + id.remote.String()}
	}
	if !id.told {
		return rdma.ErrNotConnected
	}
	return nil
}

// Accept implements [rdma.ID].
func (id *ID) Accept(p rdma.ConnParams) error {
	if f := id.dev.faults.take(AtAccept, 0); f != nil && f.Err != nil {
		return f.Err
	}
	caps := id.dev.caps
	if len(p.PrivateData) > caps.MaxReplyPrivateData {
		return fmt.Errorf("mem: %d bytes of private data, %d allowed", len(p.PrivateData), caps.MaxReplyPrivateData)
	}
	id.link.mu.Lock()
	defer id.link.mu.Unlock()
	peer := id.peer
	switch {
	case id.active || id.qp == nil:
		return errors.New("mem: Accept of an ID that connects, or has no queue pair")
	case id.state != idRequested:
		return rdma.ErrNotConnected
	}
	id.ird = min(p.IRD, caps.MaxIRD, id.params.IRD)
	id.ord = min(p.ORD, caps.MaxORD, id.params.ORD)
	peer.ird, peer.ord = id.ord, id.ird
	peer.params = rdma.ConnParams{IRD: id.ord, ORD: id.ird, RNRRetry: p.RNRRetry, PrivateData: slices.Clone(p.PrivateData)}
	peer.rnrRetry = p.RNRRetry
	id.state, peer.state, id.link.up = idUp, idUp, true
	if !id.dev.provider.cfg.LateEstablished {
		id.establishedLocked()
	}
	peer.establishedLocked()
	close(peer.answered)
	return nil
}

// establishedLocked sends the event. The lock is link.mu.
func (id *ID) establishedLocked() {
	if !id.told && !id.over {
		id.told = true
		id.events <- rdma.Event{Type: rdma.EventEstablished}
	}
}

// Reject implements [rdma.ID].
func (id *ID) Reject(privateData []byte) error {
	if n := id.dev.caps.MaxReplyPrivateData; len(privateData) > n {
		return fmt.Errorf("mem: %d bytes of private data, %d allowed", len(privateData), n)
	}
	id.link.mu.Lock()
	if id.active || id.state != idRequested {
		id.link.mu.Unlock()
		return rdma.ErrNotConnected
	}
	id.peer.refuseLocked(slices.Clone(privateData))
	id.link.mu.Unlock()
	return id.Close()
}

// refuseLocked reports the refusal to the connecting side. The lock is link.mu.
func (id *ID) refuseLocked(private []byte) {
	id.state, id.private = idRejected, private
	close(id.answered)
	id.link.endLocked(id, rdma.Event{Type: rdma.EventDisconnected})
}

// endLocked ends the connection; from's side gets ev.
func (l *link) endLocked(from *ID, ev rdma.Event) {
	if l.ended {
		return
	}
	l.ended, l.up = true, false
	for _, id := range l.ends {
		if id == nil {
			continue
		}
		if id.qp != nil {
			id.qp.flush()
		}
		e := rdma.Event{Type: rdma.EventDisconnected}
		if id == from {
			e = ev
		} else if ev.Type == rdma.EventFatal {
			e = rdma.Event{Type: rdma.EventFatal, Err: ev.Err}
		}
		if id.state == idRequested && id.active {
			close(id.answered)
		}
		if id.state != idRejected {
			id.state = idEnded
		}
		id.over = true
		id.events <- e
		close(id.events)
	}
}

// Disconnect implements [rdma.ID].
func (id *ID) Disconnect() error {
	id.link.mu.Lock()
	defer id.link.mu.Unlock()
	id.link.endLocked(id, rdma.Event{Type: rdma.EventDisconnected})
	return nil
}

// Close implements [rdma.ID].
func (id *ID) Close() error {
	id.link.mu.Lock()
	defer id.link.mu.Unlock()
	id.link.endLocked(id, rdma.Event{Type: rdma.EventDisconnected})
	if id.closed {
		return nil
	}
	id.closed = true
	if id.qp != nil {
		id.qp.destroy()
	}
	id.dev.mu.Lock()
	delete(id.dev.ids, id)
	id.dev.mu.Unlock()
	return nil
}
