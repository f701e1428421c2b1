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
	// Debug records who took each buffer and fills released memory with 0xdb, so
	// that leaks have a name and a read after release shows. A write after release
	// panics when the buffer is handed out next.
	Debug bool
}

// Pool hands out buffers. Its methods are safe for concurrent use.
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

// New makes a pool. Arenas are mapped as they are needed.
func New(cfg Config) *Pool {
	if cfg.Limit <= 0 {
		cfg.Limit = DefaultLimit
	}
	return &Pool{cfg: cfg, maxArenas: max(1, int(cfg.Limit/ArenaSize))}
}

// OnArena calls f with every arena there is and, later, with each new one before
// any of its memory is handed out, until stop is called; once stop has returned
// f does not run any more. f must call neither the pool nor stop.
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

// SizeOf is what a buffer of n bytes takes of a pool, bytes: its size class.
func SizeOf(n int) int {
	if n <= 1<<minShift {
		return 1 << minShift
	}
	return 1 << bits.Len(uint(n-1))
}

// Get returns a buffer of n bytes, contents undefined, with one reference. It
// waits while the pool is exhausted; then its error is ctx's. Where not even the
// first buffer can be mapped the error is the system's.
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
		b, err := p.take(c)
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
				p.put(b)
			}
		default:
			p.waiters.Remove(e)
			p.serve() // those behind may want less
		}
		return nil, context.Cause(ctx)
	}
}

// TryGet is Get without waiting. It does not overtake those who wait.
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
	b, _ := p.take(c)
	p.mu.Unlock()
	return p.hand(b, n), b != nil
}

// hand makes a buffer taken ready for its new owner.
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

// serve hands memory to those who wait, in order. Called with mu held.
func (p *Pool) serve() {
	for e := p.waiters.Front(); e != nil; e = p.waiters.Front() {
		w := e.Value.(*waiter)
		b, _ := p.take(w.class)
		if b == nil {
			return
		}
		p.waiters.Remove(e)
		w.got <- b
	}
}

// Stats are figures of a pool.
type Stats struct {
	Buffers    int64 // handed out
	Bytes      int64 // their capacity
	Mapped     int64 // memory of all arenas
	Limit      int64
	WaitingFor int // callers of Get that wait
}

// Stats returns the figures of the moment.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{
		Buffers: p.inUse, Bytes: p.bytes,
		Mapped: int64(len(p.arenas)) * ArenaSize, Limit: int64(p.maxArenas) * ArenaSize,
		WaitingFor: p.waiters.Len(),
	}
}

// Close unmaps the arenas. It fails, and unmaps nothing, while buffers are handed out.
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
