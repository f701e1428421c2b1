package lock_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"fileserver/vfs"
	"fileserver/vfs/lock"
)

// wait registers a wait that appends the owner to log when it ends.
func wait(t *testing.T, m *lock.Manager, o string, r lock.Range, ex bool, log *[]string) *lock.Waiter {
	t.Helper()
	w, err := m.Wait(key(1), owner(o), r, ex, func() { *log = append(*log, o) })
	if err != nil || w == nil {
		t.Fatalf("Wait: %v, %v", w, err)
	}
	return w
}

func TestWait(t *testing.T) {
	m := lock.New()
	var log []string
	expectLog := func(want ...string) {
		t.Helper()
		if fmt.Sprint(log) != fmt.Sprint(want) {
			t.Fatalf("called: %v, want %v", log, want)
		}
		log = nil
	}
	if w, err := m.Wait(key(1), owner("a"), rng(0, 1), true, func() { t.Error("called") }); w != nil || err != nil {
		t.Fatalf("Wait for nothing: %v, %v", w, err)
	}
	m.Lock(key(1), owner("a"), rng(0, 10), true)
	wait(t, m, "b", rng(0, 5), true, &log)
	wait(t, m, "c", rng(5, 5), false, &log)
	wait(t, m, "d", rng(0, 10), true, &log)
	m.Unlock(key(1), owner("a"), rng(20, 5))
	m.Unlock(key(1), owner("a"), rng(0, 4))
	expectLog()
	m.Unlock(key(1), owner("a"), rng(4, 1))
	expectLog("b")
	m.Lock(key(1), owner("a"), rng(5, 5), false) // a downgrade frees readers
	expectLog("c")
	m.ReleaseClient(1, 7)
	expectLog("d")

	// Waiters are called in the order in which they registered; canceled ones are not called.
	m.Lock(key(1), owner("a"), rng(0, 10), true)
	wait(t, m, "b", rng(0, 1), true, &log)
	c := wait(t, m, "c", rng(0, 1), true, &log)
	d := wait(t, m, "d", rng(0, 1), true, &log)
	if !c.Cancel() || c.Cancel() {
		t.Fatal("Cancel says the wrong thing")
	}
	m.UnlockAll(key(1), owner("a"))
	expectLog("b", "d")
	if d.Cancel() {
		t.Fatal("Cancel of a wait that is over says true")
	}
	if c := m.Counts(); c != (lock.Counts{}) {
		t.Fatalf("left over: %+v", c)
	}
}

func TestDeadlock(t *testing.T) {
	m := lock.New()
	a, b, c := owner("a"), owner("b"), owner("c")
	nothing := func() {}
	m.Lock(key(1), a, rng(0, 1), true)
	m.Lock(key(2), b, rng(0, 1), true)
	m.Lock(key(3), c, rng(0, 1), true)
	wab, err := m.Wait(key(2), a, rng(0, 1), true, nothing)
	if err != nil || wab == nil {
		t.Fatal(err)
	}
	if _, err := m.Wait(key(3), b, rng(0, 1), true, nothing); err != nil {
		t.Fatal(err)
	}
	// c would wait for a, who waits for b, who waits for c.
	if _, err := m.Wait(key(1), c, rng(0, 1), false, nothing); vfs.StatusOf(err) != vfs.ErrDeadlock {
		t.Fatalf("Wait: %v, want a deadlock", err)
	}
	if !wab.Cancel() {
		t.Fatal("Cancel failed")
	}
	if _, err := m.Wait(key(1), c, rng(0, 1), false, nothing); err != nil {
		t.Fatalf("Wait after the circle is broken: %v", err)
	}
	// Two readers who both want to write.
	d, e := owner("d"), owner("e")
	m.Lock(key(4), d, rng(0, 1), false)
	m.Lock(key(4), e, rng(0, 1), false)
	if _, err := m.Wait(key(4), d, rng(0, 1), true, nothing); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Wait(key(4), e, rng(0, 1), true, nothing); vfs.StatusOf(err) != vfs.ErrDeadlock {
		t.Fatalf("Wait: %v, want a deadlock", err)
	}
}

// TestMutualExclusion lets many goroutines wait for locks: every one must get its lock, and no two may hold
// conflicting locks.
func TestMutualExclusion(t *testing.T) {
	m := lock.New()
	const bytes = 8
	var holders [bytes]atomic.Int32 // 1000 for a writer, 1 per reader
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			o := owner(fmt.Sprint(i))
			rnd := rand.New(rand.NewPCG(uint64(i), 1))
			for range 300 {
				off := rnd.Uint64N(bytes)
				r, ex, weight := rng(off, 1+rnd.Uint64N(bytes-off)), rnd.IntN(2) == 0, int32(1)
				if ex {
					weight = 1000
				}
				for m.Lock(key(1), o, r, ex) != nil {
					free := make(chan struct{})
					w, err := m.Wait(key(1), o, r, ex, func() { close(free) })
					if err != nil { // an owner that holds nothing cannot be part of a cycle
						t.Errorf("Wait: %v", err)
						return
					}
					if w != nil {
						<-free
					}
				}
				for b := r.Off; b < r.Off+r.Len; b++ {
					if n := holders[b].Add(weight); n > 1000 || ex && n != 1000 {
						t.Errorf("byte %d is held by %d", b, n)
					}
				}
				for b := r.Off; b < r.Off+r.Len; b++ {
					holders[b].Add(-weight)
				}
				m.Unlock(key(1), o, r)
			}
		})
	}
	wg.Wait()
	if c := m.Counts(); c != (lock.Counts{}) {
		t.Fatalf("left over: %+v", c)
	}
}

// TestConcurrentOpens opens a file from many goroutines, with and without denials: no granted open may have an
// access that another denies.
func TestConcurrentOpens(t *testing.T) {
	m := lock.New()
	var writers, denied atomic.Int32
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			for range 500 {
				if i%2 == 0 {
					if o, err := m.Open(key(1), lock.CacheKey{}, lock.Write, 0); err == nil {
						writers.Add(1)
						if denied.Load() > 0 {
							t.Error("wrote while denied")
						}
						writers.Add(-1)
						o.Close()
					}
				} else if o, err := m.Open(key(1), lock.CacheKey{}, lock.Read, lock.Write); err == nil {
					denied.Add(1)
					if writers.Load() > 0 {
						t.Error("denied while written")
					}
					denied.Add(-1)
					o.Close()
				}
			}
		})
	}
	wg.Wait()
	if c := m.Counts(); c != (lock.Counts{}) {
		t.Fatalf("left over: %+v", c)
	}
	if err := m.CheckIO(key(1), lock.Owner{}, rng(0, 1), true); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkCheckIO(b *testing.B) {
	m := lock.New()
	k := key(1)
	o, _ := m.Open(k, lock.CacheKey{}, lock.Read, 0)
	defer o.Close()
	for b.Loop() {
		m.CheckIO(k, lock.Owner{}, rng(0, 10), true)
	}
}

// BenchmarkLockAmongMany locks and unlocks a byte of a file on which another client holds 100,000 locks.
func BenchmarkLockAmongMany(b *testing.B) {
	m := lock.New()
	for i := range uint64(100_000) {
		m.Lock(key(1), owner("a"), rng(i*2, 1), true)
	}
	o := owner("b")
	for b.Loop() {
		m.Lock(key(1), o, rng(100_001, 1), true)
		m.Unlock(key(1), o, rng(100_001, 1))
	}
}
