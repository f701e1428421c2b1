package iwarp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fileserver/rdma"
)

// idState is how far an ID has come.
type idState uint8

const (
	idNew  idState = iota // a request to answer, or not connected yet
	idBusy                // Accept or Connect runs
	idConnected
	idOver // rejected, failed, or ended before it was connected
)

// connID implements rdma.ID.
type connID struct {
	p       *Provider
	remote  netip.AddrPort
	passive bool
	req     mpaFrame // passive

	mu     sync.Mutex
	state  idState
	closed bool
	local  netip.AddrPort
	conn   *net.TCPConn
	peer   rdma.ConnParams
	qp     *queuePair
	events chan rdma.Event
	begun  bool // EventEstablished has been delivered
	over   bool // the last event has been
}

func (p *Provider) newID(local, remote netip.AddrPort) (*connID, error) {
	id := &connID{p: p, local: local, remote: remote, events: make(chan rdma.Event, 2)}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, rdma.ErrClosed
	}
	p.ids[id] = struct{}{}
	return id, nil
}

// Device implements rdma.ID.
func (id *connID) Device() rdma.Device { return id.p.dev }

// LocalAddr implements rdma.ID.
func (id *connID) LocalAddr() netip.AddrPort {
	id.mu.Lock()
	defer id.mu.Unlock()
	return id.local
}

// RemoteAddr implements rdma.ID.
func (id *connID) RemoteAddr() netip.AddrPort { return id.remote }

// Remote implements rdma.ID.
func (id *connID) Remote() rdma.ConnParams {
	id.mu.Lock()
	defer id.mu.Unlock()
	return id.peer
}

// Events implements rdma.ID.
func (id *connID) Events() <-chan rdma.Event { return id.events }

// Negotiated implements rdma.ID.
func (id *connID) Negotiated() (ird, ord int) {
	id.mu.Lock()
	defer id.mu.Unlock()
	if id.qp == nil || id.state != idConnected {
		return 0, 0
	}
	return id.qp.terms.ird, id.qp.terms.ord
}

// CreateQP implements rdma.ID.
func (id *connID) CreateQP(pd rdma.PD, cfg rdma.QPConfig) (rdma.QP, error) {
	dom, ok := pd.(*protectionDomain)
	if !ok || dom.dev != id.p.dev {
		return nil, errors.New("iwarp: the protection domain is of another device")
	}
	id.mu.Lock()
	defer id.mu.Unlock()
	switch {
	case id.closed:
		return nil, rdma.ErrClosed
	case id.qp != nil:
		return nil, fmt.Errorf("%w: the ID has a queue pair", rdma.ErrBusy)
	}
	q, err := newQP(id, dom, cfg)
	if err != nil {
		return nil, err
	}
	id.qp = q
	return q, nil
}

// enter begins Accept or Connect: one of them, once, with a queue pair.
func (id *connID) enter(passive bool, p rdma.ConnParams, limit int) error {
	id.mu.Lock()
	defer id.mu.Unlock()
	switch {
	case id.closed:
		return rdma.ErrClosed
	case id.passive != passive:
		return errors.New("iwarp: Accept answers a request, Connect makes one")
	case id.state != idNew:
		return rdma.ErrNotConnected
	case id.qp == nil:
		return errors.New("iwarp: the ID has no queue pair")
	case len(p.PrivateData) > limit:
		return fmt.Errorf("iwarp: %d bytes of private data, at most %d", len(p.PrivateData), limit)
	}
	id.state = idBusy
	return nil
}

// establish starts the queue pair on a connection that is agreed upon.
func (id *connID) establish(conn *net.TCPConn, t terms, peer rdma.ConnParams) error {
	q := id.qp
	if err := q.attach(conn, t); err != nil {
		return id.abandon(conn, ReasonReset, err)
	}
	id.mu.Lock()
	if id.closed || id.over || !id.p.enter() { // Close or Disconnect came first
		id.mu.Unlock()
		return id.abandon(conn, ReasonLocalClosed, rdma.ErrClosed)
	}
	q.open(id.passive) // before the event: whoever sees it may post
	id.state, id.conn, id.peer = idConnected, conn, peer
	id.local = addrPort(conn.LocalAddr())
	id.p.stats.established.Add(1)
	id.p.stats.live.Add(1)
	if !id.passive || t.rtr == rtrNone {
		id.beginLocked()
	}
	id.mu.Unlock()
	q.start(id.passive)
	return nil
}

