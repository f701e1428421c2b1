package smb

import (
	"slices"
	"sync"
	"sync/atomic"

	"fileserver/smb/wire"
	"fileserver/vfs/lock"
)

// zeroLocks are the byte-range locks without bytes: each is a place, in the way of locks that have bytes on both sides of it (MS-FSA
// 2.1.4.10). The arbiter knows bytes only, so they are SMB's own. READ and WRITE do not care.
//
// Who takes a lock enters it first, there or here, and looks for others' then: of two at the same time one finds the other.
//
// mu is taken after ranges.mu; the arbiter's are not taken with it.
type zeroLocks struct {
	count atomic.Int32 // of all files

	mu sync.Mutex
	of map[lock.FileKey]*zeroFile
}

// zeroFile are those of a file.
type zeroFile struct {
	locks []zeroLock
	waits []*wait // ended when one is given back
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

// remove gives one back.
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

// forbid reports whether one of another open is in the way of b. If so, w, if there is one, ends when any is given back.
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
