package nfs

import (
	"bytes"
	"sync"

	"fileserver/vfs"
)

// DirLocks serialise changes of a directory with the look at its attributes before and after, so that
// a client can tell its own change from those of others (RFC 1813 2.6 wcc_data, RFC 8881 3.3.3
// change_info4). All versions of NFS share one. The zero value is ready for use.
//
// Lock order: a DirLock, two in the order of their keys, is taken before anything of a backend; mu is a leaf.
type DirLocks struct {
	mu    sync.Mutex
	locks map[dirKey]*DirLock
	free  *DirLock
}

type dirKey struct {
	fsid [16]byte
	dir  vfs.Handle
}

// DirLock is one directory's lock, held.
type DirLock struct {
	all  *DirLocks
	key  dirKey
	mu   sync.Mutex
	refs int // holders and waiters; guarded by DirLocks.mu
	next *DirLock
}

// Lock locks the directory of the file system, and waits for whoever holds it.
func (l *DirLocks) Lock(fsid [16]byte, dir vfs.Handle) *DirLock {
	k := dirKey{fsid, dir}
	l.mu.Lock()
	d := l.locks[k]
	if d == nil {
		if d = l.free; d != nil {
			l.free, d.next = d.next, nil
		} else {
			d = &DirLock{all: l}
		}
		d.key = k
		if l.locks == nil {
			l.locks = make(map[dirKey]*DirLock)
		}
		l.locks[k] = d
	}
	d.refs++
	l.mu.Unlock()
	d.mu.Lock()
	return d
}

// Lock2 locks two directories of a file system, which may be the same: then second is nil.
func (l *DirLocks) Lock2(fsid [16]byte, a, b vfs.Handle) (first, second *DirLock) {
	if a == b {
		return l.Lock(fsid, a), nil
	}
	if less(&b, &a) {
		a, b = b, a
	}
	return l.Lock(fsid, a), l.Lock(fsid, b)
}

func less(a, b *vfs.Handle) bool {
	var x, y [vfs.MaxHandle]byte
	return bytes.Compare(a.Append(x[:0]), b.Append(y[:0])) < 0
}

// Unlock unlocks the directory. On nil it does nothing.
func (d *DirLock) Unlock() {
	if d == nil {
		return
	}
	d.mu.Unlock()
	l := d.all
	l.mu.Lock()
	defer l.mu.Unlock()
	if d.refs--; d.refs == 0 {
		delete(l.locks, d.key)
		d.next, l.free = l.free, d
	}
}
