package slab

import (
	"fmt"
	"sync/atomic"
)

// Buf is a reference-counted buffer.
type Buf struct {
	pool  *Pool
	arena *Arena
	chunk *chunk
	off   int
	size  int
	n     int
	refs  atomic.Int32
	owner Owner
	debug *record // Config.Debug
}

// Owner is notified when buffers are released.
type Owner interface {
	// Released is called after the last reference of a buffer of n bytes was released. The caller of Release may hold locks: Released
	// must not block, nor take locks that are held around Release.
	Released(size int)
}

// SetOwner makes b call o.Released once, with b.Cap(), after its last reference was released. Only the sole owner of b may call it.
func (b *Buf) SetOwner(o Owner) { b.owner = o }

// Bytes is the buffer's memory, as long as asked for.
func (b *Buf) Bytes() []byte { return b.arena.Mem[b.off : b.off+b.n : b.off+b.size] }

// Len is the length of Bytes.
func (b *Buf) Len() int { return b.n }

// Cap is how long Bytes can be made.
func (b *Buf) Cap() int { return b.size }

// SetLen changes the length of Bytes to n, at most Cap. Only the sole owner may do so.
func (b *Buf) SetLen(n int) {
	if n < 0 || n > b.size {
		panic(fmt.Sprintf("slab: length %d of a buffer of %d bytes", n, b.size))
	}
	b.n = n
}

// Arena is the arena the buffer lies in.
func (b *Buf) Arena() *Arena { return b.arena }

// Offset is where in the arena the buffer begins.
func (b *Buf) Offset() int { return b.off }

// Retain adds a reference, and returns b.
func (b *Buf) Retain() *Buf {
	if b.refs.Add(1) <= 1 {
		panic("slab: Retain of a released buffer")
	}
	return b
}

// Release releases one reference. After the last, the memory may be used again.
func (b *Buf) Release() {
	switch n := b.refs.Add(-1); {
	case n > 0:
		return
	case n < 0:
		panic("slab: buffer released twice")
	}
	p, size, owner := b.pool, b.size, b.owner
	b.owner = nil
	if p.cfg.Debug {
		b.debugReleased()
	}
	p.mu.Lock()
	p.putLocked(b)
	p.mu.Unlock()
	if owner != nil {
		owner.Released(size)
	}
}
