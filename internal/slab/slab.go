package slab

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
	// that leaks have a name and a use after release shows.
	Debug bool
}

// Pool hands out buffers. Its methods are safe for concurrent use.
type Pool struct {
	cfg       Config
	maxArenas int

	mu      sync.Mutex
	arenas  []*Arena
	free    [classes][]*Buf // LIFO
	empty   []*Arena        // wholly free, of no class
	waiters list.List       // of *waiter, in order of arrival
	hooks   []*func(*Arena)
	closed  bool

	inUse atomic.Int64 // buffers
	bytes atomic.Int64 // bytes, by capacity
}

type waiter struct {
	class int
	got   chan *Buf // capacity 1; closed without a value when the pool closes
}

// Arena is one mapping. It stays mapped at the same address until the pool closes.
type Arena struct {
	ID    int    // 0, 1, 2 … in order of creation
	Mem   []byte // ArenaSize bytes outside the Go heap
	class int    // -1: none
	bufs  []Buf
	used  int // buffers taken
}

// Buf is a reference-counted buffer.
type Buf struct {
	pool  *Pool
	arena *Arena
	off   int
	n     int
	refs  atomic.Int32
	stack string // Debug
}

// New makes a pool. Arenas are mapped as they are needed.
func New(cfg Config) *Pool {
	if cfg.Limit <= 0 {
		cfg.Limit = DefaultLimit
	}
	p := &Pool{cfg: cfg, maxArenas: max(1, int(cfg.Limit/ArenaSize))}
	p.waiters.Init()
	return p
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

// Get returns a buffer of n bytes, contents undefined, with one reference. It
// waits while the pool is exhausted; then its error is ctx's.
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
		if b := p.take(c); b != nil {
			p.mu.Unlock()
			return p.hand(b, n), nil
		}
	}
	w := &waiter{class: c, got: make(chan *Buf, 1)}
	e := p.waiters.PushBack(w)
	p.serve()
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
			p.serve()
		}
		return nil, context.Cause(ctx)
	}
}

