package iwarp

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"fileserver/rdma"
)

// An STag is a 24-bit index and an 8-bit key, RFC 5040 calls neither so. Indexes
// are drawn at random, to make a peer that guesses fail, and be cut off, early.
const (
	chunkBits   = 8
	indexBits   = 20 // regions a device can have at once, as a power of two
	sparseBits  = 16 // indexes in use while they are few
	maxRegions  = 1 << indexBits
	regionBase  = 40 // log2 of the distance between the addresses of two regions
	sinkSTagBit = 1 << 31
	deadBias    = 1 << 40
)

// region is a registered memory region.
type region struct {
	mem    []byte
	base   uint64
	stag   uint32
	access rdma.Access
	pd     *protectionDomain
	remote atomic.Uint32 // remote rights that are left; a peer can invalidate them
	refs   atomic.Int64  // pins; far below zero once deregistered
}

// acquire pins the memory; it fails once the region is deregistered. Pins are
// short: one copy, or one non-blocking system call.
func (r *region) acquire() bool {
	if r.refs.Add(1) > 0 {
		return true
	}
	r.refs.Add(-1)
	return false
}

func (r *region) release() { r.refs.Add(-1) }

// grants reports whether peers have the right now.
func (r *region) grants(a rdma.Access) bool { return r.remote.Load()&uint32(a) != 0 }

// within finds n bytes at an address. wrap: the range wraps around; ok: it lies inside.
func (r *region) within(addr uint64, n uint64) (mem []byte, ok, wrap bool) {
	if addr+n < addr {
		return nil, false, true
	}
	if addr < r.base || addr+n > r.base+uint64(len(r.mem)) {
		return nil, false, false
	}
	off := addr - r.base
	return r.mem[off : off+n : off+n], true, false
}

// Bytes implements rdma.MR.
func (r *region) Bytes() []byte { return r.mem }

// Addr implements rdma.MR. It is not the address in the process.
func (r *region) Addr() uint64 { return r.base }

// LKey implements rdma.MR.
func (r *region) LKey() uint32 { return r.stag }

// RKey implements rdma.MR.
func (r *region) RKey() uint32 {
	if r.access&(rdma.AccessRemoteRead|rdma.AccessRemoteWrite|rdma.AccessRemoteAtomic) == 0 {
		return 0
	}
	return r.stag
}

// Deregister implements rdma.MR.
func (r *region) Deregister() error {
	for {
		n := r.refs.Load()
		if n < 0 {
			return rdma.ErrClosed
		}
		if r.refs.CompareAndSwap(n, n-deadBias) {
			break
		}
	}
	r.pd.dev.keys.remove(r.stag)
	for i := 0; r.refs.Load() > -deadBias; i++ {
		if i < 100 {
			runtime.Gosched()
		} else {
			time.Sleep(50 * time.Microsecond)
		}
	}
	r.pd.objects.Add(-1)
	return nil
}

// keyTable finds regions by STag. Lookups take no lock.
type keyTable struct {
	chunks [maxRegions >> chunkBits]atomic.Pointer[keyChunk]

	mu   sync.Mutex // add, remove
	live int
	rng  *rand.Rand
}

type keyChunk [1 << chunkBits]atomic.Pointer[region]

// lookup finds the region of an STag; nil if there is none.
func (t *keyTable) lookup(stag uint32) *region {
	i := stag >> 8
	if i >= maxRegions {
		return nil
	}
	c := t.chunks[i>>chunkBits].Load()
	if c == nil {
		return nil
	}
	r := c[i&(1<<chunkBits-1)].Load()
	if r == nil || r.stag != stag {
		return nil
	}
	return r
}

// add gives the region an STag and an address, and publishes it.
func (t *keyTable) add(r *region) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	bits := sparseBits
	if t.live >= 1<<(sparseBits-1) {
		bits = indexBits
	}
	if t.live >= maxRegions-1 {
		return fmt.Errorf("iwarp: %d memory regions are registered, there can be no more", t.live)
	}
	i := t.rng.Uint32N(1 << bits)
	for ; ; i = (i + 1) & (1<<bits - 1) {
		if i == 0 {
			continue // STag 0 is no one's
		}
		p := &t.chunks[i>>chunkBits]
		c := p.Load()
		if c == nil {
			c = new(keyChunk)
			p.Store(c)
		}
		slot := &c[i&(1<<chunkBits-1)]
		if slot.Load() != nil {
			continue
		}
		r.stag = i<<8 | t.rng.Uint32N(256)
		r.base = uint64(i) << regionBase
		slot.Store(r)
		t.live++
		return nil
	}
}

func (t *keyTable) remove(stag uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := stag >> 8
	t.chunks[i>>chunkBits].Load()[i&(1<<chunkBits-1)].Store(nil)
	t.live--
}

// protectionDomain implements rdma.PD.
type protectionDomain struct {
	dev     *device
	objects atomic.Int64 // regions and queue pairs
}

// RegMR implements rdma.PD.
func (pd *protectionDomain) RegMR(mem []byte, access rdma.Access) (rdma.MR, error) {
	if uint64(len(mem)) > 1<<regionBase {
		return nil, fmt.Errorf("iwarp: memory region of %d bytes: at most 1 TiB", len(mem))
	}
	if access&rdma.AccessRemoteAtomic != 0 {
		return nil, fmt.Errorf("iwarp: remote atomics: %w", rdma.ErrUnsupported)
	}
	r := &region{mem: mem, access: access, pd: pd}
	r.remote.Store(uint32(access & (rdma.AccessRemoteRead | rdma.AccessRemoteWrite)))
	pd.objects.Add(1)
	if err := pd.dev.keys.add(r); err != nil {
		pd.objects.Add(-1)
		return nil, err
	}
	return r, nil
}

// Dealloc implements rdma.PD.
func (pd *protectionDomain) Dealloc() error {
	if n := pd.objects.Load(); n != 0 {
		return fmt.Errorf("%w: %d regions or queue pairs of the protection domain exist", rdma.ErrBusy, n)
	}
	return nil
}

// local finds the memory of a scatter/gather element of a work request.
func (pd *protectionDomain) local(s rdma.SGE, need rdma.Access) ([]byte, bool) {
	r := pd.dev.keys.lookup(s.LKey)
	if r == nil || r.pd != pd || need&^r.access != 0 {
		return nil, false
	}
	mem, ok, _ := r.within(s.Addr, uint64(s.Length))
	return mem, ok
}
