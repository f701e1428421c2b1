package lock

import (
	"bytes"
	"cmp"
	"sync"
)

// names holds the directories whose names are locked. mu is a leaf.
type names struct {
	mu   sync.Mutex
	of   map[FileKey]*Names
	free *Names
}

// Names is a held lock of the names in one directory: no other holder creates, removes or renames anything in it.
// So a caller can look up a name or read the directory's attributes and then change them atomically, for all
// protocols. For an object that is not a directory, it locks the names of its extended attributes.
//
// It is held during calls of the backend: a storage that stalls blocks only the directories that the calls are
// about.
type Names struct {
	m    *Manager
	dir  FileKey
	mu   sync.Mutex
	refs int // holders and waiters; guarded by names.mu
	next *Names
}

// LockNames locks the names of a directory. It waits until they are unlocked. The caller holds no other [Names].
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

// LockNames2 locks the names of two directories. If they are the same, second is nil.
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
