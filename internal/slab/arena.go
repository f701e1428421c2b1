package slab

import "math/bits"

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
	chunks [chunks]*chunk // by where they begin
}

// chunk is a piece of an arena that is cut into buffers of one class: 256 KiB, or one buffer where that is larger. Were whole arenas cut, a
// few small buffers that are held for long, such as posted receives, would keep every other class from memory.
type chunk struct {
	arena *Arena
	index int // of the 256 KiB it begins with
	order int // it is 256 KiB << order
	class int
	bufs  []Buf
	used  int // buffers taken
}

// orderOf is how large the chunks of a class are.
func orderOf(class int) int { return max(0, class+minShift-chunkShift) }

// span is the part of a word that a chunk takes.
func span(index, order int) uint64 { return (1<<(1<<order) - 1) << index }

// fit finds the place for a chunk that breaks up the least: where the largest free block around it is smallest, by that block's
// order. It is over maxOrder where there is no place.
func (a *Arena) fit(order int) (index, around int) {
	for around = order; around <= maxOrder; around++ {
		for index = 0; index < chunks; index += 1 << around {
			whole := span(index, around)
			if a.vacant&whole != whole {
				continue
			}
			if around < maxOrder {
				if larger := span(index&^(1<<(around+1)-1), around+1); a.vacant&larger == larger {
					continue
				}
			}
			return index, around
		}
	}
	return 0, around
}

// take finds a free buffer of the class; nil means that the pool is exhausted, an
// error that the system is. Called with mu held.
func (p *Pool) take(c int) (*Buf, error) {
	if len(p.free[c]) == 0 {
		a, index, err := p.room(orderOf(c))
		if a == nil {
			return nil, err
		}
		p.carve(a, index, c)
	}
	l := p.free[c]
	b := l[len(l)-1]
	p.free[c] = l[:len(l)-1]
	if b.chunk.used++; b.chunk.used == 1 {
		p.idle--
	}
	p.inUse++
	p.bytes += int64(b.size)
	return b, nil
}

// room finds a place for a chunk: in an arena there is, in a new one, or where
// other classes use nothing at the moment. Called with mu held.
func (p *Pool) room(order int) (*Arena, int, error) {
	if a, index := p.place(order); a != nil {
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
	if p.idle > 0 {
		p.reclaim()
		if a, index := p.place(order); a != nil {
			return a, index, nil
		}
	}
	return nil, 0, err
}

// place finds the best place in the arenas there are. Called with mu held.
func (p *Pool) place(order int) (best *Arena, index int) {
	least := maxOrder + 1
	for _, a := range p.arenas {
		if bits.OnesCount64(a.vacant) < 1<<order {
			continue
		}
		if i, around := a.fit(order); around < least {
			best, index, least = a, i, around
		}
	}
	return best, index
}

// carve cuts a chunk into buffers of a class. Called with mu held.
func (p *Pool) carve(a *Arena, index, c int) {
	k := &chunk{arena: a, index: index, order: orderOf(c), class: c}
	a.vacant &^= span(index, k.order)
	a.chunks[index] = k
	size := 1 << (c + minShift)
	k.bufs = make([]Buf, chunkSize<<k.order/size)
	for i := len(k.bufs) - 1; i >= 0; i-- {
		b := &k.bufs[i]
		b.pool, b.arena, b.chunk, b.off, b.size = p, a, k, index*chunkSize+i*size, size
		if p.cfg.Debug {
			b.debug = new(record)
		}
		p.free[c] = append(p.free[c], b)
	}
	p.idle++
}

// reclaim takes all chunks of which nothing is used away from their classes. Called with mu held.
func (p *Pool) reclaim() {
	for c, l := range p.free {
		kept := l[:0]
		for _, b := range l {
			if b.chunk.used > 0 {
				kept = append(kept, b)
			}
		}
		clear(l[len(kept):])
		p.free[c] = kept
	}
	for _, a := range p.arenas {
		for i, k := range a.chunks {
			if k != nil && k.used == 0 {
				a.vacant |= span(i, k.order)
				a.chunks[i] = nil
			}
		}
	}
	p.idle = 0
}

// put takes a buffer back. Called with mu held.
func (p *Pool) put(b *Buf) {
	p.inUse--
	p.bytes -= int64(b.size)
	if b.chunk.used--; b.chunk.used == 0 {
		p.idle++
	}
	p.free[b.chunk.class] = append(p.free[b.chunk.class], b)
	p.serve()
}
