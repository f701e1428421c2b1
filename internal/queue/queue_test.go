package queue

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestAgainstSlice does the same to a queue and to a slice.
func TestAgainstSlice(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var q Queue[int]
		var model []int
		for step := range 2000 {
			switch op := rng.IntN(10); {
			case op < 5 || op < 6 && step%200 < 100:
				q.Push(step)
				model = append(model, step)
			case op < 9:
				v, ok := q.Pop()
				if ok != (len(model) > 0) || ok && v != model[0] {
					t.Fatalf("seed %d, step %d: popped %d, %v; want of %v", seed, step, v, ok, model)
				}
				if ok {
					model = model[1:]
				}
			default:
				want := -1
				if len(model) > 0 {
					want = model[rng.IntN(len(model))]
				}
				v, ok := q.Remove(func(v int) bool { return v == want })
				if i := slices.Index(model, want); ok != (i >= 0) || ok && v != want {
					t.Fatalf("seed %d, step %d: removed %d, %v", seed, step, v, ok)
				} else if ok {
					model = slices.Delete(model, i, i+1)
				}
			}
			if q.Len() != len(model) {
				t.Fatalf("seed %d, step %d: %d elements of %d", seed, step, q.Len(), len(model))
			}
			for i, v := range model {
				if *q.At(i) != v {
					t.Fatalf("seed %d, step %d: element %d is %d and not %d", seed, step, i, *q.At(i), v)
				}
			}
		}
	}
}

// TestForgets: the ring does not keep what has left the queue.
func TestForgets(t *testing.T) {
	var q Queue[*int]
	for range 20 {
		q.Push(new(int))
	}
	q.Remove(func(*int) bool { return true })
	for {
		if _, ok := q.Pop(); !ok {
			break
		}
	}
	for i, p := range q.ring {
		if p != nil {
			t.Errorf("storage %d is kept", i)
		}
	}
}

func TestAtPanics(t *testing.T) {
	var q Queue[int]
	q.Push(1)
	for _, i := range []int{-1, 1} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("element %d of one", i)
				}
			}()
			q.At(i)
		}()
	}
}

// TestAllocations: a queue that has been as long before allocates nothing.
func TestAllocations(t *testing.T) {
	var q Queue[[3]uint64]
	run := func() {
		for range 100 {
			q.Push([3]uint64{})
		}
		for range 100 {
			q.Pop()
		}
	}
	run()
	if n := testing.AllocsPerRun(10, run); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
