package slab

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func get(t testing.TB, p *Pool, n int) *Buf {
	t.Helper()
	b, ok := p.TryGet(n)
	if !ok {
		t.Fatalf("no buffer of %d bytes", n)
	}
	return b
}

func closePool(t testing.TB, p *Pool) {
	t.Helper()
	for _, l := range p.Leaks() {
		t.Error(l)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestSizes(t *testing.T) {
	p := New(Config{Limit: 8 * ArenaSize})
	defer closePool(t, p)
	for _, c := range []struct{ n, size int }{
		{0, 2048}, {1, 2048}, {2048, 2048}, {2049, 4096}, {4096, 4096}, {65537, 131072},
		{1 << 20, 1 << 20}, {1<<20 + 1, 2 << 20}, {MaxSize - 1, MaxSize}, {MaxSize, MaxSize},
	} {
		b := get(t, p, c.n)
		if SizeOf(c.n) != c.size {
			t.Errorf("SizeOf(%d) = %d", c.n, SizeOf(c.n))
		}
		if b.Len() != c.n || len(b.Bytes()) != c.n || b.Cap() != c.size || cap(b.Bytes()) != c.size {
			t.Errorf("%d bytes: Len %d, Cap %d, slice %d of %d", c.n, b.Len(), b.Cap(), len(b.Bytes()), cap(b.Bytes()))
		}
		if b.Offset()%c.size != 0 || b.Offset()+c.size > len(b.Arena().Mem) {
			t.Errorf("%d bytes at %d", c.n, b.Offset())
		}
		b.SetLen(b.Cap())
		b.Bytes()[b.Cap()-1] = 1
		b.Release()
	}
	for _, n := range []int{-1, MaxSize + 1} {
		if _, err := p.Get(context.Background(), n); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%d bytes: %v", n, err)
		}
		if _, ok := p.TryGet(n); ok {
			t.Errorf("%d bytes were handed out", n)
		}
	}
}

func panics(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if r := recover(); r == nil || !strings.Contains(fmt.Sprint(r), want) {
			t.Errorf("panic %v, not %q", r, want)
		}
	}()
	f()
}

func TestMisuse(t *testing.T) {
	p := New(Config{Debug: true})
	b := get(t, p, 100)
	panics(t, "length 2049", func() { b.SetLen(2049) })
	panics(t, "length -1", func() { b.SetLen(-1) })
	b.Retain().Release()
	if s := p.Stats(); s.Buffers != 1 || s.Bytes != 2048 {
		t.Errorf("figures %+v", s)
	}
	l := p.Leaks()
	if len(l) != 1 || !strings.Contains(l[0], "TestMisuse") {
		t.Errorf("leaks %q do not name this test", l)
	}
	if err := p.Close(); err == nil {
		t.Error("a pool was closed with a buffer in use")
	}
	mem := b.Bytes()
	b.Release()
	if mem[0] != poison || mem[99] != poison {
		t.Errorf("released memory is %x", mem[:4])
	}
	mem[7] = 1
	panics(t, "byte 7 of a buffer of 2048 was written after its release", func() { p.TryGet(1) })

	p = New(Config{})
	b = get(t, p, 1)
	b.Release()
	panics(t, "released twice", b.Release)
	b = get(t, p, 1)
	b.Release()
	panics(t, "released buffer", func() { b.Retain() })
}

func TestReuseAcrossClasses(t *testing.T) {
	p := New(Config{Limit: 2 * ArenaSize})
	defer closePool(t, p)
	var small []*Buf
	for range 2 * ArenaSize / 4096 {
		small = append(small, get(t, p, 4096))
	}
	if _, ok := p.TryGet(1); ok {
		t.Error("more than the limit was handed out")
	}
	for _, b := range small[1:] {
		b.Release()
	}
	big := get(t, p, MaxSize) // the arena that small[0] does not lie in
	if big.Arena() == small[0].Arena() {
		t.Error("an arena was handed out twice")
	}
	if _, ok := p.TryGet(MaxSize); ok {
		t.Error("an arena in use was handed out")
	}
	small[0].Release()
	get(t, p, MaxSize).Release()
	big.Release()
	if s := p.Stats(); s.Mapped != 2*ArenaSize || s.Buffers != 0 || s.Bytes != 0 {
		t.Errorf("figures %+v", s)
	}
}

