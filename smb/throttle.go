package smb

import (
	"net/netip"
	"sync"
	"time"
)

// Failed logins slow down those that follow from the same address, whatever
// user they name: the answer to a wrong one is held back, longer each time.
const (
	loginDelay    = 250 * time.Millisecond // for the first failure beyond those that are free
	maxLoginDelay = 8 * time.Second
	freeLogins    = 3
	forgetLogins  = 10 * time.Minute
	maxAddresses  = 4096
)

// throttle counts failed logins.
type throttle struct {
	mu sync.Mutex
	of map[netip.Addr]failures
}

type failures struct {
	n    int
	last time.Time
}

// network is what one client can take addresses from: of IPv6 a /64.
func network(a netip.Addr) netip.Addr {
	a = a.Unmap()
	if a.Is6() {
		p, _ := a.WithZone("").Prefix(64)
		return p.Addr()
	}
	return a
}

// failed counts a failure, and says how long its answer is to be held back.
func (t *throttle) failed(a netip.Addr, now time.Time) time.Duration {
	a = network(a)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[netip.Addr]failures{}
	}
	f := t.of[a]
	if now.Sub(f.last) > forgetLogins {
		f.n = 0
	}
	f.n, f.last = f.n+1, now
	if len(t.of) >= maxAddresses {
		t.forget(now)
	}
	t.of[a] = f
	if f.n <= freeLogins {
		return 0
	}
	return min(loginDelay<<min(f.n-freeLogins-1, 10), maxLoginDelay)
}

// forget makes room: what is old goes, or else everything, which does attackers
// with thousands of addresses no good that they do not have anyway. Called with mu held.
func (t *throttle) forget(now time.Time) {
	for a, f := range t.of {
		if now.Sub(f.last) > forgetLogins {
			delete(t.of, a)
		}
	}
	if len(t.of) >= maxAddresses {
		clear(t.of)
	}
}

// succeeded forgets the failures of an address.
func (t *throttle) succeeded(a netip.Addr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.of, network(a))
}
