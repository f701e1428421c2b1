package throttle

import (
	"fmt"
	"net/netip"
	"testing"
	"time"
)

var (
	here, there = netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	start       = time.Unix(1e9, 0)
)

// guesses makes n guesses at once and returns how many are answered within d.
func guesses(t *Table, a netip.Addr, user func(int) string, n int, d time.Duration) (answered int) {
	for i := range n {
		if wait, ok := t.Attempt(a, user(i), true, start); ok && wait <= d {
			answered++
		}
	}
	return answered
}

func ann(int) string { return "ann" }

// Few guesses are answered, however many are made at once and however long it goes on.
func TestGuesser(t *testing.T) {
	var tab Table
	if n := guesses(&tab, here, ann, 10000, time.Minute); n > UserFree+8 {
		t.Errorf("%d guesses at once are answered", n)
	}
	answered, now := 0, start.Add(maxWait)
	for range 60 * 60 { // an hour, with ten guesses each second
		for range 10 {
			if _, ok := tab.Attempt(here, "ann", true, now); ok {
				answered++
			}
		}
		now = now.Add(time.Second)
	}
	if most := int(time.Hour/UserDelay) + 2; answered > most {
		t.Errorf("%d guesses in an hour are answered, want at most %d", answered, most)
	}
}

// A guesser who tries many names from one address is slowed down, too.
func TestManyNames(t *testing.T) {
	var tab Table
	name := func(i int) string { return fmt.Sprint("user", i) }
	if n := guesses(&tab, here, name, 10000, time.Minute); n > AddressFree+20 {
		t.Errorf("%d guesses at once are answered", n)
	}
	if wait, ok := tab.Attempt(there, "ann", false, start); wait != 0 || !ok {
		t.Errorf("another address waits %v, %v", wait, ok)
	}
}

// A user logs in without delay while somebody guesses the user's password from another address.
func TestUsersElsewhere(t *testing.T) {
	var tab Table
	guesses(&tab, here, ann, 100, 0)
	if wait, ok := tab.Attempt(there, "ann", false, start); wait != 0 || !ok {
		t.Errorf("elsewhere: %v, %v", wait, ok)
	}
	if _, ok := tab.Attempt(here, "ann", false, start); ok {
		t.Error("the guesser's address is not refused")
	}
	if wait, ok := tab.Attempt(here, "bob", false, start); wait != 0 || !ok {
		t.Errorf("another user at the same address: %v, %v", wait, ok)
	}
}

// A user who has logged in before is not held up by others who guess at the same address.
func TestKnownUser(t *testing.T) {
	var tab Table
	tab.Attempt(here, "bob", false, start)
	tab.Succeeded(here, "bob", start)
	guesses(&tab, here, func(i int) string { return fmt.Sprint("user", i) }, 1000, 0)
	if wait, ok := tab.Attempt(here, "Bob", false, start); wait != 0 || !ok {
		t.Errorf("bob: %v, %v", wait, ok)
	}
	if _, ok := tab.Attempt(here, "new", false, start); ok {
		t.Error("one that is not known is not refused")
	}
}

// A success clears the failures of its user at its address, and no others.
func TestSuccess(t *testing.T) {
	var tab Table
	for _, a := range []netip.Addr{here, there} {
		for _, u := range []string{"ann", "bob"} {
			for range UserFree + 1 {
				tab.Attempt(a, u, true, start)
			}
		}
	}
	tab.Succeeded(here, "ann", start)
	for _, c := range []struct {
		a    netip.Addr
		user string
		held bool
	}{{here, "ann", false}, {here, "bob", true}, {there, "ann", true}, {there, "bob", true}} {
		if wait, _ := tab.Attempt(c.a, c.user, false, start); wait > 0 != c.held {
			t.Errorf("%s at %v waits %v", c.user, c.a, wait)
		}
	}
}

// Failures expire, and time between attempts counts as time waited.
func TestForgets(t *testing.T) {
	var tab Table
	for range UserFree + 3 {
		tab.Attempt(here, "ann", true, start)
	}
	if wait, ok := tab.Attempt(here, "ann", true, start.Add(time.Minute)); wait != 0 || !ok {
		t.Errorf("after a minute: %v, %v", wait, ok)
	}
	if wait, _ := tab.Attempt(here, "ann", true, start.Add(time.Minute)); wait == 0 {
		t.Error("the failures are forgotten after a minute")
	}
	later := start.Add(time.Minute + 2*forget)
	for range UserFree {
		if wait, _ := tab.Attempt(here, "ann", true, later); wait != 0 {
			t.Errorf("after %v: %v", 2*forget, wait)
		}
	}
}

// An IPv6 /64 network counts as one address, and an IPv4-mapped IPv6 address as the IPv4 address.
func TestAddresses(t *testing.T) {
	for _, pair := range [][2]string{{"2001:db8::1", "2001:db8::2:3"}, {"192.0.2.1", "::ffff:192.0.2.1"}, {"fe80::1%eth0", "fe80::2%eth1"}} {
		var tab Table
		for range UserFree + 1 {
			tab.Attempt(netip.MustParseAddr(pair[0]), "ann", true, start)
		}
		if wait, _ := tab.Attempt(netip.MustParseAddr(pair[1]), "ann", true, start); wait == 0 {
			t.Errorf("%s is not %s", pair[1], pair[0])
		}
	}
}

// The table stays small however many names and addresses come, and it keeps the entries with the most failures.
func TestBounded(t *testing.T) {
	var tab Table
	guesses(&tab, here, ann, 100, 0)
	for i := range 10 * maxEntries {
		a := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
		tab.Attempt(a, fmt.Sprint("user", i), true, start)
		if len(tab.of) > maxEntries {
			t.Fatalf("%d entries", len(tab.of))
		}
	}
	if _, ok := tab.Attempt(here, "ann", true, start); ok {
		t.Error("the guesser is forgotten")
	}
}
