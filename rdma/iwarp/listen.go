package iwarp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"fileserver/internal/connlimit"
	"fileserver/rdma"
)

// listener implements rdma.Listener.
type listener struct {
	p     *Provider
	tcp   *net.TCPListener
	plain func(net.Conn)

	requests chan *connID
	done     chan struct{} // closed by Close
	wg       sync.WaitGroup
	limits   *connlimit.Table // of connections that are half open

	mu       sync.Mutex
	closed   bool
	halfOpen map[*net.TCPConn]*connlimit.Entry
}

// Listen implements rdma.Provider.
func (p *Provider) Listen(ctx context.Context, addr netip.AddrPort) (rdma.Listener, error) {
	return p.ListenShared(ctx, addr, ListenConfig{})
}

// ListenShared is Listen on a port that serves another protocol, too: what does
// not begin like an MPA request goes to cfg.Plain.
func (p *Provider) ListenShared(ctx context.Context, addr netip.AddrPort, cfg ListenConfig) (rdma.Listener, error) {
	// The family's own network: by "tcp" one wildcard address would take the other family's port, too.
	network := "tcp4"
	if addr.Addr().Is6() {
		network = "tcp6"
	}
	var lc net.ListenConfig
	nl, err := lc.Listen(ctx, network, addr.String())
	if err != nil {
		return nil, fmt.Errorf("iwarp: %w", err)
	}
	l := &listener{
		p: p, tcp: nl.(*net.TCPListener), plain: cfg.Plain,
		requests: make(chan *connID, p.cfg.Backlog), done: make(chan struct{}),
		halfOpen: make(map[*net.TCPConn]*connlimit.Entry),
		limits:   connlimit.New(connlimit.Config{Admits: p.cfg.Admits, Total: p.cfg.MaxHalfOpen}),
	}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		_ = nl.Close()
		return nil, rdma.ErrClosed
	}
	p.listeners[l] = struct{}{}
	p.mu.Unlock()
	l.wg.Add(1)
	go l.run()
	return l, nil
}

// Addr implements rdma.Listener.
func (l *listener) Addr() netip.AddrPort { return addrPort(l.tcp.Addr()) }

// Accept implements rdma.Listener.
func (l *listener) Accept(ctx context.Context) (rdma.ID, error) {
	select {
	case id := <-l.requests:
		return id, nil
	default:
	}
	select {
	case id := <-l.requests:
		return id, nil
	case <-l.done:
		return nil, rdma.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Close implements rdma.Listener.
func (l *listener) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	for c := range l.halfOpen {
		_ = c.SetReadDeadline(past)
	}
	l.mu.Unlock()
	err := l.tcp.Close()
	l.wg.Wait()
	close(l.done)
	for {
		select {
		case id := <-l.requests:
			_ = id.Close()
			continue
		default:
		}
		break
	}
	l.p.mu.Lock()
	delete(l.p.listeners, l)
	l.p.mu.Unlock()
	return err
}

// run takes connections from TCP.
func (l *listener) run() {
	defer l.wg.Done()
	for {
		conn, err := l.tcp.AcceptTCP()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			// Out of descriptors or memory: what has been accepted must end first.
			l.p.cfg.Log.Warn("iwarp cannot accept", "addr", l.Addr(), "err", err)
			time.Sleep(50 * time.Millisecond)
			continue
		}
		if err := l.admit(conn); err != nil {
			reason := ReasonHalfOpenLimit
			if errors.Is(err, connlimit.NotAdmitted) {
				reason = ReasonNotAdmitted
			}
			l.p.stats.refused(reason)
			l.p.cfg.Log.Warn("iwarp connection refused", "remote", addrPort(conn.RemoteAddr()), "reason", reason.String())
			_ = conn.Close()
			continue
		}
		l.wg.Add(1)
		go l.greet(conn)
	}
}

// halfOpen is a connection that has not sent its request. It implements [connlimit.Conn].
type halfOpen struct {
	l    *listener
	conn *net.TCPConn
}

