package slab

import (
	"math/bits"
	"slices"
)

const (
	chunkShift = 18 // 256 KiB
	chunkSize  = 1 << chunkShift
	chunks     = ArenaSize / chunkSize // of an arena: as many as a word has bits
	maxOrder   = maxShift - chunkShift
)

// Arena is one mapping. It stays mapped at the same address until the pool closes.
type Arena struct {
	ID  int    // 0, 1, 2 … in order of creation
	Mem []byte // ArenaSize bytes outside the Go heap

	vacant uint64         // bit i: the i-th 256 KiB belong to no chunk
	idle   uint64         // bit i: they belong to a chunk of which no buffer is taken
	chunks [chunks]*chunk // by where they begin
}

// chunk is a piece of an arena that is cut into buffers of one class: 256 KiB, or one buffer if that is larger. If whole arenas
// were cut, a few small buffers that are held for long, such as posted receives, would block the memory for all other classes.
type chunk struct {
	arena *Arena
	index int // of the 256 KiB it begins with
	order int // it is 256 KiB << order
	class int
	bufs  []Buf
	free  []*Buf // LIFO
}

// orderOf returns the order of the chunks of a class.
func orderOf(class int) int { return max(0, class+minShift-chunkShift) }

// span returns the bits of a chunk in an arena's words.
func span(index, order int) uint64 { return (1<<(1<<order) - 1) << index }

// fit finds a place for a chunk in the free part of an arena. It chooses the smallest free block that is large enough, and
// returns the block's order as around. around is more than maxOrder if there is no place.
func fit(free uint64, order int) (index, around int) {
	for around = order; around <= maxOrder; around++ {
		for index = 0; index < chunks; index += 1 << around {
			whole := span(index, around)
			if free&whole != whole {
				continue
			}
			if around < maxOrder {
				if larger := span(index&^(1<<(around+1)-1), around+1); free&larger == larger {
					continue
				}
			}
			return index, around
		}
	}
	return 0, around
}

// takeLocked finds a free buffer of the class. It returns nil if the pool is exhausted, and an error if the system has no memory.
func (p *Pool) takeLocked(c int) (*Buf, error) {
	if len(p.partial[c]) == 0 {
		a, index, err := p.roomLocked(orderOf(c))
		if a == nil {
			return nil, err
		}
		p.partial[c] = append(p.partial[c], p.carveLocked(a, index, c))
	}
	last := len(p.partial[c]) - 1
	k := p.partial[c][last]
	if len(k.free) == len(k.bufs) {
		k.arena.idle &^= span(k.index, k.order)
	}
	b := k.free[len(k.free)-1]
	if k.free = k.free[:len(k.free)-1]; len(k.free) == 0 {
		p.partial[c][last] = nil
		p.partial[c] = p.partial[c][:last]
	}
	p.inUse++
	p.bytes += int64(b.size)
	return b, nil
}

// roomLocked finds a place for a chunk: in an existing arena, in a new one, or in idle chunks of other classes.
func (p *Pool) roomLocked(order int) (*Arena, int, error) {
	if a, index := p.placeLocked(order, false); a != nil {
		return a, index, nil
	}
	var err error
	if len(p.arenas) < p.maxArenas {
		var mem []byte
		if mem, err = mapArena(ArenaSize, p.cfg.HugePages); err == nil {
			a := &Arena{ID: len(p.arenas), Mem: mem, vacant: ^uint64(0)}
			p.arenas = append(p.arenas, a)
			for _, f := range p.hooks {
				(*f)(a)
			}
			return a, 0, nil
		}
	}
	if a, index := p.placeLocked(order, true); a != nil {
		p.reclaimLocked(a, span(index, order))
		return a, index, nil
	}
	return nil, 0, err
}

// placeLocked finds the best place for a chunk in the existing arenas. With idle it may use idle chunks, too.
func (p *Pool) placeLocked(order int, idle bool) (best *Arena, index int) {
	least := maxOrder + 1
	for _, a := range p.arenas {
		free := a.vacant
		if idle {
			free |= a.idle
		}
		if bits.OnesCount64(free) < 1<<order {
			continue
		}
		if i, around := fit(free, order); around < least {
			best, index, least = a, i, around
		}
	}
	return best, index
}

// carveLocked cuts a chunk into buffers of a class.
func (p *Pool) carveLocked(a *Arena, index, c int) *chunk {
	size := 1 << (c + minShift)
	k := &chunk{arena: a, index: index, order: orderOf(c), class: c}
	n := chunkSize << k.order / size
	k.bufs, k.free = make([]Buf, n), make([]*Buf, n)
	for i := range k.bufs {
		b := &k.bufs[i]
		b.pool, b.arena, b.chunk, b.off, b.size = p, a, k, index*chunkSize+i*size, size
		if p.cfg.Debug {
			b.debug = new(record)
		}
		k.free[n-1-i] = b
	}
	a.chunks[index] = k
	a.vacant &^= span(index, k.order)
	a.idle |= span(index, k.order)
	return k
}

// reclaimLocked takes the idle chunks that overlap a span away from their classes.
func (p *Pool) reclaimLocked(a *Arena, of uint64) {
	for i, k := range a.chunks {
		if k == nil || span(i, k.order)&of == 0 {
			continue
		}
		p.partial[k.class] = slices.DeleteFunc(p.partial[k.class], func(o *chunk) bool { return o == k })
		a.chunks[i] = nil
		a.idle &^= span(i, k.order)
		a.vacant |= span(i, k.order)
	}
}

// putLocked takes a released buffer back.
func (p *Pool) putLocked(b *Buf) {
	p.inUse--
	p.bytes -= int64(b.size)
	k := b.chunk
	if len(k.free) == 0 {
		p.partial[k.class] = append(p.partial[k.class], k)
	}
	k.free = append(k.free, b)
	if len(k.free) == len(k.bufs) {
		k.arena.idle |= span(k.index, k.order)
	}
	p.serveLocked()
}
