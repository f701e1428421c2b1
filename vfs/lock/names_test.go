package lock

import (
	"sync"
	"testing"
)

// TestNames checks that each directory has one holder at a time, and that two callers that lock the same two
// directories do not deadlock.
func TestNames(t *testing.T) {
	m := New()
	var counts [3]int
	dirs := []FileKey{{FS: [16]byte{9}, Object: 1}, {FS: [16]byte{9}, Object: 2}, {FS: [16]byte{8}, Object: 3}}
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			for j := range 300 {
				a, b := (i+j)%3, (i*j)%3
				first, second := m.LockNames2(dirs[a], dirs[b])
				counts[a]++
				if a != b {
					counts[b]++
				}
				second.Unlock()
				first.Unlock()
				one := m.LockNames(dirs[a])
				counts[a]++
				one.Unlock()
			}
		})
	}
	wg.Wait()
	if len(m.names.of) != 0 {
		t.Fatalf("%d locks are left", len(m.names.of))
	}
	if counts[0]+counts[1]+counts[2] < 2*6*300 {
		t.Fatal(counts)
	}
}

// TestNamesApart checks that directories of the same number in two file systems are locked apart.
func TestNamesApart(t *testing.T) {
	m := New()
	a := m.LockNames(FileKey{FS: [16]byte{1}, Object: 1})
	b := m.LockNames(FileKey{FS: [16]byte{2}, Object: 1}) // hangs if they are the same lock
	b.Unlock()
	a.Unlock()
	var none *Names
	none.Unlock()
}
