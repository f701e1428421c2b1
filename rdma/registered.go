package rdma

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"fileserver/internal/slab"
)

// Memory is a slab pool registered in a protection domain: each arena once, as
// it appears. Its methods are safe for concurrent use.
//
// Lock order: the pool's lock, Memory.mu, the provider's locks. A provider must
// not call the pool from RegMR.
type Memory struct {
	pd     PD
	pool   *slab.Pool
	access Access
	stop   func()
	domain *Domain // that Release returns it to; nil: none
	own    bool    // it serves one connection, alone in its protection domain

	table atomic.Pointer[[]region] // by Arena.ID; replaced, never changed

	mu     sync.Mutex // guards the replacing of table, and closed
	closed bool
}

// region is one arena's registration, or why there is none.
type region struct {
	arena      *slab.Arena
	mr         MR
	addr       uint64
	lkey, rkey uint32
	err        error
}

// NewMemory registers the pool's arenas in pd, present and future ones. It fails if a
// present one cannot be registered. If a future one cannot, requests that name its
// buffers fail ([Memory.Err]).
func NewMemory(pd PD, pool *slab.Pool, access Access) (*Memory, error) {
	m := &Memory{pd: pd, pool: pool, access: access}
	m.table.Store(&[]region{})
	m.stop = pool.OnArena(m.register)
	var errs []error
	for _, r := range *m.table.Load() {
		errs = append(errs, r.err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// register is called by the pool, with its lock held.
func (m *Memory) register(a *slab.Arena) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := region{arena: a}
	if m.closed {
		r.err = ErrClosed
	} else if mr, err := m.pd.RegMR(a.Mem, m.access); err != nil {
		r.err = fmt.Errorf("rdma: cannot register arena %d: %w", a.ID, err)
	} else {
		r.mr, r.addr, r.lkey, r.rkey = mr, mr.Addr(), mr.LKey(), mr.RKey()
	}
	t := slices.Clone(*m.table.Load())
	for len(t) <= a.ID {
		t = append(t, region{err: errors.New("rdma: arena is not registered")})
	}
	t[a.ID] = r
	m.table.Store(&t)
}

// Pool is the pool.
func (m *Memory) Pool() *slab.Pool { return m.pool }

// PD is the protection domain.
func (m *Memory) PD() PD { return m.pd }

// Access is what the arenas' regions allow.
func (m *Memory) Access() Access { return m.access }

// errForeign is the error of requests that name a buffer of another pool.
var errForeign = errors.New("rdma: buffer is not of this memory's pool")

// region finds the registration a buffer lies in.
func (m *Memory) region(b *slab.Buf) (*region, error) {
	t, a := *m.table.Load(), b.Arena()
	if a.ID >= len(t) {
		return nil, errForeign
	}
	r := &t[a.ID]
	if r.err != nil {
		return nil, r.err
	}
	if r.arena != a {
		return nil, errForeign
	}
	return r, nil
}

// Err says why b cannot be named in a request: the registration of its arena
// failed, or it is of another pool. Nil means that it can.
func (m *Memory) Err(b *slab.Buf) error {
	_, err := m.region(b)
	return err
}

// SGE names n bytes of b from off. It takes no lock and does not allocate. Where
// [Memory.Err] is not nil the result is the zero SGE. A range outside b's
// capacity panics.
func (m *Memory) SGE(b *slab.Buf, off, n int) SGE {
	s, _ := m.sge(b, off, n)
	return s
}

func (m *Memory) sge(b *slab.Buf, off, n int) (SGE, error) {
	checkRange(b, off, n)
	r, err := m.region(b)
	if err != nil {
		return SGE{}, err
	}
	return SGE{Addr: r.addr + uint64(b.Offset()+off), Length: uint32(n), LKey: r.lkey}, nil
}

// Segment names n bytes of b from off as the peer does, by the key of the whole
// arena: for peers that are trusted with all of it. A key of its own for one
// buffer is a [Window].
func (m *Memory) Segment(b *slab.Buf, off, n int) (Segment, error) {
	checkRange(b, off, n)
	r, err := m.region(b)
	if err != nil {
		return Segment{}, err
	}
	return Segment{Addr: r.addr + uint64(b.Offset()+off), Length: uint32(n), RKey: r.rkey}, nil
}

func checkRange(b *slab.Buf, off, n int) {
	if off < 0 || n < 0 || n > b.Cap()-off {
		panic(fmt.Sprintf("rdma: bytes %d+%d of a buffer of %d", off, n, b.Cap()))
	}
}

// Close deregisters everything. The pool lives on. No request may be outstanding.
func (m *Memory) Close() error {
	m.stop()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	m.closed = true
	var errs []error
	t := slices.Clone(*m.table.Load())
	for i := range t {
		if t[i].mr != nil {
			errs = append(errs, t[i].mr.Deregister())
		}
		t[i] = region{arena: t[i].arena, err: ErrClosed}
	}
	m.table.Store(&t)
	return errors.Join(errs...)
}
