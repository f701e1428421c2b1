// Package throttle slows down who guesses passwords. The answers to logins are spaced: the more have failed from an address,
// for one user and altogether, the longer the next answer waits, whether it is yes or no. As every answer has a time of its own,
// further connections give a guesser no more of them, and neither does hanging up. Users elsewhere are not concerned.
package throttle

import (
	"net/netip"
	"strings"
	"sync"
	"time"
)

// Constants of the table.
const (
	firstDelay = 250 * time.Millisecond // after the first failure beyond those that are free
	maxWait    = 10 * time.Second       // of one answer; beyond, a login is refused unheard
	forget     = 10 * time.Minute       // after the last answer, failures no longer count
	maxEntries = 8192                   // that are remembered, some 100 bytes each
	maxName    = 64                     // bytes of a user's name that count

	// UserFree and UserDelay are how many logins of one user from one address may fail before they are spaced, and the
	// longest time between two of them.
	UserFree  = 3
	UserDelay = 8 * time.Second
	// AddressFree and AddressDelay are the same for all users from one address. Many may share it.
	AddressFree  = 20
	AddressDelay = time.Second
)

// key names what logins are counted for: a user at an address, or all users there, who have the name "".
type key struct {
	addr netip.Addr
	user string
}

// entry is what is remembered of a key.
type entry struct {
	failures int
	last     time.Time // when the last login is, or will be, answered
	known    bool      // the user has logged in from the address
}

// Table counts logins. The zero value is ready to use, by any number of goroutines. Its size is bounded.
type Table struct {
	mu sync.Mutex
	of map[key]*entry
}

// Attempt counts a login whose outcome is known and has not been told, and returns how long it must not be told for. ok is
// false if too many wait already: then it must be refused whatever its outcome is, and is not counted.
func (t *Table) Attempt(addr netip.Addr, user string, failed bool, now time.Time) (wait time.Duration, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	u, a := t.entry(keyOf(addr, user), now), t.entry(keyOf(addr, ""), now)
	at, turn := u.next(now, UserFree, UserDelay), a.next(now, AddressFree, AddressDelay)
	known := u.known && u.failures <= UserFree // others at their address do not hold up users who make no mistakes
	if !known && turn.After(at) {
		at = turn
	}
	if wait = at.Sub(now); wait > maxWait {
		return 0, false
	}
	u.last = at
	if !known {
		a.last = turn
	}
	if failed {
		u.failures++
		a.failures++
	}
	return wait, true
}

// Succeeded forgets the failures of a user at an address, after a login that has been answered.
func (t *Table) Succeeded(addr netip.Addr, user string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	u, a := t.entry(keyOf(addr, user), now), t.entry(keyOf(addr, ""), now)
	a.failures = max(a.failures-u.failures, 0)
	u.failures, u.known = 0, true
}

// keyOf makes a key. Of IPv6 a network of 64 bits is one address, because one client may have all of it.
func keyOf(addr netip.Addr, user string) key {
	addr = addr.Unmap()
	if addr.Is6() {
		p, _ := addr.WithZone("").Prefix(64)
		addr = p.Addr()
	}
	return key{addr, strings.ToLower(user[:min(len(user), maxName)])}
}

// next is when a login may be answered of which so many may fail, and that are then so far apart at most.
func (e *entry) next(now time.Time, free int, longest time.Duration) time.Time {
	if e.failures < free {
		return now
	}
	at := e.last.Add(min(firstDelay<<min(e.failures-free, 10), longest))
	if at.Before(now) {
		return now
	}
	return at
}

// entry finds the entry of a key, or makes it.
func (t *Table) entry(k key, now time.Time) *entry {
	e := t.of[k]
	if e == nil {
		if t.of == nil {
			t.of = make(map[key]*entry)
		}
		if len(t.of) >= maxEntries {
			t.evict(now)
		}
		e = &entry{}
		t.of[k] = e
	}
	if now.Sub(e.last) > forget {
		e.failures = 0
	}
	return e
}

// evict makes room: of some entries that with the fewest failures goes, or an old one.
func (t *Table) evict(now time.Time) {
	var victim key
	least, seen := -1, 0
	for k, e := range t.of { // in random order
		n := e.failures
		if now.Sub(e.last) > forget {
			n = 0
		}
		if least < 0 || n < least {
			victim, least = k, n
		}
		if seen++; least == 0 || seen == 16 {
			break
		}
	}
	delete(t.of, victim)
}
