//go:build linux && cgo && rdmacore

package verbs

import (
	"fmt"
	"net/netip"
	"sync"
	"time"

	"fileserver/rdma"
)

// id implements [rdma.ID].
type id struct {
	p              *Provider
	dev            *device // set when the ID is handed out
	number         uint64  // its handle
	active         bool    // the connecting side
	events         chan rdma.Event
	steps          chan cmEvent  // for Resolve and Connect
	closing        chan struct{} // closed by Close: no lingering
	cmDone         chan struct{} // closed when the connection manager has nothing to say any more
	disconnectSent chan struct{} // closed when the peer has been asked to disconnect, if it is
	dead           chan struct{} // closed when the queue pair is destroyed, or there is none

	once sync.Once // release

	mu                  sync.Mutex
	cm                  cmID // zero when it is destroyed
	local               netip.AddrPort
	remote              netip.AddrPort
	qp                  *qp
	state               idState
	told                bool // EventEstablished has been sent
	ending              bool // end has been called
	isClosing           bool
	isCMDone            bool // cmDone is closed
	disconnectRequested bool // the peer has been asked to disconnect
	flushed             bool // requests have been, by others than us
	params              rdma.ConnParams
	ird, ord            int
}

type idState uint8

const (
	idFresh  idState = iota // resolved, or requested
	idMaking                // Connect or Accept has begun
	idUp                    // they have been successful
)

func newID(p *Provider, active bool) *id {
	id := &id{
		p: p, active: active, events: make(chan rdma.Event, 2), steps: make(chan cmEvent, 4),
		closing: make(chan struct{}), cmDone: make(chan struct{}), disconnectSent: make(chan struct{}), dead: make(chan struct{}),
	}
	id.number = p.add(id)
	return id
}

// place finds the device of an ID that has been resolved, or requested.
func (id *id) place() error {
	dev := id.p.deviceOf(id.cm)
	if dev == nil {
		return fmt.Errorf("rdma/verbs: no usable device for %v", id.cm.local())
	}
	if err := dev.addID(id); err != nil {
		return err
	}
	id.dev = dev
	id.mu.Lock()
	defer id.mu.Unlock()
	id.local, id.remote = id.cm.local(), id.cm.remote()
	return nil
}

// Device implements [rdma.ID].
func (id *id) Device() rdma.Device { return id.dev }

// LocalAddr implements [rdma.ID].
func (id *id) LocalAddr() netip.AddrPort {
	id.mu.Lock()
	defer id.mu.Unlock()
	return id.local
}

// RemoteAddr implements [rdma.ID].
func (id *id) RemoteAddr() netip.AddrPort {
	id.mu.Lock()
	defer id.mu.Unlock()
	return id.remote
}

// Events implements [rdma.ID].
func (id *id) Events() <-chan rdma.Event { return id.events }

// Remote implements [rdma.ID].
func (id *id) Remote() rdma.ConnParams {
	id.mu.Lock()
	defer id.mu.Unlock()
	return id.params
}

// Negotiated implements [rdma.ID].
func (id *id) Negotiated() (ird, ord int) {
	id.mu.Lock()
	defer id.mu.Unlock()
	return id.ird, id.ord
}

// handle implements target.
func (id *id) handle(ev cmEvent) {
	switch ev.kind {
	case cmAddrResolved, cmRouteResolved, cmAddrError, cmRouteError, cmConnectResponse:
		id.step(ev)
	case cmEstablished:
		id.step(ev)
		if !id.active {
			id.established()
		}
	case cmRejected, cmUnreachable, cmConnectError:
		id.step(ev)
		if !id.active {
			id.end(rdma.Event{Type: rdma.EventFatal, Err: refusal(ev, id.RemoteAddr())}, false)
		}
		id.cmFinished()
	case cmDisconnected:
		id.end(rdma.Event{Type: rdma.EventDisconnected}, false)
		id.cmFinished()
	case cmDeviceRemoval:
		if id.dev != nil {
			id.dev.startRemoval()
		} else {
			id.step(ev)
		}
		id.cmFinished()
	case cmAddrChange:
		id.end(rdma.Event{Type: rdma.EventDeviceRemoval, Err: fmt.Errorf("%w: the network device of %v has changed its address", rdma.ErrDeviceRemoved, id.LocalAddr())}, false)
	}
}

// step hands an event to Resolve or Connect.
func (id *id) step(ev cmEvent) {
	select {
	case id.steps <- ev:
	default: // nobody waits any more
	}
}

