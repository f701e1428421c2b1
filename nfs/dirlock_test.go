package nfs

import (
	"sync"
	"testing"

	"fileserver/vfs"
)

func handle(b ...byte) vfs.Handle {
	h, _ := vfs.HandleFrom(b)
	return h
}

func TestDirLocks(t *testing.T) {
	var l DirLocks
	var counts [3]int
	dirs := []vfs.Handle{handle(1), handle(2), handle(1, 0)}
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			for j := range 300 {
				a, b := (i+j)%3, (i*j)%3
				first, second := l.Lock2([16]byte{9}, dirs[a], dirs[b])
				counts[a]++
				if a != b {
					counts[b]++
				}
				second.Unlock()
				first.Unlock()
				one := l.Lock([16]byte{9}, dirs[a])
				counts[a]++
				one.Unlock()
			}
		})
	}
	wg.Wait()
	if len(l.locks) != 0 {
		t.Fatalf("%d locks are left", len(l.locks))
	}
	if counts[0]+counts[1]+counts[2] < 2*6*300 {
		t.Fatal(counts)
	}
}

// TestDirLocksApart: the same handle in two file systems is two directories.
func TestDirLocksApart(t *testing.T) {
	var l DirLocks
	a := l.Lock([16]byte{1}, handle(1))
	b := l.Lock([16]byte{2}, handle(1)) // hangs if it is one
	b.Unlock()
	a.Unlock()
	var none *DirLock
	none.Unlock()
}