// abandon ends an ID whose connection could not be made.
func (id *connID) abandon(conn *net.TCPConn, r Reason, err error) error {
	id.p.stats.refused(r)
	id.p.cfg.Log.Info("iwarp connection not made", "remote", id.remote, "reason", r.String(), "err", err)
	if conn != nil {
		_ = conn.Close()
	}
	id.mu.Lock()
	id.state = idOver
	id.mu.Unlock()
	id.flushUnconnected()
	id.finalEvent(rdma.Event{Type: rdma.EventDisconnected, Err: err})
	return err
}

// beginLocked delivers EventEstablished.
func (id *connID) beginLocked() {
	if !id.begun && !id.over {
		id.begun = true
		id.events <- rdma.Event{Type: rdma.EventEstablished}
	}
}

// established is begin for the receiver, when the peer's first FPDU is in.
func (id *connID) established() {
	id.mu.Lock()
	defer id.mu.Unlock()
	id.beginLocked()
}

// ended delivers the event that ends the connection.
func (id *connID) ended(e *Error) {
	ev := rdma.Event{Type: rdma.EventDisconnected}
	switch {
	case e.Reason.inOrder():
	case e.Reason == ReasonReset, e.Reason == ReasonTruncated, e.Reason == ReasonUnreachable, e.Reason == ReasonCloseTimeout:
		ev.Err = e
	default:
		ev = rdma.Event{Type: rdma.EventFatal, Err: e}
	}
	id.finalEvent(ev)
}

func (id *connID) finalEvent(ev rdma.Event) {
	id.mu.Lock()
	defer id.mu.Unlock()
	if !id.over {
		id.over = true
		id.events <- ev
		close(id.events)
	}
}

// Disconnect implements rdma.ID.
func (id *connID) Disconnect() error {
	id.mu.Lock()
	state := id.state
	if state == idNew {
		id.state = idOver
	}
	conn := id.conn
	id.mu.Unlock()
	switch state {
	case idConnected:
		id.qp.disconnect()
	case idNew:
		if conn != nil {
			_ = conn.Close()
		}
		id.flushUnconnected()
		id.finalEvent(rdma.Event{Type: rdma.EventDisconnected})
	case idBusy:
		// Accept or Connect notices.
		id.flushUnconnected()
		id.finalEvent(rdma.Event{Type: rdma.EventDisconnected})
	}
	return nil
}

// flushUnconnected flushes the receives of a queue pair that never was connected.
func (id *connID) flushUnconnected() {
	id.mu.Lock()
	q := id.qp
	id.mu.Unlock()
	if q != nil {
		q.rq.flush(rdma.StatusWRFlushErr)
	}
}

// Close implements rdma.ID.
func (id *connID) Close() error {
	id.mu.Lock()
	if id.closed {
		id.mu.Unlock()
		return nil
	}
	id.closed = true
	state, q := id.state, id.qp
	id.mu.Unlock()
	if state == idConnected {
		q.fail(&Error{Reason: ReasonLocalClosed})
		<-q.flushed
	} else {
		_ = id.Disconnect()
	}
	if q != nil {
		q.destroy()
	}
	id.p.mu.Lock()
	delete(id.p.ids, id)
	id.p.mu.Unlock()
	return nil
}

// tune sets the options of a connection's socket.
func (p *Provider) tune(conn *net.TCPConn) error {
	err := conn.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: p.cfg.KeepAlive, Interval: p.cfg.KeepAlive / 3, Count: 3})
	raw, e := conn.SyscallConn()
	if err = errors.Join(err, e); err != nil {
		return err
	}
	// Longer than StallTimeout, whose reason is the more telling one.
	ms := int((p.cfg.StallTimeout + p.cfg.StallTimeout/4) / time.Millisecond)
	if e := raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, ms)
	}); e != nil {
		return e
	}
	return err
}

// connectTimeout is the context for Connect.
func (p *Provider) connectTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, p.cfg.ReplyTimeout)
}