// TryGet is Get without waiting.
func (p *Pool) TryGet(n int) (*Buf, bool) {
	c, err := classOf(n)
	if err != nil {
		return nil, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.waiters.Len() > 0 {
		return nil, false
	}
	b := p.take(c)
	if b == nil {
		return nil, false
	}
	return p.hand(b, n), true
}

func (p *Pool) hand(b *Buf, n int) *Buf {
	b.n = n
	b.refs.Store(1)
	p.inUse.Add(1)
	p.bytes.Add(int64(b.Cap()))
	if p.cfg.Debug {
		var pc [16]uintptr
		frames := runtime.CallersFrames(pc[:runtime.Callers(3, pc[:])])
		var s strings.Builder
		for {
			f, more := frames.Next()
			fmt.Fprintf(&s, "\n\t%s %s:%d", f.Function, f.File, f.Line)
			if !more {
				break
			}
		}
		p.mu2(func() { b.stack = s.String() })
	}
	return b
}

// mu2 exists because hand runs with and without the lock; debug records have one of their own.
var debugMu sync.Mutex

func (p *Pool) mu2(f func()) {
	debugMu.Lock()
	defer debugMu.Unlock()
	f()
}

// take finds a free buffer of the class. Called with mu held.
func (p *Pool) take(c int) *Buf {
	if l := p.free[c]; len(l) > 0 {
		b := l[len(l)-1]
		p.free[c] = l[:len(l)-1]
		b.arena.used++
		return b
	}
	var a *Arena
	switch {
	case len(p.empty) > 0:
		a = p.empty[len(p.empty)-1]
		p.empty = p.empty[:len(p.empty)-1]
	case len(p.arenas) < p.maxArenas:
		mem, err := mapArena(ArenaSize, p.cfg.HugePages)
		if err != nil {
			return nil // as good as exhausted; the waiter is served by a release
		}
		a = &Arena{ID: len(p.arenas), Mem: mem, class: -1}
		p.arenas = append(p.arenas, a)
		for _, f := range p.hooks {
			(*f)(a)
		}
	default:
		return nil
	}
	p.carve(a, c)
	return p.take(c)
}

func (p *Pool) carve(a *Arena, c int) {
	size := 1 << (c + minShift)
	a.class = c
	a.bufs = make([]Buf, ArenaSize/size)
	for i := len(a.bufs) - 1; i >= 0; i-- {
		b := &a.bufs[i]
		b.pool, b.arena, b.off = p, a, i*size
		p.free[c] = append(p.free[c], b)
	}
}

// put takes a buffer back. Called with mu held.
func (p *Pool) put(b *Buf) {
	a := b.arena
	a.used--
	p.free[a.class] = append(p.free[a.class], b)
	if a.used == 0 && p.waiters.Len() > 0 {
		p.reclaim(a)
	}
	p.serve()
}

// reclaim takes an arena without users away from its class. Called with mu held.
func (p *Pool) reclaim(a *Arena) {
	l := p.free[a.class][:0]
	for _, b := range p.free[a.class] {
		if b.arena != a {
			l = append(l, b)
		}
	}
	clear(p.free[a.class][len(l):])
	p.free[a.class] = l
	a.class, a.bufs = -1, nil
	p.empty = append(p.empty, a)
}

// serve hands memory to those who wait, in order. Called with mu held.
func (p *Pool) serve() {
	for e := p.waiters.Front(); e != nil; e = p.waiters.Front() {
		w := e.Value.(*waiter)
		b := p.take(w.class)
		if b == nil {
			for _, a := range p.arenas {
				if a.class >= 0 && a.used == 0 {
					p.reclaim(a)
					b = p.take(w.class)
					break
				}
			}
		}
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
		Buffers: p.inUse.Load(), Bytes: p.bytes.Load(),
		Mapped: int64(len(p.arenas)) * ArenaSize, Limit: int64(p.maxArenas) * ArenaSize,
		WaitingFor: p.waiters.Len(),
	}
}

// Leaks describes every buffer that has not been released; with Config.Debug it says who took it.
func (p *Pool) Leaks() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, a := range p.arenas {
		for i := range a.bufs {
			if b := &a.bufs[i]; b.refs.Load() > 0 {
				var stack string
				p.mu2(func() { stack = b.stack })
				out = append(out, fmt.Sprintf("buffer of %d bytes, %d references, taken at%s", b.n, b.refs.Load(), stack))
			}
		}
	}
	return out
}

// Close unmaps the arenas. It fails, and unmaps nothing, while buffers are handed out.
func (p *Pool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	if n := p.inUse.Load(); n != 0 {
		return fmt.Errorf("slab: %d buffers are still in use", n)
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

// Bytes is the buffer's memory, as long as asked for.
func (b *Buf) Bytes() []byte { return b.arena.Mem[b.off : b.off+b.n : b.off+b.Cap()] }

// Len is the length of Bytes.
func (b *Buf) Len() int { return b.n }

// Cap is how long Bytes can be made.
func (b *Buf) Cap() int { return 1 << (b.arena.class + minShift) }

// SetLen changes the length of Bytes to n, at most Cap. Only the sole owner may do so.
func (b *Buf) SetLen(n int) {
	if n < 0 || n > b.Cap() {
		panic(fmt.Sprintf("slab: length %d of a buffer of %d bytes", n, b.Cap()))
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

// Release gives one reference back; with the last the memory may be handed out again.
func (b *Buf) Release() {
	switch n := b.refs.Add(-1); {
	case n > 0:
		return
	case n < 0:
		panic("slab: buffer released twice")
	}
	p := b.pool
	p.inUse.Add(-1)
	p.bytes.Add(-int64(b.Cap()))
	if p.cfg.Debug {
		m := b.arena.Mem[b.off : b.off+b.Cap()]
		for i := range m {
			m[i] = 0xdb
		}
	}
	p.mu.Lock()
	p.put(b)
	p.mu.Unlock()
}
