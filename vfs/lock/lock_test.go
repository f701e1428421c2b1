package lock_test

import (
	"errors"
	"fmt"
	"testing"

	"fileserver/vfs"
	"fileserver/vfs/lock"
)

func key(n byte) lock.FileKey {
	return lock.FileKey{FS: [16]byte{9}, Object: uint64(n)}
}

func owner(s string) lock.Owner { return lock.Owner{Proto: 1, Client: 7, ID: s} }

func rng(off, n uint64) lock.Range { return lock.Range{Off: off, Len: n} }

// expect compares the locks of the file with lines of "owner first+len kind".
func expect(t *testing.T, m *lock.Manager, want ...string) {
	t.Helper()
	var got []string
	for _, c := range m.Locks(key(1)) {
		got = append(got, show(&c))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("locks are %v, want %v", got, want)
	}
}

func show(c *lock.Conflict) string {
	kind, n := "r", fmt.Sprint(c.Range.Len)
	if c.Exclusive {
		kind = "w"
	}
	if c.Range.Len == lock.ToEnd {
		n = "end"
	}
	return fmt.Sprintf("%s %d+%s %s", c.Owner.ID, c.Range.Off, n, kind)
}

func TestShares(t *testing.T) {
	const r, w, rw = lock.Read, lock.Write, lock.Read | lock.Write
	// For every pair of opens: both are granted exactly if neither has an access that the other denies.
	for a1 := range lock.Access(8) {
		for d1 := range lock.Access(8) {
			for a2 := range lock.Access(8) {
				for d2 := range lock.Access(8) {
					m := lock.New()
					o1, err := m.Open(key(1), lock.CacheKey{}, a1, d1)
					if err != nil {
						t.Fatal(err)
					}
					o2, err := m.Open(key(1), lock.CacheKey{}, a2, d2)
					want := a1&d2 == 0 && a2&d1 == 0
					if (err == nil) != want {
						t.Fatalf("open %d/%d then %d/%d: %v", a1, d1, a2, d2, err)
					}
					if err == nil {
						o2.Close()
					} else if c := (*lock.ShareConflict)(nil); !errors.As(err, &c) || c.Held != a1&d2 || c.Denied != a2&d1 || vfs.StatusOf(err) != vfs.ErrShareViolation {
						t.Fatalf("open %d/%d then %d/%d: error %v", a1, d1, a2, d2, err)
					}
					o1.Close()
					if c := m.Counts(); c != (lock.Counts{}) {
						t.Fatalf("left over: %+v", c)
					}
				}
			}
		}
	}
	m := lock.New()
	a, _ := m.Open(key(1), lock.CacheKey{}, r, 0)
	b, _ := m.Open(key(1), lock.CacheKey{}, r, w)
	if err := a.Change(rw, 0); vfs.StatusOf(err) != vfs.ErrShareViolation {
		t.Fatalf("upgrade against a deny: %v", err)
	}
	if acc, deny := a.Claims(); acc != r || deny != 0 {
		t.Fatalf("a failed upgrade changed the claim to %d/%d", acc, deny)
	}
	if err := b.Change(r, 0); err != nil {
		t.Fatal(err)
	}
	if err := a.Change(rw, rw); vfs.StatusOf(err) != vfs.ErrShareViolation {
		t.Fatalf("deny what another has: %v", err)
	}
	if err := a.Change(rw, w); err != nil {
		t.Fatal(err)
	}
	if err := a.Change(r, w); err != nil {
		t.Fatalf("downgrade: %v", err)
	}
	if _, err := m.Open(key(2), lock.CacheKey{}, rw, rw); err != nil {
		t.Fatalf("another file: %v", err)
	}
}

func TestCheckIO(t *testing.T) {
	m := lock.New()
	check := func(write bool, want vfs.Status) {
		t.Helper()
		if err := m.CheckIO(key(1), lock.Owner{}, rng(0, 10), write); vfs.StatusOf(err) != want {
			t.Fatalf("CheckIO(write %v): %v, want %v", write, err, want)
		}
	}
	check(true, vfs.OK)
	o, _ := m.Open(key(1), lock.CacheKey{}, lock.Read, lock.Write)
	check(true, vfs.ErrShareViolation)
	check(false, vfs.OK)
	o.Change(lock.Read, lock.Read)
	check(true, vfs.OK)
	check(false, vfs.ErrShareViolation)
	o.Close()
	check(false, vfs.OK)
	m.Open(key(1), lock.CacheKey{}, lock.Read|lock.Write, 0)
	m.Lock(key(1), owner("a"), rng(0, 5), true) // advisory
	check(true, vfs.OK)

	k := key(1)
	if n := testing.AllocsPerRun(100, func() { m.CheckIO(k, lock.Owner{}, rng(0, 10), true) }); n != 0 {
		t.Fatalf("CheckIO allocates %v times", n)
	}
}

func TestOpenTwiceClosed(t *testing.T) {
	m := lock.New()
	o, _ := m.Open(key(1), lock.CacheKey{}, lock.Read, 0)
	o.Close()
	defer func() {
		if recover() == nil {
			t.Fatal("closing twice went unnoticed")
		}
	}()
	o.Close()
}

func TestClaims(t *testing.T) {
	m := lock.New()
	k := key(1)
	expect := func(access, deny lock.Access) {
		t.Helper()
		if a, d := m.Claims(k); a != access || d != deny {
			t.Errorf("access %#x, deny %#x, want %#x and %#x", a, d, access, deny)
		}
	}
	expect(0, 0)
	a, err := m.Open(k, lock.CacheKey{}, lock.Read|lock.Delete, lock.Write)
	if err != nil {
		t.Fatal(err)
	}
	expect(lock.Read|lock.Delete, lock.Write)
	b, err := m.Open(k, lock.CacheKey{}, lock.Read, 0)
	if err != nil {
		t.Fatal(err)
	}
	a.Close()
	expect(lock.Read, 0)
	b.Close()
	expect(0, 0)
}