// cmFinished notes that the connection manager sends no further event of the connection.
func (id *id) cmFinished() {
	id.mu.Lock()
	defer id.mu.Unlock()
	if !id.isCMDone {
		id.isCMDone = true
		close(id.cmDone)
	}
}

// established sends EventEstablished.
func (id *id) established() {
	id.mu.Lock()
	tell := !id.told && !id.ending
	if tell {
		id.told = true
		id.events <- rdma.Event{Type: rdma.EventEstablished}
	}
	if id.disconnectRequested && id.cm.valid() {
		// The connection manager has ignored our request to disconnect: the peer's
		// last message of the handshake comes only now, behind what it has sent.
		_ = id.cm.disconnect()
	}
	q := id.qp
	id.mu.Unlock()
	if tell && q != nil && id.dev != nil && !id.dev.ctx.caps.InitiatorSpeaksFirst {
		q.readyToUse()
	}
}

// async handles an asynchronous event of the queue pair.
func (id *id) async(kind int) {
	if kind == asyncCommEst {
		id.mu.Lock()
		defer id.mu.Unlock()
		if id.cm.valid() && !id.told && !id.ending && !id.active {
			_ = id.cm.heard() // cmEstablished follows
		}
		return
	}
	what := map[int]string{asyncQPFatal: "the queue pair failed", asyncQPReqErr: "the peer's request was invalid", asyncQPAccessErr: "the peer's request was denied"}
	id.end(rdma.Event{Type: rdma.EventFatal, Err: fmt.Errorf("rdma/verbs: %s", what[kind])}, false)
}

// failed handles a completion with an error: the queue pair has failed.
func (id *id) failed(wc *rdma.WC) {
	id.mu.Lock()
	id.flushed = true
	id.mu.Unlock()
	ev := rdma.Event{Type: rdma.EventDisconnected}
	if wc.Status != rdma.StatusWRFlushErr {
		ev = rdma.Event{Type: rdma.EventFatal, Err: &rdma.CompletionError{Opcode: wc.Opcode, Status: wc.Status}}
	}
	id.end(ev, false)
}

// end begins the end of the connection: nothing is posted any more, the event is
// sent, and the rest goes on behind. Only the first call counts.
func (id *id) end(ev rdma.Event, linger bool) {
	id.mu.Lock()
	defer id.mu.Unlock()
	if id.ending {
		return
	}
	id.ending = true
	up := id.state != idFresh
	if q := id.qp; q != nil {
		q.refuse()
	}
	if ev.Type == rdma.EventDisconnected && id.flushed && !id.isCMDone {
		id.p.wg.Go(func() { id.tellLater(ev) })
	} else {
		id.tell(ev)
	}
	id.p.wg.Go(func() { id.takeDown(up, linger && id.state == idUp) })
}

// tell sends the last event. Called once.
func (id *id) tell(ev rdma.Event) {
	if id.dev != nil && ev.Type != rdma.EventDeviceRemoval && id.dev.isRemoved() {
		// The event is a consequence of the removal.
		ev = rdma.Event{Type: rdma.EventDeviceRemoval, Err: rdma.ErrDeviceRemoved}
	}
	id.p.log.Debug("connection ends", "number", id.number, "event", ev.Type, "err", ev.Err)
	id.events <- ev
	close(id.events)
}

// reasonTime is how long an event of the connection manager may come behind the
// flush of the queue pair that goes with it.
const reasonTime = 20 * time.Millisecond

// tellLater lets the connection manager say why a queue pair has been flushed.
func (id *id) tellLater(ev rdma.Event) {
	t := time.NewTimer(reasonTime)
	defer t.Stop()
	select {
	case <-t.C:
	case <-id.cmDone:
	}
	id.tell(ev)
}

// takeDown disconnects and destroys the queue pair.
func (id *id) takeDown(up, linger bool) {
	defer close(id.dead)
	q := id.qp // nobody makes one any more
	if q != nil && q.h.valid() && linger {
		stop := make(chan struct{})
		go func() {
			defer close(stop)
			select {
			case <-id.closing:
			case <-id.cmDone:
			case <-id.dead:
			}
		}()
		q.linger(stop)
	}
	if up {
		id.p.wg.Go(id.requestDisconnect)
		t := time.NewTimer(disconnectTime)
		defer t.Stop()
		select {
		case <-id.disconnectSent:
		case <-t.C:
		}
	} else {
		close(id.disconnectSent)
	}
	if q == nil || !q.h.valid() {
		return
	}
	if id.dev.ctx.caps.Transport == rdma.TransportIWARP && up {
		// The driver ends the stream in order and flushes; ending the queue pair now
		// would cut off what is on its way.
		q.settle()
	}
	_ = q.h.fail()
	q.settle()
	q.destroy()
}

