package connlimit

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// fake is a connection.
type fake struct {
	e     *Entry
	busy  atomic.Bool
	ended atomic.Pointer[error]
}

func (f *fake) Busy() bool    { return f.busy.Load() }
func (f *fake) End(err error) { f.ended.Store(&err) }

// why is why the connection was ended; nil: it was not.
func (f *fake) why() error {
	if p := f.ended.Load(); p != nil {
		return *p
	}
	return nil
}

// rig is a table, and what it has refused.
type rig struct {
	*testing.T
	*Table
	refused [Reasons]atomic.Int64
}

func newRig(t *testing.T, cfg Config) *rig {
	r := &rig{T: t}
	cfg.Refused = func(_ netip.Addr, why Reason) { r.refused[why].Add(1) }
	r.Table = New(cfg)
	return r
}

// open adds a connection that is established.
func (r *rig) open(addr string) *fake {
	r.Helper()
	f := r.halfOpen(addr)
	f.e.Established()
	return f
}

func (r *rig) halfOpen(addr string) *fake {
	r.Helper()
	e, err := r.Add(netip.MustParseAddr(addr))
	if err != nil {
		r.Fatalf("%s: %v", addr, err)
	}
	f := &fake{e: e}
	e.Attach(f)
	return f
}

func (r *rig) refuses(addr string, want Reason) {
	r.Helper()
	before := r.refused[want].Load()
	e, err := r.Add(netip.MustParseAddr(addr))
	if !errors.Is(err, want) || e != nil || r.refused[want].Load() != before+1 {
		r.Fatalf("%s: %v, not %v; %d told", addr, err, want, r.refused[want].Load()-before)
	}
}

func (r *rig) ended(f *fake, want Reason) {
	r.Helper()
	if f.why() != error(want) {
		r.Fatalf("ended by %v, not %v", f.why(), want)
	}
	f.e.Remove()
}

func (r *rig) alive(list ...*fake) {
	r.Helper()
	for i, f := range list {
		if f.why() != nil {
			r.Fatalf("connection %d was ended: %v", i, f.why())
		}
	}
}

func TestAdmission(t *testing.T) {
	var closed atomic.Bool
	r := newRig(t, Config{Admits: func(a netip.Addr) bool {
		return a == netip.MustParseAddr("192.0.2.1") || a == netip.MustParseAddr("192.0.2.2") && !closed.Load()
	}})
	one, two := r.open("192.0.2.1"), r.open("::ffff:192.0.2.2") // as a socket of both families has it
	r.refuses("192.0.2.3", NotAdmitted)
	closed.Store(true)
	r.alive(one, two)
	r.Recheck()
	r.alive(one)
	r.ended(two, NotAdmitted)
	if r.Len() != 1 {
		t.Errorf("%d connections", r.Len())
	}
}

// TestOneClient: a client has its limit; an IPv6 network of 64 bits is one client.
func TestOneClient(t *testing.T) {
	r := newRig(t, Config{PerClient: 2})
	a := r.open("2001:db8::1")
	r.open("2001:db8::2")
	r.refuses("2001:db8::3", TooManyOfOne)
	r.open("2001:db8:0:1::1")
	r.open("192.0.2.1")
	r.open("::ffff:192.0.2.1")
	r.refuses("192.0.2.1", TooManyOfOne)
	a.e.Remove()
	r.open("2001:db8::4")
}

func TestTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{HalfOpen: 8 * time.Second, Idle: time.Minute})
		silent, idle, busy, working := r.halfOpen("192.0.2.1"), r.open("192.0.2.1"), r.open("192.0.2.1"), r.open("192.0.2.1")
		silent.busy.Store(true) // which excuses nobody who is not established
		silent.e.Use()
		busy.busy.Store(true)
		time.Sleep(7 * time.Second)
		synctest.Wait()
		r.alive(silent, idle)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		r.ended(silent, HalfOpen)
		for range 20 {
			time.Sleep(20 * time.Second)
			working.e.Use()
		}
		synctest.Wait()
		r.alive(busy, working)
		r.ended(idle, Idle)
		busy.busy.Store(false)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		r.ended(busy, Idle)
		working.e.Remove()
		if r.Len() != 0 || r.sweeps != nil || r.ending != 0 || len(r.clients) != 0 {
			t.Errorf("left: %d connections, %d ending, %d clients", r.Len(), r.ending, len(r.clients))
		}
	})
}

// TestLateAttach: a connection that should have been ended before it was known is ended when it is.
func TestLateAttach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{HalfOpen: time.Second})
		e, err := r.Add(netip.MustParseAddr("192.0.2.1"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		f := &fake{e: e}
		e.Attach(f)
		r.ended(f, HalfOpen)
	})
}

