package lock

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"fileserver/vfs"
)

func cacheKey(i uint64) CacheKey { return CacheKey{Proto: 1, Client: i} }

// holder is a client that caches, and records the recalls it gets.
type holder struct {
	c    *Cache
	told []string
}

func (h *holder) recall(from, to Caching, ack bool) {
	h.told = append(h.told, fmt.Sprintf("%d>%d %v", from, to, ack))
}

func fileNamed(t *testing.T, b byte) FileKey {
	t.Helper()
	return FileKey{Object: uint64(b)}
}

// claim opens the file and asks for caching.
func claim(t *testing.T, m *Manager, k FileKey, i uint64, want Caching) (*Open, *holder) {
	t.Helper()
	o, err := m.Open(k, cacheKey(i), Read|Write, 0)
	if err != nil {
		t.Fatal(err)
	}
	h := &holder{}
	h.c = m.Cache(k, cacheKey(i), want, h.recall)
	return o, h
}

func state(h *holder) Caching {
	if h.c == nil {
		return 0
	}
	s, _ := h.c.State()
	return s
}

func done(r *Recall) bool {
	if r == nil {
		return true
	}
	select {
	case <-r.Done():
		return true
	default:
		return false
	}
}

const rwh = CacheRead | CacheWrite | CacheHandle

func TestSecondOpenBreaksWriteCaching(t *testing.T) {
	m, k := New(), fileNamed(t, 1)
	o1, a := claim(t, m, k, 1, rwh)
	if state(a) != rwh {
		t.Fatalf("the first gets %d", state(a))
	}
	r := m.Recall(k, cacheKey(2), CacheRead|CacheHandle)
	if done(r) || !slices.Equal(a.told, []string{"7>3 true"}) {
		t.Fatal("not recalled", a.told)
	}
	o2, b := claim(t, m, k, 2, rwh)
	if state(b) != 0 {
		t.Fatalf("the second gets %d before the first has answered", state(b))
	}
	if err := a.c.Acknowledge(rwh); !errors.Is(err, vfs.ErrInvalid) {
		t.Errorf("kept what was recalled: %v", err)
	}
	if err := a.c.Acknowledge(CacheRead | CacheHandle); err != nil || !done(r) || state(a) != 3 {
		t.Fatal(err, done(r), state(a))
	}
	if err := a.c.Acknowledge(CacheRead); !errors.Is(err, vfs.ErrInvalid) {
		t.Errorf("answered twice: %v", err)
	}
	b.c = m.Cache(k, cacheKey(2), rwh, b.recall)
	if state(b) != CacheRead|CacheHandle {
		t.Fatalf("the second gets %d", state(b))
	}
	// Before a write: a client that only caches reads need not answer, one that caches handles must.
	b.c.Reduce(CacheRead)
	r = m.Recall(k, cacheKey(3), 0)
	if done(r) || a.told[1] != "3>0 true" || b.told[0] != "1>0 false" || state(b) != 0 {
		t.Fatal(a.told, b.told, state(b))
	}
	a.c.Release()
	if !done(r) {
		t.Error("the release is no answer")
	}
	b.c.Release()
	o1.Close()
	o2.Close()
	if c := m.Counts(); c != (Counts{}) {
		t.Errorf("left: %+v", c)
	}
}

func TestFurtherRecallWhileOneIsOut(t *testing.T) {
	m, k := New(), fileNamed(t, 1)
	o, a := claim(t, m, k, 1, rwh)
	defer o.Close()
	first := m.Recall(k, cacheKey(2), CacheRead|CacheHandle)
	second := m.Recall(k, cacheKey(3), 0)
	if len(a.told) != 1 {
		t.Fatal("two recalls at once", a.told)
	}
	if err := a.c.Acknowledge(3); err != nil {
		t.Fatal(err)
	}
	if len(a.told) != 2 || a.told[1] != "3>0 true" || done(second) || done(first) {
		t.Fatal(a.told, done(first), done(second))
	}
	if err := a.c.Acknowledge(0); err != nil || !done(first) || !done(second) {
		t.Fatal(err)
	}
	a.c.Release()
}

func TestRevoke(t *testing.T) {
	m, k := New(), fileNamed(t, 1)
	o, a := claim(t, m, k, 1, rwh)
	defer o.Close()
	a.c.Revoke() // no answer is due
	if state(a) != rwh {
		t.Fatal("revoked without a recall")
	}
	r := m.Recall(k, cacheKey(2), CacheRead)
	a.c.Revoke()
	if !done(r) || state(a) != CacheRead {
		t.Error(done(r), state(a))
	}
	a.c.Release()
}

func TestGrants(t *testing.T) {
	m, k := New(), fileNamed(t, 1)
	stat, err := m.Open(k, CacheKey{}, 0, 0) // attributes only: conflicts with nothing
	if err != nil {
		t.Fatal(err)
	}
	o1, a := claim(t, m, k, 1, rwh)
	if state(a) != rwh {
		t.Errorf("beside an open for attributes: %d", state(a))
	}
	o1b, b := claim(t, m, k, 1, 0) // the same lease's second open
	if b.c != nil || a.c.Upgrade(rwh) != rwh {
		t.Error("the key is in its own way")
	}
	if c := m.Lock(k, Owner{Proto: 1, Client: 9}, Range{0, 10}, true); c != nil {
		t.Fatal(c)
	}
	x := &holder{}
	if x.c = m.Cache(k, cacheKey(2), CacheRead, x.recall); x.c != nil {
		t.Error("cached although others hold locks")
	}
	if x.c = m.Cache(k, cacheKey(2), CacheHandle, x.recall); x.c != nil {
		t.Error("handles without data")
	}
	a.c.Release()
	for _, o := range []*Open{stat, o1, o1b} {
		o.Close()
	}
}

func TestRecallCostsNothingWithoutCaches(t *testing.T) {
	m, k := New(), fileNamed(t, 1)
	if n := testing.AllocsPerRun(100, func() { m.Recall(k, CacheKey{}, 0) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestRandom runs random operations: every recall must end, and no claim may be left.
func TestRandom(t *testing.T) {
	m, k := New(), fileNamed(t, 1)

	var wg sync.WaitGroup

	for i := range uint64(6) {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(i, 1))
			for range 500 {
				o, r, err := m.OpenRecall(k, cacheKey(i), Read, 0, CacheRead|CacheHandle)
				for ; r != nil; o, r, err = m.OpenRecall(k, cacheKey(i), Read, 0, CacheRead|CacheHandle) {
					<-r.Done()
				}
				if err != nil {
					t.Error(err)
					return
				}
				acks := make(chan Caching, 10)
				c := m.Cache(k, cacheKey(i), Caching(rnd.IntN(8)), func(_, to Caching, ack bool) {
					if ack {
						acks <- to
					}
				})
				if c != nil {
					select {
					case to := <-acks:
						if err := c.Acknowledge(to); err != nil {
							t.Error(err)
						}
					default:
					}
					c.Release()
				}
				o.Close()
			}
		})
	}
	wg.Wait()
	if c := m.Counts(); c != (Counts{}) {
		t.Errorf("left: %+v", c)
	}
}
