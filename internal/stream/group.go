// Package stream is the common part of servers over TCP: listeners, connections, sending of messages, and shutdown.
package stream

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"fileserver/internal/connlimit"
)

// Member is a connection of a [Group].
type Member interface {
	comparable
	connlimit.Conn
}

// Group has the listeners and connections of a server; C is a connection. Its methods are safe for concurrent use. Its lock is
// taken before the locks of connections. Functions passed to it may take those, but must not call the Group.
type Group[C Member] struct {
	log    *slog.Logger
	closed error // the error of a closed group
	limits *connlimit.Table

	mu        sync.Mutex
	isClosed  bool
	conns     map[C]*connlimit.Entry
	listeners map[net.Listener]struct{}
	wg        sync.WaitGroup // of connections
}

// New returns a group without connections, which accepts those that limits allows. closed is the error of a closed group.
func New[C Member](log *slog.Logger, limits connlimit.Config, closed error) *Group[C] {
	return &Group[C]{
		log: log, closed: closed, limits: connlimit.New(limits),
		conns: make(map[C]*connlimit.Entry), listeners: make(map[net.Listener]struct{}),
	}
}

// Serve accepts connections and hands each that the limits allow to serve, on a goroutine of its own, until l is closed,
// the group is closed or ctx ends; it closes l. The others are closed at once.
func (g *Group[C]) Serve(ctx context.Context, l net.Listener, serve func(net.Conn, *connlimit.Entry)) error {
	g.mu.Lock()
	if g.isClosed {
		g.mu.Unlock()
		l.Close()
		return g.closed
	}
	g.listeners[l] = struct{}{}
	g.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer func() {
		stop()
		l.Close()
		g.mu.Lock()
		delete(g.listeners, l)
		g.mu.Unlock()
	}()
	var delay time.Duration
	for {
		nc, err := l.Accept()
		if err == nil {
			delay = 0
			if e, err := g.Admit(nc); err == nil {
				go serve(nc, e)
			}
			continue
		}
		switch {
		case g.Closed():
			return g.closed
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, net.ErrClosed):
			return err
		}
		// Out of descriptors, or the connection is gone already: neither ends the listener.
		delay = min(max(5*time.Millisecond, 2*delay), time.Second)
		g.log.Warn("cannot accept a connection", "listener", l.Addr().String(), "err", err, "retry", delay)
		select {
		case <-time.After(delay):
		case <-ctx.Done():
		}
	}
}

// Closed reports whether the group is closed.
func (g *Group[C]) Closed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.isClosed
}

// Admit checks an accepted connection against the limits, and closes it if they do not allow it. The caller passes the entry to
// [Group.Add].
func (g *Group[C]) Admit(nc net.Conn) (*connlimit.Entry, error) {
	e, err := g.limits.Add(AddrPort(nc.RemoteAddr()).Addr())
	if err != nil {
		nc.Close()
	}
	return e, err
}

// Add adds a connection, unless the group is closed.
func (g *Group[C]) Add(c C, e *connlimit.Entry) error {
	g.mu.Lock()
	if g.isClosed {
		g.mu.Unlock()
		e.Remove()
		return g.closed
	}
	g.conns[c] = e
	g.wg.Add(1)
	g.mu.Unlock()
	e.Attach(c)
	return nil
}

// Remove removes a connection that has ended.
func (g *Group[C]) Remove(c C) {
	g.mu.Lock()
	e := g.conns[c]
	delete(g.conns, c)
	g.mu.Unlock()
	e.Remove()
	g.wg.Done()
}

// Recheck ends the connections from addresses that are no longer admitted.
func (g *Group[C]) Recheck() { g.limits.Recheck() }

// Len returns the number of connections.
func (g *Group[C]) Len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.conns)
}

// Each calls f with each connection.
func (g *Group[C]) Each(f func(C)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for c := range g.conns {
		f(c)
	}
}

// Close closes the listeners and refuses new connections. Existing connections go on.
func (g *Group[C]) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.isClosed = true
	for l := range g.listeners {
		l.Close()
	}
}

// Drain waits, on a closed group, until all connections have ended. When ctx ends first it calls end with each that
// is left, waits for them, and returns ctx's error.
func (g *Group[C]) Drain(ctx context.Context, end func(C)) error {
	done := make(chan struct{})
	go func() {
		g.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	g.Each(end)
	<-done
	return context.Cause(ctx)
}

// AddrPort returns a as a [netip.AddrPort], and the zero value if it is not an IP address (net.Pipe).
func AddrPort(a net.Addr) netip.AddrPort {
	if t, ok := a.(*net.TCPAddr); ok {
		ap := t.AddrPort()
		return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
	}
	if a == nil {
		return netip.AddrPort{}
	}
	ap, _ := netip.ParseAddrPort(a.String())
	return ap
}
