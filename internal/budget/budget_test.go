package budget

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestCallsAreBounded: of many calls no more than the limit are inside at once, and all get in.
func TestCallsAreBounded(t *testing.T) {
	c := NewShares(8, 1024).Add()
	var inside, most atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 2000 {
				if err := c.Enter(t.Context()); err != nil {
					t.Error(err)
					return
				}
				n := inside.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				inside.Add(-1)
				c.Leave()
			}
		})
	}
	for range 20 { // more than may be inside
		wg.Go(func() {
			for range 200 {
				if err := c.Enter(t.Context()); err != nil {
					t.Error(err)
					return
				}
				inside.Add(1)
				inside.Add(-1)
				c.Leave()
			}
		})
	}
	wg.Wait()
	if most.Load() > 8 {
		t.Errorf("%d calls were inside at once, limit 8", most.Load())
	}
	if s := c.Stats(); s.Running != 0 || s.Waiting != 0 || s.Refused != 0 {
		t.Errorf("at the end: %+v", s)
	}
}

// TestCallsWait: whoever is beyond the limit waits in the order of arrival, for a time; whoever is beyond the
// queue does not wait.
func TestCallsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewShares(8, 1024).Add()
		ctx := t.Context()
		for range 8 {
			if !c.TryEnter() {
				t.Fatal("no place where nobody is")
			}
		}
		var mu sync.Mutex
		var order []int
		errs := make([]error, 8*queuePerThread)
		for i := range errs {
			go func() {
				errs[i] = c.Enter(ctx)
				mu.Lock()
				defer mu.Unlock()
				order = append(order, i)
			}()
			synctest.Wait()
		}
		if err := c.Enter(ctx); err != ErrOverload {
			t.Errorf("beyond the queue: %v", err)
		}
		if c.TryEnter() {
			t.Error("TryEnter goes ahead of those who wait")
		}
		c.Leave()
		synctest.Wait()
		c.Leave()
		synctest.Wait()
		if len(order) != 2 || order[0] != 0 || order[1] != 1 || errs[0] != nil || errs[1] != nil {
			t.Errorf("after two left, %v got in (%v, %v)", order, errs[0], errs[1])
		}
		ended, end := context.WithCancel(ctx)
		end()
		if err := c.Enter(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("with a context that has ended: %v", err)
		}
		time.Sleep(patience + time.Second)
		synctest.Wait()
		for i, err := range errs[2:] {
			if err != ErrOverload {
				t.Fatalf("waiter %d, after %v: %v", i+2, patience, err)
			}
		}
		if s := c.Stats(); s.Running != 8 || s.Waiting != 0 || s.Refused != uint64(len(errs)-2+2) {
			t.Errorf("at the end: %+v", s)
		}
	})
}

// TestThreadsAreDivided: shares have equal parts, and those blocked in a share that has gone are not given away.
func TestThreadsAreDivided(t *testing.T) {
	all := NewShares(64, 1024)
	a := all.Add()
	if n := a.Stats().Limit; n != 64 {
		t.Errorf("one share has %d of 64", n)
	}
	b := all.Add()
	if x, y := a.Stats().Limit, b.Stats().Limit; x != 32 || y != 32 {
		t.Errorf("two shares have %d and %d of 64", x, y)
	}
	for range 20 {
		a.TryEnter()
	}
	a.Close()
	if n := b.Stats().Limit; n != 44 {
		t.Errorf("%d of 64 while 20 are blocked in a share that has gone", n)
	}
	for range 20 {
		a.Leave()
	}
	c := all.Add()
	if x, y := b.Stats().Limit, c.Stats().Limit; x != 32 || y != 32 {
		t.Errorf("two shares have %d and %d of 64", x, y)
	}
	if n := NewShares(1<<20, 1024).Add().Stats().Limit; n != maxShareThreads {
		t.Errorf("one share has %d threads", n)
	}
	if x, y := b.Cache(), c.Cache(); x != 512 || y != 512 {
		t.Errorf("two shares keep %d and %d descriptors of 1024", x, y)
	}
	for range 20 {
		c = all.Add()
	}
	if n := c.Stats().Limit; n != minShareThreads {
		t.Errorf("one of many shares has %d threads", n)
	}
}