// TestHeldForLong has one small buffer of every 64 held, as posted receives are: the rest of the memory is there for other sizes.
func TestHeldForLong(t *testing.T) {
	p := New(Config{Limit: 4 * ArenaSize})
	defer closePool(t, p)
	const size = 4096
	var held []*Buf
	for shift := minShift; shift < 20; shift++ { // of every class, too
		held = append(held, get(t, p, 1<<shift))
	}
	var small []*Buf
	for range 8 * chunkSize / size {
		small = append(small, get(t, p, size))
	}
	for i, b := range small {
		if i%(chunkSize/size) == 0 {
			held = append(held, b)
		} else {
			b.Release()
		}
	}
	var large []*Buf
	for range 3 * ArenaSize >> 20 {
		b, ok := p.TryGet(1 << 20)
		if !ok {
			t.Fatalf("no more than %d buffers of 1 MiB: %+v", len(large), p.Stats())
		}
		large = append(large, b)
	}
	for _, b := range append(held, large...) {
		b.Release()
	}
}

func TestWaitInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Config{Limit: ArenaSize})
		defer closePool(t, p)
		all := get(t, p, MaxSize)
		var order []int
		var mu sync.Mutex
		for i, n := range []int{4096, MaxSize, 4096, 1} {
			go func() {
				b, err := p.Get(t.Context(), n)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				time.Sleep(time.Second)
				b.Release()
			}()
			synctest.Wait()
		}
		if s := p.Stats(); s.WaitingFor != 4 {
			t.Errorf("%d wait", s.WaitingFor)
		}
		if _, ok := p.TryGet(1); ok {
			t.Error("TryGet overtook those who wait")
		}
		served := func() string {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return fmt.Sprint(order)
		}
		all.Release()
		if s := served(); s != "[0]" { // the big one waits, and nobody overtakes it
			t.Errorf("served %v", s)
		}
		time.Sleep(1500 * time.Millisecond)
		if s := served(); s != "[0 1]" {
			t.Errorf("served %v", s)
		}
		time.Sleep(time.Second)
		if s := served(); s != "[0 1 2 3]" && s != "[0 1 3 2]" { // both at once
			t.Errorf("served %v", s)
		}
		time.Sleep(2 * time.Second)
	})
}

func TestGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Config{Limit: ArenaSize})
		defer closePool(t, p)
		half := get(t, p, MaxSize/2)
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		errs := make(chan error, 1)
		go func() {
			_, err := p.Get(ctx, MaxSize)
			errs <- err
		}()
		synctest.Wait()
		got := make(chan *Buf, 1)
		go func() {
			b, _ := p.Get(t.Context(), MaxSize/2)
			got <- b
		}()
		synctest.Wait()
		if len(got) > 0 {
			t.Error("the big request was overtaken")
		}
		cancel(why)
		if err := <-errs; err != why {
			t.Errorf("Get: %v", err)
		}
		(<-got).Release()
		half.Release()
	})
}

func TestCloseUnderWaiters(t *testing.T) {
	p := New(Config{Limit: ArenaSize})
	b := get(t, p, MaxSize)
	if p.Close() == nil {
		t.Error("closed with a buffer in use")
	}
	// A waiter that has been served but does not run yet counts as a user.
	w := &waiter{got: make(chan *Buf, 1)}
	p.waiters.PushBack(w)
	b.Release()
	if p.Close() == nil {
		t.Error("closed under a waiter that has been served")
	}
	p.hand(<-w.got, 1).Release()
	// One that has not been served learns of the end.
	p.waiters.PushBack(&waiter{got: w.got})
	closePool(t, p)
	if _, ok := <-w.got; ok {
		t.Error("a buffer of a closed pool")
	}
	if err := p.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if _, err := p.Get(t.Context(), 1); err != ErrClosed {
		t.Errorf("Get of a closed pool: %v", err)
	}
	if _, ok := p.TryGet(1); ok {
		t.Error("TryGet of a closed pool")
	}
}

