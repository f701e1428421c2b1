package lock_test

import (
	"math"
	"testing"

	"fileserver/vfs/lock"
)

const maxOff = math.MaxUint64

// TestScenarios are the cases of fcntl(2), with the ends of the range of offsets.
func TestScenarios(t *testing.T) {
	a, b := owner("a"), owner("b")
	type step struct {
		op   string // r, w: lock; u: unlock
		o    lock.Owner
		r    lock.Range
		deny string // the conflict, if any
	}
	for _, c := range []struct {
		name  string
		steps []step
		want  []string
	}{
		{"merge neighbours", []step{{"w", a, rng(0, 10), ""}, {"w", a, rng(20, 10), ""}, {"w", a, rng(10, 10), ""}}, []string{"a 0+30 w"}},
		{"neighbours of another kind", []step{{"w", a, rng(0, 10), ""}, {"r", a, rng(10, 10), ""}}, []string{"a 0+10 w", "a 10+10 r"}},
		{"neighbours of another owner", []step{{"w", a, rng(0, 10), ""}, {"w", b, rng(10, 10), ""}}, []string{"a 0+10 w", "b 10+10 w"}},
		{"split by unlock", []step{{"w", a, rng(0, 30), ""}, {"u", a, rng(10, 10), ""}}, []string{"a 0+10 w", "a 20+10 w"}},
		{"split by downgrade", []step{{"w", a, rng(0, 30), ""}, {"r", a, rng(10, 10), ""}}, []string{"a 0+10 w", "a 10+10 r", "a 20+10 w"}},
		{"upgrade of all", []step{{"r", a, rng(5, 5), ""}, {"w", a, rng(0, 30), ""}}, []string{"a 0+30 w"}},
		{"upgrade refused", []step{{"r", a, rng(0, 10), ""}, {"r", b, rng(5, 1), ""}, {"w", a, rng(0, 10), "b 5+1 r"}}, []string{"a 0+10 r", "b 5+1 r"}},
		{"readers share", []step{{"r", a, rng(0, 10), ""}, {"r", b, rng(0, 10), ""}}, []string{"a 0+10 r", "b 0+10 r"}},
		{"first conflict", []step{{"w", a, rng(30, 1), ""}, {"w", a, rng(10, 1), ""}, {"r", b, rng(0, 100), "a 10+1 w"}}, []string{"a 10+1 w", "a 30+1 w"}},
		{"own range is free again", []step{{"w", a, rng(0, 10), ""}, {"u", a, rng(0, 10), ""}, {"w", b, rng(0, 10), ""}}, []string{"b 0+10 w"}},
		{"unlock what is not held", []step{{"w", a, rng(0, 10), ""}, {"u", b, rng(0, 10), ""}, {"u", a, rng(50, 10), ""}}, []string{"a 0+10 w"}},
		{"to the end", []step{{"w", a, rng(100, lock.ToEnd), ""}, {"w", b, rng(99, 2), "a 100+end w"}, {"w", b, rng(99, 1), ""}}, []string{"b 99+1 w", "a 100+end w"}},
		{"to the end by length", []step{{"w", a, rng(100, maxOff-99), ""}, {"r", b, rng(maxOff, 1), "a 100+end w"}}, []string{"a 100+end w"}},
		{"the last byte", []step{{"w", a, rng(maxOff, 1), ""}, {"w", a, rng(maxOff-1, 1), ""}, {"r", b, rng(maxOff-2, 1), ""}}, []string{"b 18446744073709551613+1 r", "a 18446744073709551614+end w"}},
		{"all, then holes at both ends", []step{{"w", a, rng(0, lock.ToEnd), ""}, {"u", a, rng(0, 1), ""}, {"u", a, rng(maxOff, 1), ""}}, []string{"a 1+18446744073709551614 w"}},
		{"length beyond the end", []step{{"w", a, rng(maxOff-5, 100), ""}}, []string{"a 18446744073709551610+end w"}},
		{"empty", []step{{"w", a, rng(5, 0), ""}, {"u", a, rng(5, 0), ""}}, nil},
		{"bridge over several", []step{{"r", a, rng(0, 1), ""}, {"r", a, rng(2, 1), ""}, {"w", a, rng(4, 1), ""}, {"r", a, rng(0, 6), ""}}, []string{"a 0+6 r"}},
		{"unlock over several", []step{{"r", a, rng(0, 4), ""}, {"r", b, rng(2, 4), ""}, {"w", a, rng(8, 4), ""}, {"u", a, rng(1, 9), ""}}, []string{"a 0+1 r", "b 2+4 r", "a 10+2 w"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := lock.New()
			for i, s := range c.steps {
				var got *lock.Conflict
				switch s.op {
				case "u":
					m.Unlock(key(1), s.o, s.r)
				default:
					test := m.Test(key(1), s.o, s.r, s.op == "w")
					got = m.Lock(key(1), s.o, s.r, s.op == "w")
					if (test == nil) != (got == nil) || test != nil && *test != *got {
						t.Fatalf("step %d: Test says %v and Lock %v", i, test, got)
					}
				}
				text := ""
				if got != nil {
					text = show(got)
				}
				if text != s.deny {
					t.Fatalf("step %d: conflict %q, want %q", i, text, s.deny)
				}
			}
			expect(t, m, c.want...)
			m.UnlockAll(key(1), a)
			m.UnlockAll(key(1), b)
			if c := m.Counts(); c != (lock.Counts{}) {
				t.Fatalf("left over: %+v", c)
			}
		})
	}
}

