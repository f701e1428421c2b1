// Package throttle slows down clients that guess passwords. It spaces the answers to logins: the more logins from an address
// have failed, for one user and altogether, the longer the next answer waits, whether it is yes or no. The answers share one
// schedule per address, so more connections do not yield more answers, and neither does hanging up. Other addresses are not
// affected.
package throttle

import (
	"net/netip"
	"strings"
	"sync"
	"time"
)

// Constants of the table.
const (
	firstDelay = 250 * time.Millisecond // after the first failure beyond UserFree or AddressFree
	maxWait    = 10 * time.Second       // of one answer; a login that would wait longer is refused
	forget     = 10 * time.Minute       // after the last answer, failures no longer count
	maxEntries = 8192                   // entries in a table, some 100 bytes each
	maxName    = 64                     // bytes of a user's name that are compared

	// UserFree is how many logins of one user from one address may fail before their answers are spaced. UserDelay is
	// the longest time between two such answers.
	UserFree  = 3
	UserDelay = 8 * time.Second
	// AddressFree and AddressDelay are the same for all users from one address, which many users may share.
	AddressFree  = 20
	AddressDelay = time.Second
)

// key identifies what logins are counted for: one user at an address or, with user "", all users there.
type key struct {
	addr netip.Addr
	user string
}

// entry is the state of a key.
type entry struct {
	failures int
	last     time.Time // when the last login was answered, or will be
	known    bool      // the user has logged in from the address
}

// Table counts logins. The zero value is ready to use, by any number of goroutines. Its size is bounded.
type Table struct {
	mu sync.Mutex
	of map[key]*entry
}

// Attempt counts a login whose outcome is known, and returns how long the caller must wait before it answers. ok is false if
// too many logins wait already: then the caller refuses the login whatever its outcome is, and it is not counted.
func (t *Table) Attempt(addr netip.Addr, user string, failed bool, now time.Time) (wait time.Duration, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	u, a := t.entry(keyOf(addr, user), now), t.entry(keyOf(addr, ""), now)
	at, turn := u.next(now, UserFree, UserDelay), a.next(now, AddressFree, AddressDelay)
	known := u.known && u.failures <= UserFree // a known user without recent mistakes does not wait for others at the address
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

// keyOf returns the key of a user at an address. All addresses of an IPv6 /64 network count as one, because one client may
// have them all.
func keyOf(addr netip.Addr, user string) key {
	addr = addr.Unmap()
	if addr.Is6() {
		p, _ := addr.WithZone("").Prefix(64)
		addr = p.Addr()
	}
	return key{addr, strings.ToLower(user[:min(len(user), maxName)])}
}

// next returns when the next login of e may be answered. The first free failures cause no delay; afterwards answers are
// spaced by at most longest.
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

// entry returns the entry of a key. If there is none, it creates one.
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

// evict makes room for an entry. It looks at up to 16 random entries and removes the one with the fewest failures; the
// failures of old entries do not count.
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
