// Package connlimit decides which connections a server accepts and which it ends. It refuses addresses that are not admitted and
// connections beyond the limits, and ends connections that are idle.
//
// It does not know sockets: servers over TCP and over RDMA use it in the same way.
package connlimit

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Config has the limits of a Table. The zero value accepts all connections and keeps them for ever.
type Config struct {
	// Admits reports whether connections from an address are accepted; nil: all are.
	Admits func(netip.Addr) bool
	// Total bounds the connections, and PerClient those of one client, which is an IPv4 address or an
	// IPv6 network of 64 bits. 0: no bound.
	Total, PerClient int
	// HalfOpen is how long a connection may take to be established. Idle is how long an established connection may be idle.
	// 0: for ever.
	HalfOpen, Idle time.Duration
	// Refused, if not nil, is called for each connection that is refused or ended. It must not block, nor call the Table.
	Refused func(netip.Addr, Reason)
}

// Reason is why a connection is refused or ended.
type Reason uint8

// Reasons.
const (
	NotAdmitted  Reason = iota // no share admits the address
	TooMany                    // Total is reached, and no idle connection can make room
	TooManyOfOne               // PerClient is reached
	HalfOpen                   // not established in time
	Idle                       // idle for too long
	MakesRoom                  // ended for a new one: it was idle, and its client had the most connections
	Reasons      = iota
)

var reasonTexts = [Reasons]string{
	"no share admits the address", "there are as many connections as limits.connections allows",
	"this client has as many connections as limits.connections_per_address allows",
	"it was not established within limits.half_open_timeout", "it was idle for limits.idle_timeout",
	"it was idle, and made room for another client",
}

// Error implements error: a Reason is the error of a refused connection.
func (r Reason) Error() string { return reasonTexts[r] }

var reasonNames = [Reasons]string{"not_admitted", "too_many", "too_many_of_one_address", "half_open", "idle", "makes_room"}

// Name returns the reason as a label of metrics.
func (r Reason) Name() string { return reasonNames[r] }

// Conn is a connection. Both methods are called without the Table's lock.
type Conn interface {
	// Busy reports whether the connection must not count as idle: a request is being answered, or the client has files open.
	Busy() bool
	// End ends the connection. It must not block. [Entry.Remove] follows.
	End(err error)
}

// spare is how long a connection must have been idle to make room for a client that has as many connections.
const spare = 30 * time.Second

// Table has the connections of a server. Its methods, and those of its entries, are safe for concurrent use.
type Table struct {
	cfg Config

	mu      sync.Mutex // a leaf
	entries map[*Entry]struct{}
	clients map[netip.Addr]int
	ending  int // connections that were told to end and are not removed yet; they are not among entries
	sweeps  *time.Timer
}

// Entry is a connection in a Table.
type Entry struct {
	t      *Table
	addr   netip.Addr
	client netip.Addr

	established atomic.Bool
	used        atomic.Bool // since the last sweep

	// The Table's lock guards the fields below.
	state state
	why   Reason // ending
	conn  Conn   // nil: not attached yet
	last  time.Time
}

type state uint8

const (
	counted state = iota // among the Table's entries
	ending               // told to end
	removed
)

// New returns a table without connections.
func New(cfg Config) *Table {
	return &Table{cfg: cfg, entries: map[*Entry]struct{}{}, clients: map[netip.Addr]int{}}
}

// clientOf returns the network that counts as one client.
func clientOf(a netip.Addr) netip.Addr {
	if a = a.Unmap().WithZone(""); a.Is6() {
		p, _ := a.Prefix(64)
		return p.Addr()
	}
	return a
}

// Add counts a new connection from addr, or returns the [Reason] to refuse it. If Total is reached, Add ends an idle connection of the
// client that has the most.
func (t *Table) Add(addr netip.Addr) (*Entry, error) {
	e := &Entry{t: t, addr: addr.Unmap(), client: clientOf(addr), last: time.Now()}
	if t.cfg.Admits != nil && !t.cfg.Admits(e.addr) {
		return nil, t.refuse(e, NotAdmitted)
	}
	for {
		t.mu.Lock()
		why, full := t.fullLocked(e)
		if !full {
			t.entries[e] = struct{}{}
			t.clients[e.client]++
			t.sweepLaterLocked()
			t.mu.Unlock()
			return e, nil
		}
		list := t.candidatesLocked(e, why)
		t.mu.Unlock()
		if !t.makeRoom(list) {
			return nil, t.refuse(e, why)
		}
	}
}

func (t *Table) refuse(e *Entry, why Reason) error {
	if t.cfg.Refused != nil {
		t.cfg.Refused(e.addr, why)
	}
	return why
}

