package admission

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// request notes that it has been admitted.
type request struct {
	id   int
	into *[]int
}

func (r *request) Admitted() { *r.into = append(*r.into, r.id) }

func TestOrder(t *testing.T) {
	b := New(100)
	var admitted []int
	req := func(id int) *request { return &request{id, &admitted} }
	if !b.Admit(60, req(0)) || !b.Admit(40, req(1)) {
		t.Fatal("refused what there was room for")
	}
	for i, n := range []int64{50, 1, 60} {
		if b.Admit(n, req(2+i)) {
			t.Fatalf("request %d was admitted beyond the limit", 2+i)
		}
	}
	if b.Waiting() != 3 || b.Held() != 100 {
		t.Fatalf("%d wait, %d bytes held", b.Waiting(), b.Held())
	}
	b.Give(40) // not enough for the first: the second, which would fit, must not overtake it
	if len(admitted) != 0 {
		t.Fatalf("admitted %v", admitted)
	}
	b.Give(60)
	if want := []int{2, 3}; !slices.Equal(admitted, want) {
		t.Fatalf("admitted %v, want %v", admitted, want)
	}
	b.Released(50)
	if want := []int{2, 3, 4}; !slices.Equal(admitted, want) || b.Held() != 61 {
		t.Fatalf("admitted %v, want %v; %d bytes held", admitted, want, b.Held())
	}
}

// A request that is larger than the limit runs alone.
func TestAlone(t *testing.T) {
	b := New(100)
	var admitted []int
	if !b.Admit(500, &request{0, &admitted}) {
		t.Fatal("nothing is held, and a large request waits")
	}
	if b.Admit(500, &request{1, &admitted}) || b.Admit(1, &request{2, &admitted}) {
		t.Fatal("admitted beside a large request")
	}
	b.Give(500)
	if !slices.Equal(admitted, []int{1}) {
		t.Fatalf("admitted %v", admitted)
	}
	b.Give(500)
	if !slices.Equal(admitted, []int{1, 2}) || b.Held() != 1 {
		t.Fatalf("admitted %v; %d bytes held", admitted, b.Held())
	}
}

// What has been admitted may come to hold more: it does not wait, others do.
func TestAdd(t *testing.T) {
	b := New(100)
	var admitted []int
	b.Admit(50, &request{0, &admitted})
	b.Add(80)
	b.Give(50)
	if b.Admit(30, &request{1, &admitted}) {
		t.Error("admitted beyond the limit")
	}
	if b.Give(80); len(admitted) != 1 || b.Held() != 30 {
		t.Errorf("admitted %v; %d bytes held", admitted, b.Held())
	}
}

func TestClose(t *testing.T) {
	b := New(10)
	var admitted []int
	waits := []*request{{1, &admitted}, {2, &admitted}}
	b.Admit(10, &request{0, &admitted})
	for _, r := range waits {
		b.Admit(5, r)
	}
	if got := b.Close(); len(got) != 2 || got[0] != waits[0] || got[1] != waits[1] || b.Waiting() != 0 {
		t.Fatalf("%v waited", got)
	}
	if !b.Admit(5, &request{3, &admitted}) {
		t.Error("a request waits after Close")
	}
	if b.Give(15); len(admitted) != 0 || b.Held() != 0 {
		t.Errorf("admitted %v; %d bytes held", admitted, b.Held())
	}
}

// waiter is a goroutine's request.
type waiter chan struct{}

func (w waiter) Admitted() { w <- struct{}{} }

// However requests come and go, no more is held than the limit but by one alone, and nobody is forgotten.
func TestConcurrent(t *testing.T) {
	const limit = 1000
	b := New(limit)
	var running, held atomic.Int64
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			w := make(waiter, 1)
			for range 2000 {
				n := r.Int64N(limit * 5 / 4)
				if !b.Admit(n, w) {
					<-w
				}
				if sum, others := held.Add(n), running.Add(1); sum > limit && others > 1 {
					t.Errorf("%d bytes held by %d requests", sum, others)
				}
				held.Add(-n)
				running.Add(-1)
				b.Give(n)
			}
		})
	}
	wg.Wait()
	if b.Held() != 0 || b.Waiting() != 0 {
		t.Errorf("%d bytes held, %d wait in the end", b.Held(), b.Waiting())
	}
}

func TestNoAllocation(t *testing.T) {
	b, w := New(100), make(waiter)
	if n := testing.AllocsPerRun(1000, func() { b.Admit(50, w); b.Give(50) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