func (halfOpen) Busy() bool { return false }

// End makes greet give up, unless it has its request by now.
func (h halfOpen) End(error) {
	h.l.mu.Lock()
	defer h.l.mu.Unlock()
	if h.l.halfOpen[h.conn] != nil {
		_ = h.conn.SetReadDeadline(past)
	}
}

// admit counts a connection that has not sent its request, or says why it is not taken.
func (l *listener) admit(conn *net.TCPConn) error {
	e, err := l.limits.Add(addrPort(conn.RemoteAddr()).Addr())
	if err != nil {
		return err
	}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		e.Remove()
		return rdma.ErrClosed
	}
	l.halfOpen[conn] = e
	l.p.stats.halfOpen.Add(1)
	_ = conn.SetReadDeadline(time.Now().Add(l.p.cfg.RequestTimeout))
	l.mu.Unlock()
	e.Attach(halfOpen{l, conn})
	return nil
}

func (l *listener) settle(conn *net.TCPConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.halfOpen[conn].Remove()
	delete(l.halfOpen, conn)
	l.p.stats.halfOpen.Add(-1)
}

// greet reads a connection's request and queues it for Accept.
func (l *listener) greet(conn *net.TCPConn) {
	defer l.wg.Done()
	if l.plain != nil {
		mpa, err := beginsLikeMPA(conn)
		if !mpa && err == nil {
			l.settle(conn)
			_ = conn.SetReadDeadline(time.Time{})
			go l.plain(conn)
			return
		}
	}
	req, err := readFrame(conn, false)
	if err == nil {
		if e := noMore(conn); e != nil {
			err = e
		}
	}
	if err == nil {
		if bad := checkRequest(&req); bad != nil {
			f := refusal(&req, nil)
			_, _ = conn.Write(f.append(nil))
			err = bad
		}
	}
	if err != nil {
		l.refuse(conn, err)
		l.settle(conn) // not before: who is refused counts as half-open until it is gone
		return
	}
	l.settle(conn)
	_ = conn.SetReadDeadline(time.Time{})
	l.offer(conn, req)
}

// refuse counts and closes a connection that will not become one of ours.
func (l *listener) refuse(conn *net.TCPConn, err error) {
	reason := ReasonReset
	var e *Error
	switch {
	case errors.As(err, &e):
		reason = e.Reason
	case isTimeout(err):
		reason = ReasonMPATimeout
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		reason = ReasonTruncated
	}
	l.p.stats.refused(reason)
	l.p.cfg.Log.Warn("iwarp connection refused", "remote", addrPort(conn.RemoteAddr()), "reason", reason.String(), "err", err)
	drain(conn, min(refuseGrace, l.p.cfg.CloseTimeout))
	_ = conn.Close()
}

// hangUp closes a connection so that the peer gets what was sent to it.
func (p *Provider) hangUp(conn *net.TCPConn) {
	if !p.enter() {
		_ = conn.Close()
		return
	}
	go func() {
		defer p.wg.Done()
		drain(conn, min(refuseGrace, p.cfg.CloseTimeout))
		_ = conn.Close()
	}()
}

// refuseGrace is how long a refused peer may take to close its end.
const refuseGrace = time.Second

// offer queues a request for Accept.
func (l *listener) offer(conn *net.TCPConn, req mpaFrame) {
	id, err := l.p.newID(addrPort(conn.LocalAddr()), addrPort(conn.RemoteAddr()))
	if err != nil {
		_ = conn.Close()
		return
	}
	id.passive, id.req, id.conn = true, req, conn
	id.peer = l.p.policy.peerParams(&req)
	select {
	case l.requests <- id:
	default:
		l.p.stats.refused(ReasonBacklog)
		l.p.cfg.Log.Warn("iwarp connection refused", "remote", id.remote, "reason", ReasonBacklog.String())
		_ = id.Close()
	}
}