func TestRelease(t *testing.T) {
	m := lock.New()
	a, b := owner("a"), owner("b")
	other := lock.Owner{Proto: 2, Client: 7, ID: "a"}
	for i := range byte(5) {
		m.Lock(key(i), a, rng(0, 1), true)
		m.Lock(key(i), b, rng(1, 1), true)
		m.Lock(key(i), other, rng(2, 1), true)
	}
	if !m.Held(key(1), a) || m.Held(key(9), a) || !m.HeldAnywhere(a) {
		t.Fatal("Held is wrong")
	}
	m.ReleaseOwner(a)
	if m.Held(key(1), a) || m.HeldAnywhere(a) || !m.HeldAnywhere(b) {
		t.Fatal("ReleaseOwner released the wrong locks")
	}
	m.ReleaseClient(1, 7)
	if m.HeldAnywhere(b) || !m.HeldAnywhere(other) {
		t.Fatal("ReleaseClient released the wrong locks")
	}
	expect(t, m, "a 2+1 w")
	m.ReleaseClient(2, 7)
	if c := m.Counts(); c != (lock.Counts{}) {
		t.Fatalf("left over: %+v", c)
	}
}

// TestManyLocks: many locks keep their order when chunks are split and emptied, and stay fast.
func TestManyLocks(t *testing.T) {
	m := lock.New()
	a, b := owner("a"), owner("b")
	const n = 20_000
	for i := range uint64(n) {
		at := i * 7919 % n // in no order
		if c := m.Lock(key(1), a, rng(at*4, 2), true); c != nil {
			t.Fatal(show(c))
		}
	}
	m.Lock(key(1), b, rng(n*4, lock.ToEnd), false)
	all := m.Locks(key(1))
	if len(all) != n+1 {
		t.Fatalf("%d locks", len(all))
	}
	for i, c := range all[:n] {
		if c.Range != rng(uint64(i)*4, 2) || c.Owner != a {
			t.Fatalf("lock %d is %s", i, show(&c))
		}
	}
	for _, i := range []uint64{0, 1, n / 2, n - 1} {
		if c := m.Lock(key(1), b, rng(i*4+1, 3), false); c == nil || c.Range.Off != i*4 {
			t.Fatalf("%v is in the way of a lock at %d", c, i*4+1)
		}
		if c := m.Lock(key(1), b, rng(i*4+2, 2), true); c != nil {
			t.Fatalf("%s is in the way of the gap", show(c))
		}
	}
	m.UnlockAll(key(1), b)
	m.Unlock(key(1), a, rng(1, n*4-2)) // leaves the first and last byte
	expect(t, m, "a 0+1 w")
	for i := range uint64(n) { // neighbours become one
		m.Lock(key(1), a, rng(n-i, 1), true)
	}
	expect(t, m, "a 0+20001 w")
	m.ReleaseOwner(a)
	if c := m.Counts(); c != (lock.Counts{}) {
		t.Fatalf("left over: %+v", c)
	}
}
