package slab

// Arena is one mapping. It stays mapped at the same address until the pool closes.
type Arena struct {
	ID    int    // 0, 1, 2 … in order of creation
	Mem   []byte // ArenaSize bytes outside the Go heap
	class int    // -1: none
	bufs  []Buf
	used  int // buffers taken
}

// take finds a free buffer of the class; nil means that the pool is exhausted, an
// error that the system is. Called with mu held.
func (p *Pool) take(c int) (*Buf, error) {
	if len(p.free[c]) == 0 {
		a, err := p.room()
		if a == nil {
			return nil, err
		}
		p.carve(a, c)
	}
	l := p.free[c]
	b := l[len(l)-1]
	p.free[c] = l[:len(l)-1]
	b.arena.used++
	p.inUse++
	p.bytes += int64(b.size)
	return b, nil
}

// room finds an arena to carve: an empty one, a new one, or one that another
// class does not use at the moment. Called with mu held.
func (p *Pool) room() (*Arena, error) {
	if n := len(p.empty); n > 0 {
		a := p.empty[n-1]
		p.empty = p.empty[:n-1]
		return a, nil
	}
	var err error
	if len(p.arenas) < p.maxArenas {
		var mem []byte
		if mem, err = mapArena(ArenaSize, p.cfg.HugePages); err == nil {
			a := &Arena{ID: len(p.arenas), Mem: mem, class: -1}
			p.arenas = append(p.arenas, a)
			for _, f := range p.hooks {
				(*f)(a)
			}
			return a, nil
		}
	}
	for _, a := range p.arenas {
		if a.class >= 0 && a.used == 0 {
			p.reclaim(a)
			return a, nil
		}
	}
	return nil, err
}

// carve cuts an arena into buffers of a class. Called with mu held.
func (p *Pool) carve(a *Arena, c int) {
	size := 1 << (c + minShift)
	a.class = c
	a.bufs = make([]Buf, ArenaSize/size)
	for i := len(a.bufs) - 1; i >= 0; i-- {
		b := &a.bufs[i]
		b.pool, b.arena, b.off, b.size = p, a, i*size, size
		if p.cfg.Debug {
			b.debug = new(record)
		}
		p.free[c] = append(p.free[c], b)
	}
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
}

// put takes a buffer back. Called with mu held.
func (p *Pool) put(b *Buf) {
	p.inUse--
	p.bytes -= int64(b.size)
	b.arena.used--
	p.free[b.arena.class] = append(p.free[b.arena.class], b)
	p.serve()
}
