package nfs

import (
	"sync"
	"testing"

	"fileserver/vfs"
)

// counted is a file system of which nothing but the errors matters.
type counted struct {
	vfs.FS
	n uint64
}

func (c *counted) WriteErrors() uint64 { return c.n }

func TestWriteVerifier(t *testing.T) {
	var x Exports
	a, b := &counted{}, &counted{n: 5}
	x.Replace([]*Export{{ID: 1, Path: "/a", FS: a}, {ID: 2, Path: "/b", FS: b}})
	v := NewWriteVerifier(&x)
	seen := map[[8]byte]bool{}
	next := func(what string) {
		t.Helper()
		now := v.Current()
		if seen[now] {
			t.Fatalf("%s: the verifier is one that was", what)
		}
		seen[now] = true
		for range 3 {
			if v.Current() != now {
				t.Fatalf("%s: the verifier changes by itself", what)
			}
		}
	}
	next("start")
	v.Lost()
	next("lost")
	a.n++
	next("one file system")
	b.n += 3
	next("the other")
	x.Replace([]*Export{{ID: 1, Path: "/a", FS: a}})
	next("export gone") // the sum is smaller: no way back to an old verifier
	x.Replace([]*Export{{ID: 1, Path: "/a", FS: a}, {ID: 2, Path: "/b", FS: b}})
	next("export back")
	if NewWriteVerifier(&x).Current() == v.Current() {
		t.Fatal("another server has the same verifier")
	}
}

// TestWriteVerifierConcurrent: an error is seen once, by all.
func TestWriteVerifierConcurrent(t *testing.T) {
	var x Exports
	fs := &counted{n: 1}
	x.Replace([]*Export{{FS: fs}})
	v := NewWriteVerifier(&x)
	before := v.lost.Load()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { v.Current() })
	}
	wg.Wait()
	if n := v.lost.Load() - before; n != 1 {
		t.Fatalf("one error counts as %d", n)
	}
}