// TestMakesRoom: the oldest idle connection of the client with most goes, and who works keeps what it has.
func TestMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{Total: 8})
		victim := r.open("192.0.2.1")
		modest := []*fake{r.open("192.0.2.2"), r.open("192.0.2.2")}
		var greedy []*fake
		for range 5 {
			greedy = append(greedy, r.open("192.0.2.3"))
			time.Sleep(time.Second)
		}
		greedy[0].busy.Store(true)
		r.open("192.0.2.4")
		r.ended(greedy[1], MakesRoom)
		greedy[2].e.Use()
		late := r.open("192.0.2.5")
		r.ended(greedy[3], MakesRoom)
		r.alive(victim, modest[0], modest[1], greedy[0], greedy[2], greedy[4], late)

		// The greedy client gains nothing by asking again: it has more than anybody else.
		r.refuses("192.0.2.3", TooMany)
		r.alive(greedy[0], greedy[2], greedy[4])
		// A client with one connection does not lose it to another's first, unless it was long idle.
		time.Sleep(spare)
		victim.e.Use()
		r.open("192.0.2.6")
		r.alive(victim)
	})
}

// TestMakesRoomOfOne: at its own limit a client's long idle connection makes room for its new one, and nobody else's.
func TestMakesRoomOfOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{Total: 100, PerClient: 2})
		other := r.open("192.0.2.2")
		old, young := r.open("192.0.2.1"), r.open("192.0.2.1")
		r.refuses("192.0.2.1", TooManyOfOne)
		time.Sleep(spare)
		young.e.Use()
		r.open("192.0.2.1")
		r.ended(old, MakesRoom)
		r.alive(other, young)
	})
}

// TestHalfOpenFirst: of one client, connections that are not established make room first.
func TestHalfOpenFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{Total: 3})
		old := r.open("192.0.2.3")
		time.Sleep(time.Minute)
		half := r.halfOpen("192.0.2.3")
		young := r.open("192.0.2.3")
		r.open("192.0.2.1")
		r.ended(half, MakesRoom)
		r.alive(old, young)
	})
}

// TestEndingIsBounded: connections that were told to end and do not are not replaced without end.
func TestEndingIsBounded(t *testing.T) {
	r := newRig(t, Config{Total: 20})
	for range 20 {
		r.open("192.0.2.3")
	}
	n := 0
	for ; n < 1000; n++ {
		if _, err := r.Add(netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)})); err != nil {
			break
		}
	}
	if n == 0 || n > r.maxEnding() {
		t.Errorf("%d connections beyond the limit", n)
	}
}

// TestRandom: the books are right after many connections have come and gone, and the limits held.
func TestRandom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const total, perClient = 30, 12
		rng := rand.New(rand.NewPCG(1, 2))
		r := newRig(t, Config{Total: total, PerClient: perClient, HalfOpen: 10 * time.Second, Idle: time.Minute})
		var live []*fake
		for range 20000 {
			switch rng.IntN(8) {
			case 0, 1, 2:
				e, err := r.Add(netip.MustParseAddr(fmt.Sprintf("192.0.2.%d", rng.IntN(6))))
				if err == nil {
					f := &fake{e: e}
					f.busy.Store(rng.IntN(4) == 0)
					e.Attach(f)
					live = append(live, f)
				}
			case 3:
				time.Sleep(time.Duration(rng.IntN(2000)) * time.Millisecond)
			default:
				if len(live) == 0 {
					continue
				}
				i := rng.IntN(len(live))
				switch f := live[i]; rng.IntN(4) {
				case 0:
					f.e.Established()
				case 1:
					f.e.Use()
				case 2:
					f.busy.Store(!f.busy.Load())
				default:
					f.e.Remove()
					live[i] = live[len(live)-1]
					live = live[:len(live)-1]
				}
			}
			sum := 0
			r.mu.Lock()
			for a, n := range r.clients {
				if sum += n; n > perClient || n < 1 {
					t.Fatalf("%v has %d", a, n)
				}
			}
			if sum != len(r.entries) || sum > total {
				t.Fatalf("%d connections, %d of clients", len(r.entries), sum)
			}
			r.mu.Unlock()
		}
		for _, f := range live {
			f.e.Remove()
		}
		if r.Len() != 0 || r.ending != 0 || r.sweeps != nil {
			t.Errorf("left: %d connections, %d ending", r.Len(), r.ending)
		}
		for why := range Reasons {
			if why != int(NotAdmitted) && r.refused[why].Load() == 0 {
				t.Errorf("never %q: the test proves less than it should", Reason(why).Name())
			}
		}
	})
}
