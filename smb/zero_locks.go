package smb

import (
	"slices"
	"sync"
	"sync/atomic"

	"fileserver/smb/wire"
	"fileserver/vfs/lock"
)

// zeroLocks are the byte-range locks of length 0. Each is a place between two bytes, and conflicts with locks that
// have the bytes on both sides of it (MS-FSA 2.1.4.10). The arbiter knows only bytes, so SMB keeps these locks
// itself. They do not affect READ and WRITE.
//
// A caller that takes a lock first enters it, here or with the arbiter, and then looks for conflicting locks: of two
// simultaneous callers at least one sees the other's lock.
//
// mu is taken after ranges.mu. It is not held together with the arbiter's locks.
type zeroLocks struct {
	count atomic.Int32 // of all files

	mu sync.Mutex
	of map[lock.FileKey]*zeroFile
}

// zeroFile holds the locks of length 0 of one file.
type zeroFile struct {
	locks []zeroLock
	waits []*wait // the waits that end when a lock is released
}

type zeroLock struct {
	o         *Open
	off       uint64
	exclusive bool
}

// add enters a lock.
func (z *zeroLocks) add(o *Open, b *byteRange) {
	z.mu.Lock()
	defer z.mu.Unlock()
	f := z.of[o.key]
	if f == nil {
		f = &zeroFile{}
		if z.of == nil {
			z.of = make(map[lock.FileKey]*zeroFile)
		}
		z.of[o.key] = f
	}
	f.locks = append(f.locks, zeroLock{o, b.off, b.exclusive})
	z.count.Add(1)
}

// remove releases a lock.
func (z *zeroLocks) remove(o *Open, b *byteRange) {
	z.mu.Lock()
	var waits []*wait
	if f := z.of[o.key]; f != nil {
		if i := slices.Index(f.locks, zeroLock{o, b.off, b.exclusive}); i >= 0 {
			f.locks = slices.Delete(f.locks, i, i+1)
			z.count.Add(-1)
			waits, f.waits = f.waits, nil
		}
		if len(f.locks) == 0 {
			delete(z.of, o.key)
		}
	}
	z.mu.Unlock()
	for _, w := range waits {
		w.end(wire.StatusSuccess)
	}
}

// forbid reports whether a lock of another open conflicts with b. If so, w, if it is not nil, ends when any lock of
// length 0 of the file is released.
func (z *zeroLocks) forbid(o *Open, b *byteRange, w *wait) bool {
	if z.count.Load() == 0 {
		return false
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	f := z.of[o.key]
	if f == nil {
		return false
	}
	for _, l := range f.locks {
		if l.o != o && (l.exclusive || b.exclusive) && b.meets(&byteRange{off: l.off}) {
			if w != nil && !slices.Contains(f.waits, w) {
				f.waits = append(f.waits, w)
			}
			return true
		}
	}
	return false
}
