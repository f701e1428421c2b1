package slab

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"
)

const (
	minShift = 11 // smallest buffer: 2 KiB
	maxShift = 24 // largest buffer: 16 MiB
	classes  = maxShift - minShift + 1

	// ArenaSize is the memory of one arena, bytes: what a provider registers at once.
	ArenaSize = 1 << maxShift
	// MaxSize is the largest buffer, bytes.
	MaxSize = 1 << maxShift
	// DefaultLimit is the memory of a pool whose Config states none, bytes.
	DefaultLimit = 1 << 30
)

// Errors of Get.
var (
	ErrTooLarge = errors.New("slab: buffer larger than the largest size class")
	ErrClosed   = errors.New("slab: pool is closed")
)

// Config sizes a pool.
type Config struct {
	Limit int64 // bytes in all arenas together; 0: DefaultLimit; rounded down to whole arenas, at least one
	// HugePages asks for transparent huge pages below the arenas.
	HugePages bool
	// Debug records the caller that took each buffer, so that leaks can be found. It fills released memory with 0xdb, so that reads
	// after release are noticed. After a write to released memory, the next Get of the buffer panics.
	Debug bool
}

// Pool has the buffers. Its methods are safe for concurrent use.
type Pool struct {
	cfg       Config
	maxArenas int

	mu      sync.Mutex
	arenas  []*Arena
	partial [classes][]*chunk // that have free buffers; LIFO
	waiters list.List         // of *waiter, in order of arrival
	hooks   []*func(*Arena)
	closed  bool
	inUse   int64 // buffers
	bytes   int64 // their capacity
}

type waiter struct {
	class int
	got   chan *Buf // capacity 1; closed without a value when the pool closes
}

// New returns a pool. Arenas are mapped as they are needed.
func New(cfg Config) *Pool {
	if cfg.Limit <= 0 {
		cfg.Limit = DefaultLimit
	}
	return &Pool{cfg: cfg, maxArenas: max(1, int(cfg.Limit/ArenaSize))}
}

// OnArena calls f with every existing arena, and later with each new one before any of its memory is used. After stop has
// returned, f is not called again. f must call neither the pool nor stop.
func (p *Pool) OnArena(f func(*Arena)) (stop func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.arenas {
		f(a)
	}
	h := &f
	p.hooks = append(p.hooks, h)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.hooks = slices.DeleteFunc(p.hooks, func(o *func(*Arena)) bool { return o == h })
	}
}

func classOf(n int) (int, error) {
	if n < 0 || n > MaxSize {
		return 0, fmt.Errorf("%w: %d bytes of at most %d", ErrTooLarge, n, MaxSize)
	}
	if n <= 1<<minShift {
		return 0, nil
	}
	return bits.Len(uint(n-1)) - minShift, nil
}

// SizeOf returns how many bytes of a pool a buffer of n bytes uses: its size class.
func SizeOf(n int) int {
	if n <= 1<<minShift {
		return 1 << minShift
	}
	return 1 << bits.Len(uint(n-1))
}

// Get returns a buffer of n bytes with undefined contents and one reference. It waits while the pool is exhausted, and returns
// ctx's error if ctx ends first. If not even the first arena can be mapped, it returns the system's error.
func (p *Pool) Get(ctx context.Context, n int) (*Buf, error) {
	c, err := classOf(n)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, ErrClosed
	}
	if p.waiters.Len() == 0 {
		b, err := p.takeLocked(c)
		if b != nil || err != nil && p.inUse == 0 {
			p.mu.Unlock()
			return p.hand(b, n), err
		}
	}
	w := &waiter{class: c, got: make(chan *Buf, 1)}
	e := p.waiters.PushBack(w)
	p.mu.Unlock()
	select {
	case b, ok := <-w.got:
		if !ok {
			return nil, ErrClosed
		}
		return p.hand(b, n), nil
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		select {
		case b, ok := <-w.got: // served in the meantime
			if ok {
				p.putLocked(b)
			}
		default:
			p.waiters.Remove(e)
			p.serveLocked() // those behind may want less
		}
		return nil, context.Cause(ctx)
	}
}

// TryGet is Get without waiting. It does not overtake waiting calls of Get.
func (p *Pool) TryGet(n int) (*Buf, bool) {
	c, err := classOf(n)
	if err != nil {
		return nil, false
	}
	p.mu.Lock()
	if p.closed || p.waiters.Len() > 0 {
		p.mu.Unlock()
		return nil, false
	}
	b, _ := p.takeLocked(c)
	p.mu.Unlock()
	return p.hand(b, n), b != nil
}

// hand prepares a buffer for its new owner.
func (p *Pool) hand(b *Buf, n int) *Buf {
	if b == nil {
		return nil
	}
	b.n = n
	b.refs.Store(1)
	if p.cfg.Debug {
		b.debugTaken()
	}
	return b
}

// serveLocked gives memory to waiting calls of Get, in order.
func (p *Pool) serveLocked() {
	for e := p.waiters.Front(); e != nil; e = p.waiters.Front() {
		w := e.Value.(*waiter)
		b, _ := p.takeLocked(w.class)
		if b == nil {
			return
		}
		p.waiters.Remove(e)
		w.got <- b
	}
}

// Stats describes the use of a pool.
type Stats struct {
	Buffers    int64 // handed out
	Bytes      int64 // their capacity
	Mapped     int64 // memory of all arenas
	Limit      int64
	WaitingFor int // callers of Get that wait
}

// Stats returns the current use.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{
		Buffers: p.inUse, Bytes: p.bytes,
		Mapped: int64(len(p.arenas)) * ArenaSize, Limit: int64(p.maxArenas) * ArenaSize,
		WaitingFor: p.waiters.Len(),
	}
}

// Close unmaps the arenas. If buffers are still in use, it fails and unmaps nothing.
func (p *Pool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	if p.inUse != 0 {
		return fmt.Errorf("slab: %d buffers are still in use", p.inUse)
	}
	p.closed = true
	for e := p.waiters.Front(); e != nil; e = e.Next() {
		close(e.Value.(*waiter).got)
	}
	p.waiters.Init()
	var errs []error
	for _, a := range p.arenas {
		errs = append(errs, unmapArena(a.Mem))
		a.Mem = nil
	}
	return errors.Join(errs...)
}