// fullLocked reports whether there is no room for e, and the reason.
func (t *Table) fullLocked(e *Entry) (Reason, bool) {
	switch {
	case t.cfg.PerClient > 0 && t.clients[e.client] >= t.cfg.PerClient:
		return TooManyOfOne, true
	case t.cfg.Total > 0 && len(t.entries) >= t.cfg.Total:
		return TooMany, true
	}
	return 0, false
}

// sweepLaterLocked sets the timer of the next sweep.
func (t *Table) sweepLaterLocked() {
	if t.sweeps != nil || len(t.entries) == 0 || t.cfg.HalfOpen == 0 && t.cfg.Idle == 0 {
		return
	}
	t.sweeps = time.AfterFunc(t.period(), t.sweep)
}

// period returns the time between two sweeps, and so how late connections may be ended.
func (t *Table) period() time.Duration {
	shortest := t.cfg.HalfOpen
	if shortest == 0 || t.cfg.Idle > 0 && t.cfg.Idle < shortest {
		shortest = t.cfg.Idle
	}
	return min(max(shortest/8, 10*time.Millisecond), 5*time.Second)
}

// sweep ends the connections that are half open or idle for too long.
func (t *Table) sweep() {
	now := time.Now()
	for _, e := range t.list() {
		if why, over := t.overdue(e, now); over {
			t.end(e, why)
		}
	}
	t.mu.Lock()
	t.sweeps = nil
	t.sweepLaterLocked()
	t.mu.Unlock()
}

func (t *Table) list() []*Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]*Entry, 0, len(t.entries))
	for e := range t.entries {
		list = append(list, e)
	}
	return list
}

// overdue reports whether a connection must be ended, and the reason.
func (t *Table) overdue(e *Entry, now time.Time) (Reason, bool) {
	limit, why := t.cfg.Idle, Idle
	established := e.established.Load()
	if !established {
		limit, why = t.cfg.HalfOpen, HalfOpen
	}
	return why, limit > 0 && e.idle(now) >= limit && (!established || !e.busy())
}

// idle returns how long a connection has been idle, or its age if it is not established.
func (e *Entry) idle(now time.Time) time.Duration {
	used := e.used.Load() && e.established.Load()
	e.t.mu.Lock()
	defer e.t.mu.Unlock()
	if used {
		e.used.Store(false)
		e.last = now
	}
	return now.Sub(e.last)
}

func (e *Entry) busy() bool {
	e.t.mu.Lock()
	c := e.conn
	e.t.mu.Unlock()
	return c == nil || c.Busy()
}

// end tells a connection to end. It returns false if the connection is already ending or has ended.
func (t *Table) end(e *Entry, why Reason) bool {
	t.mu.Lock()
	if e.state != counted {
		t.mu.Unlock()
		return false
	}
	t.uncountLocked(e)
	e.state, e.why = ending, why
	t.ending++
	c := e.conn
	t.mu.Unlock()
	t.refuse(e, why)
	if c != nil {
		c.End(why)
	}
	return true
}

func (t *Table) uncountLocked(e *Entry) {
	delete(t.entries, e)
	if t.clients[e.client]--; t.clients[e.client] == 0 {
		delete(t.clients, e.client)
	}
}

// Recheck ends the connections of addresses that are no longer admitted.
func (t *Table) Recheck() {
	if t.cfg.Admits == nil {
		return
	}
	for _, e := range t.list() {
		if !t.cfg.Admits(e.addr) {
			t.end(e, NotAdmitted)
		}
	}
}

// Len returns the number of connections, without those that have been told to end.
func (t *Table) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.entries)
}

// Attach sets the connection of the entry. Before that the entry is counted but cannot be ended. If it should have been ended
// meanwhile, Attach ends the connection.
func (e *Entry) Attach(c Conn) {
	e.t.mu.Lock()
	e.conn = c
	late, why := e.state == ending, e.why
	e.t.mu.Unlock()
	if late {
		c.End(why)
	}
}

// Established records that the peer speaks the protocol or has authenticated. From now on Idle applies instead of HalfOpen. It may
// be called more than once.
func (e *Entry) Established() {
	if e.established.Swap(true) {
		return
	}
	e.t.mu.Lock()
	e.last = time.Now()
	e.t.mu.Unlock()
}

// IsEstablished reports whether Established has been called.
func (e *Entry) IsEstablished() bool { return e.established.Load() }

// Use records that the connection is in use. It is cheap enough for every request.
func (e *Entry) Use() {
	if !e.used.Load() {
		e.used.Store(true)
	}
}

// Remove removes a connection that has ended or could not be established.
func (e *Entry) Remove() {
	t := e.t
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e.state {
	case counted:
		t.uncountLocked(e)
	case ending:
		t.ending--
	}
	e.state, e.conn = removed, nil
	if len(t.entries) == 0 && t.sweeps != nil && t.sweeps.Stop() {
		t.sweeps = nil
	}
}