func TestOnArena(t *testing.T) {
	p := New(Config{Limit: 3 * ArenaSize})
	a := get(t, p, MaxSize)
	var seen []int
	stop := p.OnArena(func(a *Arena) {
		if len(a.Mem) != ArenaSize {
			t.Errorf("arena of %d bytes", len(a.Mem))
		}
		seen = append(seen, a.ID)
	})
	b := get(t, p, MaxSize)
	stop()
	c := get(t, p, MaxSize)
	if fmt.Sprint(seen) != "[0 1]" || c.Arena().ID != 2 {
		t.Errorf("arenas %v", seen)
	}
	for _, x := range []*Buf{a, b, c} {
		x.Release()
	}
	closePool(t, p)
}

// TestConcurrent has many users stamp their buffers and find the stamps intact,
// under a limit that makes them wait for each other.
func TestConcurrent(t *testing.T) {
	for _, debug := range []bool{false, true} {
		p := New(Config{Limit: 2 * ArenaSize, Debug: debug})
		var wg sync.WaitGroup
		for g := range 16 {
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(uint64(g), 1))
				for i := range 50 {
					ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rnd.IntN(3000))*time.Microsecond)
					b, err := p.Get(ctx, 1<<(10+rnd.IntN(14)))
					cancel()
					if err != nil {
						continue
					}
					m := b.Bytes()
					stamp := byte(g*16 + i%16)
					m[0], m[len(m)-1] = stamp, stamp
					b.Retain()
					b.Release()
					if m[0] != stamp || m[len(m)-1] != stamp {
						t.Error("a buffer has two owners")
					}
					b.Release()
				}
			})
		}
		wg.Wait()
		if s := p.Stats(); s.Buffers != 0 || s.Bytes != 0 || s.WaitingFor != 0 || s.Mapped > s.Limit {
			t.Errorf("figures %+v", s)
		}
		closePool(t, p)
	}
}

func TestNoAllocations(t *testing.T) {
	p := New(Config{})
	ctx := context.Background()
	step := func() {
		b, err := p.Get(ctx, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		c, _ := p.TryGet(4096)
		b.Retain().Release()
		b.Release()
		c.Release()
	}
	step()
	if n := testing.AllocsPerRun(1000, step); n != 0 {
		t.Errorf("%v allocations", n)
	}
	closePool(t, p)
}

func BenchmarkGetRelease(b *testing.B) {
	p := New(Config{})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			x, _ := p.Get(context.Background(), 64<<10)
			x.Release()
		}
	})
	closePool(b, p)
}

// ownerFunc is an Owner.
type ownerFunc func(int)

func (f ownerFunc) Released(n int) { f(n) }

// The owner is told once, when the memory is there for others, and not of the buffer's next life.
func TestOwner(t *testing.T) {
	p := New(Config{Debug: true})
	b, _ := p.TryGet(5000)
	var told []int
	b.SetOwner(ownerFunc(func(n int) {
		if p.Stats().Buffers != 0 {
			t.Error("the memory is not given back yet")
		}
		told = append(told, n)
	}))
	size := b.Cap()
	b.Retain().Release()
	if len(told) > 0 {
		t.Fatal("told with a reference left")
	}
	b.Release()
	c, _ := p.TryGet(5000)
	c.Release()
	if len(told) != 1 || told[0] != size {
		t.Errorf("told of %v, want %d", told, size)
	}
}