func (id *id) isEnding() bool {
	id.mu.Lock()
	defer id.mu.Unlock()
	return id.ending
}

// disconnectTime is how long a request to disconnect is waited for.
const disconnectTime = time.Second

// requestDisconnect asks the peer to disconnect. During an attempt to connect iWARP's
// connection manager may block it until the outcome, so it has its own goroutine.
func (id *id) requestDisconnect() {
	defer close(id.disconnectSent)
	id.mu.Lock()
	cm := id.cm
	id.disconnectRequested = true
	id.mu.Unlock()
	if !cm.valid() {
		return
	}
	if cm.disconnect() != nil {
		id.cmFinished() // there is no answer to wait for
	}
}

// Disconnect implements [rdma.ID].
func (id *id) Disconnect() error {
	id.end(rdma.Event{Type: rdma.EventDisconnected}, true)
	return nil
}

// Close implements [rdma.ID].
func (id *id) Close() error {
	id.mu.Lock()
	if !id.isClosing {
		id.isClosing = true
		close(id.closing)
	}
	id.mu.Unlock()
	id.end(rdma.Event{Type: rdma.EventDisconnected}, false)
	id.release()
	return nil
}

// release waits until the queue pair is destroyed, and releases everything.
func (id *id) release() {
	<-id.dead
	<-id.disconnectSent
	id.once.Do(func() {
		if id.qp != nil {
			id.qp.abandon()
		}
		id.mu.Lock()
		cm, answered := id.cm, id.isCMDone || id.state == idFresh
		id.cm = cmID{}
		id.mu.Unlock()
		if id.dev == nil || answered || !cm.valid() || id.dev.isRemoved() || id.dev.ctx.caps.Transport == rdma.TransportIWARP {
			id.p.drop(id.number)
			destroyCM(id.dev, cm)
		} else {
			newRemains(id, cm)
		}
		if id.dev != nil {
			id.dev.removeID(id)
		}
	})
}

// destroyCM destroys a connection manager ID.
func destroyCM(dev *device, cm cmID) {
	if !cm.valid() {
		return
	}
	if dev != nil && dev.isRemoved() {
		cm.orphan()
	}
	_ = cm.destroy()
}

// remainsTime is how long a closed connection's request to disconnect is repeated.
const remainsTime = 4 * time.Second

// remains is what is left of a closed connection on InfiniBand and RoCE until the
// peer has answered the request to disconnect: without the ID it is not repeated.
type remains struct {
	p      *Provider
	dev    *device
	number uint64
	once   sync.Once
	timer  *time.Timer

	mu sync.Mutex
	cm cmID // zero when it is destroyed
}

func newRemains(id *id, cm cmID) {
	r := &remains{p: id.p, dev: id.dev, number: id.number, cm: cm}
	r.dev.mu.Lock()
	r.dev.remains[r] = struct{}{}
	gone := r.dev.removed
	r.dev.mu.Unlock()
	r.p.mu.Lock()
	r.p.targets[r.number] = r
	r.timer = time.AfterFunc(remainsTime, r.cut)
	r.p.mu.Unlock()
	select {
	case <-id.cmDone: // it has been answered in between
		r.cut()
	default:
		if gone {
			r.cut()
		}
	}
}

// handle implements target.
func (r *remains) handle(ev cmEvent) {
	switch ev.kind {
	case cmDisconnected, cmTimewaitExit, cmRejected, cmConnectError, cmUnreachable:
		r.p.wg.Go(r.cut)
	case cmEstablished: // see id.established
		r.mu.Lock()
		if r.cm.valid() {
			_ = r.cm.disconnect()
		}
		r.mu.Unlock()
	case cmDeviceRemoval:
		r.dev.startRemoval()
	}
}

// cut implements lingerer.
func (r *remains) cut() {
	r.once.Do(func() {
		r.timer.Stop()
		r.p.drop(r.number)
		r.mu.Lock()
		cm := r.cm
		r.cm = cmID{}
		r.mu.Unlock()
		destroyCM(r.dev, cm)
		r.dev.mu.Lock()
		delete(r.dev.remains, r)
		r.dev.mu.Unlock()
	})
}
