package slab

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
)

// poison fills released memory of a pool with Config.Debug.
const poison = 0xdb

// record is the debug information about a buffer, with Config.Debug.
type record struct {
	mu       sync.Mutex
	pc       [16]uintptr // who took it
	n        int         // of pc
	poisoned bool
}

// debugTaken records the caller that takes the buffer. It panics if the buffer was written to after its release.
func (b *Buf) debugTaken() {
	r := b.debug
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.poisoned {
		for i, c := range b.arena.Mem[b.off : b.off+b.size] {
			if c != poison {
				panic(fmt.Sprintf("slab: byte %d of a buffer of %d was written after its release; it had been taken at%s", i, b.size, describe(r.pc[:r.n])))
			}
		}
	}
	r.n = runtime.Callers(4, r.pc[:])
}

func (b *Buf) debugReleased() {
	m := b.arena.Mem[b.off : b.off+b.size]
	for i := range m {
		m[i] = poison
	}
	b.debug.mu.Lock()
	defer b.debug.mu.Unlock()
	b.debug.poisoned = true
}

func describe(pc []uintptr) string {
	var s strings.Builder
	for frames := runtime.CallersFrames(pc); ; {
		f, more := frames.Next()
		fmt.Fprintf(&s, "\n\t%s %s:%d", f.Function, f.File, f.Line)
		if !more {
			return s.String()
		}
	}
}

// Leaks describes every buffer that has not been released. With Config.Debug it names the caller that took it.
func (p *Pool) Leaks() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, a := range p.arenas {
		for _, k := range a.chunks {
			if k == nil {
				continue
			}
			for i := range k.bufs {
				if b := &k.bufs[i]; b.refs.Load() > 0 {
					out = append(out, b.leak())
				}
			}
		}
	}
	return out
}

// leak describes a buffer.
func (b *Buf) leak() string {
	s := fmt.Sprintf("buffer of %d bytes, %d references", b.size, b.refs.Load())
	if b.debug != nil {
		b.debug.mu.Lock()
		s += ", taken at" + describe(b.debug.pc[:b.debug.n])
		b.debug.mu.Unlock()
	}
	return s
}
