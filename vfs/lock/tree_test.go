package lock

import (
	"errors"
	"fmt"
	mathbits "math/bits"
	"testing"

	"fileserver/vfs"
)

func lockOwner(c uint64, s string) Owner { return Owner{Proto: 1, Client: c, ID: s} }

// steps returns how many nodes f looks at in the tree of all locks of the file and in those of its owners.
func steps(m *Manager, k FileKey, f func()) int {
	count := func() (n int) {
		s := m.lock(&k)
		defer s.mu.Unlock()
		if file := s.files[k]; file != nil {
			n = file.locks.all.steps
			for _, h := range file.locks.held {
				n += h.tree.steps
			}
		}
		return n
	}
	before := count()
	f()
	return count() - before
}

// TestManyLocks checks that the cost of Lock, Unlock and Test grows with the logarithm of the number of locks,
// whoever has them and however large the range is.
func TestManyLocks(t *testing.T) {
	const n = 200_000
	few := 16 * mathbits.Len(n) // a treap is some 2.5 times as deep as a balanced tree
	for _, exclusive := range []bool{true, false} {
		m, k := New(), fileNamed(t, 1)
		many, other := lockOwner(1, "many"), lockOwner(2, "other")
		for i := range uint64(n) {
			if c := m.Lock(k, many, Range{i * 4, 2}, exclusive); c != nil {
				t.Fatal(c)
			}
		}
		last := uint64(n) * 4
		m.Lock(k, other, Range{last, 1}, true)
		for name, f := range map[string]func(){
			"a lock":                      func() { m.Lock(k, other, Range{last / 2, 1}, false); m.Unlock(k, other, Range{last / 2, 1}) },
			"a lock between":              func() { m.Lock(k, other, Range{last/2 + 2, 1}, true); m.Unlock(k, other, Range{last/2 + 2, 1}) },
			"own":                         func() { m.Lock(k, many, Range{last/2 + 2, 1}, exclusive); m.Unlock(k, many, Range{last/2 + 2, 1}) },
			"all, with another's at last": func() { m.Test(k, many, Range{0, ToEnd}, true) },
			"all, nothing but own":        func() { m.Test(k, many, Range{0, last}, true) },
			"all, shared":                 func() { m.Test(k, other, Range{0, ToEnd}, false) },
		} {
			if got := steps(m, k, f); got > 2*few {
				t.Errorf("exclusive %v: %s looks at %d of %d locks", exclusive, name, got, n)
			}
		}
		if c := m.Test(k, many, Range{0, ToEnd}, true); c == nil || c.Range.Off != last {
			t.Errorf("all: %+v", c)
		}
		// Releasing an owner looks at each of its locks a few times, and not again for each lock of another owner.
		if got := steps(m, k, func() { m.ReleaseOwner(other) }); got > few {
			t.Errorf("the release of one lock looks at %d", got)
		}
		m.ReleaseOwner(many)
		if c := m.Counts(); c != (Counts{}) {
			t.Fatalf("left: %+v", c)
		}
	}
}

// TestLimits checks that an owner, and a client, has no more locks than its limit on all files together, and at
// most twice as many after it has unlocked the middle of its locks.
func TestLimits(t *testing.T) {
	m := New()
	m.SetLimits(Limits{PerOwner: 10, PerClient: 15})
	k, k2 := fileNamed(t, 1), fileNamed(t, 2)
	take := func(o Owner, k FileKey) (n int) {
		for ; n < 100; n++ {
			if c := m.Lock(k, o, Range{uint64(n) * 10, 5}, false); c != nil {
				if !c.Full || c.Owner != o {
					t.Fatalf("%+v", c)
				}
				return n
			}
		}
		return n
	}
	a, b, c := lockOwner(1, "a"), lockOwner(1, "b"), lockOwner(2, "c")
	if n := take(a, k) + take(a, k2); n != 10 {
		t.Errorf("an owner has %d", n)
	}
	if n := take(b, k); n != 5 {
		t.Errorf("another of the client has %d", n)
	}
	if n := take(c, k); n != 10 {
		t.Errorf("another client's has %d", n)
	}
	var err error
	for i := 0; err == nil; i++ {
		if i > 20 {
			t.Fatal("unlocking makes locks without end")
		}
		err = m.Unlock(k, c, Range{uint64(i)*10 + 2, 1})
	}
	if !errors.Is(err, vfs.ErrTooManyFiles) {
		t.Error(err)
	}
	m.ReleaseClient(1, 1)
	m.ReleaseOwner(c)
	if n := take(a, k); n != 10 {
		t.Errorf("after a release: %d", n)
	}
	m.ReleaseOwner(a)
	if c := m.Counts(); c != (Counts{}) {
		t.Errorf("left: %+v", c)
	}
}

// BenchmarkLocks locks and unlocks a range of a file that has many locks of another client, or of the same owner.
func BenchmarkLocks(b *testing.B) {
	for _, n := range []uint64{1000, 1_000_000} {
		m, k := New(), FileKey{Object: 1}
		many, other := lockOwner(1, "many"), lockOwner(2, "other")
		for i := range n {
			m.Lock(k, many, Range{i * 4, 2}, true)
		}
		for name, o := range map[string]Owner{"other": other, "own": many} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for i := uint64(0); b.Loop(); i++ {
					r := Range{(i*7919%n)*4 + 3, 1}
					if c := m.Lock(k, o, r, true); c != nil {
						b.Fatal(c)
					}
					_ = m.Unlock(k, o, r)
				}
			})
		}
		b.Run(fmt.Sprintf("conflict/%d", n), func(b *testing.B) {
			for b.Loop() {
				if m.Test(k, many, Range{0, ToEnd}, true) != nil {
					b.Fatal("in its own way")
				}
			}
		})
	}
}