// TestRaisedLimit: those who wait get in when the limit is raised.
func TestRaisedLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := NewShares(16, 1024)
		a, b := all.Add(), all.Add()
		for range 8 {
			a.TryEnter()
		}
		in := false
		go func() { in = a.Enter(t.Context()) == nil }()
		synctest.Wait()
		if in {
			t.Fatal("nine calls where eight may be")
		}
		b.Close()
		synctest.Wait()
		if !in {
			t.Error("the call still waits though there is room")
		}
	})
}

func TestEnterAllocatesNothing(t *testing.T) {
	c := NewShares(8, 1024).Add()
	ctx := t.Context()
	if a := testing.AllocsPerRun(1000, func() {
		if c.Enter(ctx) == nil {
			c.Leave()
		}
	}); a > 0 {
		t.Errorf("%v allocations", a)
	}
}

// TestFilesAreDivided: a greedy client gets a part, and there is always something for the next.
func TestFilesAreDivided(t *testing.T) {
	f := NewFiles(120)
	greedy := netip.MustParseAddr("::ffff:192.0.2.1")
	n := 0
	for f.Take(greedy) {
		n++
	}
	if n != 60 {
		t.Errorf("one client alone has %d of 120", n)
	}
	if f.Take(netip.MustParseAddr("192.0.2.1")) {
		t.Error("the same address, written otherwise, is another client")
	}
	for i := range 30 { // many greedy ones
		for a := netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}); f.Take(a); n++ {
		}
	}
	used, _ := f.Used()
	if used != n {
		t.Errorf("%d are taken, %d counted", n, used)
	}
	if last := netip.MustParseAddr("2001:db8::1"); n < 120 && !f.Take(last) {
		t.Errorf("with %d of 120 taken nothing is left for the next", n)
	} else if n < 120 {
		f.Give(last, 1)
	}
	f.Give(greedy, 60)
	for i := range 30 {
		a := netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})
		f.Give(a, f.by[a])
	}
	if used, _ := f.Used(); used != 0 || len(f.by) != 0 {
		t.Errorf("%d are taken at the end, by %d clients", used, len(f.by))
	}
	var none *Files
	if !none.Take(greedy) {
		t.Error("nil refuses")
	}
	none.Give(greedy, 1)
}

// TestPlanDescriptors: the parts leave an eighth to the server itself.
func TestPlanDescriptors(t *testing.T) {
	for _, n := range []int{64, 256, 1024, 4096, 1 << 20} {
		p := PlanDescriptors(n)
		if sum := p.Connections + p.Files*perFile + p.Cache; sum > n-n/8 || min(p.Connections, p.Files, p.Cache) < 1 {
			t.Errorf("of %d: %+v, together %d", n, p, sum)
		}
	}
	if n := Descriptors(); n < 16 {
		t.Errorf("%d descriptors", n)
	}
}

// TestGroupLimit: the smallest limit on the way up counts.
func TestGroupLimit(t *testing.T) {
	dir := t.TempDir()
	write := func(path, content string) string {
		t.Helper()
		p := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return p
	}
	write("fs/pids.max", "max\n")
	write("fs/a/pids.max", "300\n")
	write("fs/a/b/pids.max", "4000\n")
	for self, want := range map[string]int{"0::/a/b\n": 300, "0::/\n": 0, "1:pids:/x\n": 0, "0::/../../a\n": 300} {
		n, ok := groupLimit(write("self", self), filepath.Join(dir, "fs"))
		if n != want || ok != (want > 0) {
			t.Errorf("%q: limit %d, %v, want %d", self, n, ok, want)
		}
	}
	if _, ok := groupLimit(filepath.Join(dir, "none"), dir); ok {
		t.Error("a limit from a file that is not there")
	}
	if n := AvailableThreads(); n < minShareThreads || n > maxThreads {
		t.Errorf("%d threads", n)
	}
}
