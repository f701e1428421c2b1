package lock

import (
	"errors"
	"slices"
	"testing"
)

// TestOpenRecall checks an open that conflicts with caches: it claims nothing until all have answered, and then
// none caches more than keep.
func TestOpenRecall(t *testing.T) {
	m, k := New(), fileNamed(t, 1)
	o, a := claim(t, m, k, 1, rwh)
	none, r, err := m.OpenRecall(k, cacheKey(2), Read, Write, CacheRead)
	var conflict *ShareConflict
	if !errors.As(err, &conflict) || none != nil || done(r) || !slices.Equal(a.told, []string{"7>5 true"}) {
		t.Fatal("a conflict does not recall handles:", err, a.told)
	}
	if err := a.c.Acknowledge(CacheRead | CacheWrite); err != nil || !done(r) {
		t.Fatal(err)
	}
	none, r, err = m.OpenRecall(k, cacheKey(2), Read, 0, CacheRead)
	if err != nil || none != nil || done(r) || a.told[1] != "5>1 true" {
		t.Fatal("not recalled:", err, a.told)
	}
	if m.Others(k, cacheKey(1)) || m.Counts().Opens != 1 {
		t.Error("claimed before the answer")
	}
	if err := a.c.Acknowledge(CacheRead); err != nil || !done(r) {
		t.Fatal(err)
	}
	second, r, err := m.OpenRecall(k, cacheKey(2), Read, 0, CacheRead)
	if err != nil || r != nil || !m.Others(k, cacheKey(1)) {
		t.Fatal(err, r)
	}
	if got := a.c.Upgrade(rwh); got&CacheWrite != 0 {
		t.Errorf("writes are cached beside another's open: %d", got)
	}
	// A cache that needs no answer is reduced at once. A change that conflicts with a cache leaves the claim as it
	// is.
	if r, err := second.ChangeRecall(Read|Write, 0, 0); err != nil || r == nil && state(a) != 0 {
		t.Fatal(r, err, state(a))
	}
	if access, _ := second.Claims(); access != Read && state(a) != 0 {
		t.Errorf("claims %d while %d is cached", access, state(a))
	}
	a.c.Release()
	for _, o := range []*Open{o, second} {
		o.Close()
	}
	if c := m.Counts(); c != (Counts{}) {
		t.Errorf("left: %+v", c)
	}
}

// TestOpenRecallIsOneStep checks that no client is granted more caching than the opens of others allow, in any
// order of calls.
func TestOpenRecallIsOneStep(t *testing.T) {
	m, k := New(), fileNamed(t, 1)
	end := make(chan struct{})
	go func() { // caches as much as it can, and answers every recall
		defer close(end)
		for i := range 2000 {
			key := cacheKey(uint64(100 + i%4))
			acks := make(chan Caching, 1)
			if c := m.Cache(k, key, rwh, func(_, to Caching, ack bool) {
				if ack {
					acks <- to
				}
			}); c != nil {
				select {
				case to := <-acks:
					_ = c.Acknowledge(to)
				default:
				}
				c.Release()
			}
		}
	}()
	for range 2000 {
		o, r, err := m.OpenRecall(k, cacheKey(1), Read, 0, CacheRead|CacheHandle)
		if err != nil {
			t.Fatal(err)
		}
		if r != nil {
			<-r.Done()
			continue
		}
		s := m.lock(&k)
		for _, c := range s.files[k].caches {
			if c.state&CacheWrite != 0 {
				t.Error("writes are cached beside an open")
			}
		}
		s.mu.Unlock()
		o.Close()
	}
	<-end
}
