// Package connlimit decides which connections a server takes, and which of them it ends: those of
// addresses that are not admitted, those beyond the limits, and those that do nothing.
//
// It knows nothing of sockets. Servers over TCP and over RDMA ask the same [Table].
package connlimit

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Config is what a Table enforces. The zero value takes everything, for ever.
type Config struct {
	// Admits reports whether connections from an address are taken at all; nil: all are.
	Admits func(netip.Addr) bool
	// Total bounds the connections, and PerClient those of one client, which is an IPv4 address or an
	// IPv6 network of 64 bits. 0: no bound.
	Total, PerClient int
	// HalfOpen is how long a connection may take until it is established, and Idle how long one that is
	// established may do nothing. 0: for ever.
	HalfOpen, Idle time.Duration
	// Refused is told of each connection that is not taken, or ended; nil: nobody. It must not block,
	// nor call the Table.
	Refused func(netip.Addr, Reason)
}

// Reason is why a connection is not taken, or ended.
type Reason uint8

// Reasons.
const (
	NotAdmitted  Reason = iota // no share admits the address
	TooMany                    // Total is reached, and nothing is idle that could make room
	TooManyOfOne               // PerClient is reached
	HalfOpen                   // not established in time
	Idle                       // nothing was done for too long
	MakesRoom                  // idle, of the client with most connections, when all were taken
	Reasons      = iota
)

var reasonTexts = [Reasons]string{
	"no share admits the address", "there are as many connections as limits.connections allows",
	"this client has as many connections as limits.connections_per_address allows",
	"it was not established within limits.half_open_timeout", "it was idle for limits.idle_timeout",
	"it was idle, and made room for another client",
}

// Error implements error: a Reason is what a refused connection ends with.
func (r Reason) Error() string { return reasonTexts[r] }

var reasonNames = [Reasons]string{"not_admitted", "too_many", "too_many_of_one_address", "half_open", "idle", "makes_room"}

// Name is the reason as a label of metrics.
func (r Reason) Name() string { return reasonNames[r] }

// Conn is a connection. Both methods are called without the Table's lock.
type Conn interface {
	// Busy reports whether the connection must not be ended for being idle: a request is being answered, or
	// the client would lose what it has open.
	Busy() bool
	// End ends the connection. It must not block. [Entry.Remove] follows.
	End(err error)
}

// spare is how long a connection must have been idle to make room for a client that has as many.
const spare = 30 * time.Second

// Table is the connections of a server. Its methods, and those of its entries, are safe for concurrent use.
type Table struct {
	cfg Config

	mu      sync.Mutex // a leaf
	entries map[*Entry]struct{}
	clients map[netip.Addr]int
	ending  int // told to end, and not removed yet; they are not among entries
	sweeps  *time.Timer
}

// Entry is a connection in a Table.
type Entry struct {
	t      *Table
	addr   netip.Addr
	client netip.Addr

	established atomic.Bool
	used        atomic.Bool // since it was looked at last

	// The Table's lock guards the rest.
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

// New makes a table without connections.
func New(cfg Config) *Table {
	return &Table{cfg: cfg, entries: map[*Entry]struct{}{}, clients: map[netip.Addr]int{}}
}

// clientOf is what one client can take addresses from.
func clientOf(a netip.Addr) netip.Addr {
	if a = a.Unmap().WithZone(""); a.Is6() {
		p, _ := a.Prefix(64)
		return p.Addr()
	}
	return a
}

// Add counts a connection from addr that begins now, or returns the [Reason] why there is to be none. When all are
// taken it ends an idle one of the client that has most.
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

// fullLocked reports whether there is no room for e, and why.
func (t *Table) fullLocked(e *Entry) (Reason, bool) {
	switch {
	case t.cfg.PerClient > 0 && t.clients[e.client] >= t.cfg.PerClient:
		return TooManyOfOne, true
	case t.cfg.Total > 0 && len(t.entries) >= t.cfg.Total:
		return TooMany, true
	}
	return 0, false
}

// sweepLaterLocked has the connections looked at in a while.
func (t *Table) sweepLaterLocked() {
	if t.sweeps != nil || len(t.entries) == 0 || t.cfg.HalfOpen == 0 && t.cfg.Idle == 0 {
		return
	}
	t.sweeps = time.AfterFunc(t.period(), t.sweep)
}

// period is the time between two looks at the connections: how late they may be ended.
func (t *Table) period() time.Duration {
	shortest := t.cfg.HalfOpen
	if shortest == 0 || t.cfg.Idle > 0 && t.cfg.Idle < shortest {
		shortest = t.cfg.Idle
	}
	return min(max(shortest/8, 10*time.Millisecond), 5*time.Second)
}

// sweep ends the connections whose time is over.
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

// overdue reports whether a connection is to be ended, and why.
func (t *Table) overdue(e *Entry, now time.Time) (Reason, bool) {
	limit, why := t.cfg.Idle, Idle
	established := e.established.Load()
	if !established {
		limit, why = t.cfg.HalfOpen, HalfOpen
	}
	return why, limit > 0 && e.idle(now) >= limit && (!established || !e.busy())
}

// idle is how long nothing was done; of a connection that is not established, its age.
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

// end tells a connection to end. It returns false if it is ending, or has ended, already.
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

// Recheck ends the connections of addresses that are not admitted any more.
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

// Len is the number of connections, without those that have been told to end.
func (t *Table) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.entries)
}

// Attach says which connection the entry is. Until then it is counted, and cannot be ended: one that should have
// been is ended now.
func (e *Entry) Attach(c Conn) {
	e.t.mu.Lock()
	e.conn = c
	late, why := e.state == ending, e.why
	e.t.mu.Unlock()
	if late {
		c.End(why)
	}
}

// Established says that the peer has shown that it speaks the protocol, or who it is. The time of being idle begins.
// It may be called more than once.
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

// Use says that the connection does something. It costs next to nothing.
func (e *Entry) Use() {
	if !e.used.Load() {
		e.used.Store(true)
	}
}

// Remove forgets a connection that has ended, or could not be made.
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
