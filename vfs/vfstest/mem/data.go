package mem

import "math/bits"

const (
	blockSize    = 4096
	regionBlocks = 64
)

type block [blockSize]byte

// region is the blocks of 256 KiB of a file; nil blocks are holes.
type region struct {
	blocks [regionBlocks]*block
	here   uint64 // bit i: blocks[i] is not nil
	shared uint64 // bit i: blocks[i] may be in use elsewhere, and is copied before it is written
}

// data is the content of a regular file. Bytes behind the end of the file are zero.
type data struct {
	regions map[uint64]*region
}

func (d *data) get(bi uint64) *block {
	if r := d.regions[bi/regionBlocks]; r != nil {
		return r.blocks[bi%regionBlocks]
	}
	return nil
}

// set puts a block into place, b nil removes it.
func (d *data) set(bi uint64, b *block, shared bool) {
	ri, i := bi/regionBlocks, bi%regionBlocks
	r := d.regions[ri]
	if r == nil {
		if b == nil {
			return
		}
		if d.regions == nil {
			d.regions = make(map[uint64]*region)
		}
		r = new(region)
		d.regions[ri] = r
	}
	bit := uint64(1) << i
	r.blocks[i] = b
	r.here |= bit
	r.shared &^= bit
	if shared {
		r.shared |= bit
	}
	if b == nil {
		r.here &^= bit
		if r.here == 0 {
			delete(d.regions, ri)
		}
	}
}

func (d *data) isShared(bi uint64) bool {
	r := d.regions[bi/regionBlocks]
	return r != nil && r.shared&(1<<(bi%regionBlocks)) != 0
}

// read fills p with what is at off.
func (d *data) read(p []byte, off uint64) {
	for len(p) > 0 {
		ri, in := off/(regionBlocks*blockSize), off%(regionBlocks*blockSize)
		n := min(uint64(len(p)), regionBlocks*blockSize-in)
		if r := d.regions[ri]; r != nil {
			r.read(p[:n], in)
		} else {
			clear(p[:n])
		}
		p, off = p[n:], off+n
	}
}

func (r *region) read(p []byte, off uint64) {
	for len(p) > 0 {
		i, in := off/blockSize, off%blockSize
		n := min(uint64(len(p)), blockSize-in)
		if b := r.blocks[i]; b != nil {
			copy(p[:n], b[in:])
		} else {
			clear(p[:n])
		}
		p, off = p[n:], off+n
	}
}

// nextData is the first block at or behind bi that is not a hole.
func (d *data) nextData(bi uint64) (uint64, bool) {
	ri := bi / regionBlocks
	if r := d.regions[ri]; r != nil {
		if rest := r.here >> (bi % regionBlocks) << (bi % regionBlocks); rest != 0 {
			return ri*regionBlocks + uint64(bits.TrailingZeros64(rest)), true
		}
	}
	best, found := uint64(0), false
	for i := range d.regions {
		if i > ri && (!found || i < best) {
			best, found = i, true
		}
	}
	if !found {
		return 0, false
	}
	return best*regionBlocks + uint64(bits.TrailingZeros64(d.regions[best].here)), true
}

// nextHole is the first block at or behind bi that is a hole.
func (d *data) nextHole(bi uint64) uint64 {
	for {
		r := d.regions[bi/regionBlocks]
		if r == nil {
			return bi
		}
		if n := uint64(bits.TrailingZeros64(^(r.here >> (bi % regionBlocks)))); n < regionBlocks-bi%regionBlocks {
			return bi + n
		}
		bi = (bi/regionBlocks + 1) * regionBlocks
	}
}

// from calls fn for all blocks at or behind bi that are not holes, below end, in any order. fn may remove them.
func (d *data) from(bi, end uint64, fn func(bi uint64)) {
	do := func(ri uint64, r *region) {
		for here := r.here; here != 0; here &= here - 1 {
			if b := ri*regionBlocks + uint64(bits.TrailingZeros64(here)); b >= bi && b < end {
				fn(b)
			}
		}
	}
	first, last := bi/regionBlocks, (end-1)/regionBlocks
	if end <= bi {
		return
	}
	if last-first < uint64(len(d.regions)) {
		for ri := first; ri <= last; ri++ {
			if r := d.regions[ri]; r != nil {
				do(ri, r)
			}
		}
		return
	}
	for ri, r := range d.regions {
		if ri >= first && ri <= last {
			do(ri, r)
		}
	}
}
