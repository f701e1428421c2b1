package lock

import (
	"bytes"
	"cmp"
	"sync"
)

// names are the directories whose names are locked. mu is a leaf.
type names struct {
	mu   sync.Mutex
	of   map[FileKey]*Names
	free *Names
}

// Names is the lock of the names in one directory, held: nobody makes, removes or renames anything in it. What a name stands
// for, and the directory's attributes, may be looked at and then changed with nothing in between, whatever protocols the others use. For
// an object that is no directory it is the lock of the names of its extended attributes.
//
// It is held during calls of the backend: a storage that stalls keeps the directories that it stalls in, and no others.
type Names struct {
	m    *Manager
	dir  FileKey
	mu   sync.Mutex
	refs int // holders and waiters; guarded by names.mu
	next *Names
}

// LockNames locks the names of a directory, and waits for whoever holds them. The caller holds no other [Names].
func (m *Manager) LockNames(dir FileKey) *Names {
	ns := &m.names
	ns.mu.Lock()
	n := ns.of[dir]
	if n == nil {
		if n = ns.free; n != nil {
			ns.free, n.next = n.next, nil
		} else {
			n = &Names{m: m}
		}
		n.dir = dir
		ns.of[dir] = n
	}
	n.refs++
	ns.mu.Unlock()
	n.mu.Lock()
	return n
}

// LockNames2 locks the names of two directories. They may be the same: then second is nil.
func (m *Manager) LockNames2(a, b FileKey) (first, second *Names) {
	c := cmp.Or(bytes.Compare(a.FS[:], b.FS[:]), cmp.Compare(a.Object, b.Object))
	switch {
	case c == 0:
		return m.LockNames(a), nil
	case c > 0:
		a, b = b, a
	}
	return m.LockNames(a), m.LockNames(b)
}

// Unlock unlocks the names. On nil it does nothing.
func (n *Names) Unlock() {
	if n == nil {
		return
	}
	n.mu.Unlock()
	ns := &n.m.names
	ns.mu.Lock()
	defer ns.mu.Unlock()
	if n.refs--; n.refs == 0 {
		delete(ns.of, n.dir)
		n.next, ns.free = ns.free, n
	}
}
