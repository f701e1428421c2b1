package rdma

import (
	"fmt"
	"math"
)

// This file splits transfers into work requests: pure functions of local pieces, remote segments and the limits of a
// device.

// limits are what one work request may hold.
type limits struct {
	sge int    // elements of its gather list
	msg uint32 // bytes
}

func limitsOf(c Caps, sge int) limits {
	l := limits{sge: max(1, sge), msg: math.MaxUint32}
	if c.MaxMsgSize > 0 && c.MaxMsgSize < math.MaxUint32 {
		l.msg = uint32(c.MaxMsgSize)
	}
	return l
}

// segmentsLen is how many bytes the segments hold together. A segment that
// reaches beyond the end of the address space is refused.
func segmentsLen(segs []Segment) (uint64, error) {
	var sum uint64
	for i, s := range segs {
		if uint64(s.Length) > math.MaxUint64-s.Addr {
			return 0, fmt.Errorf("%w: segment %d (0x%x+%d) wraps around", ErrSegments, i, s.Addr, s.Length)
		}
		sum += uint64(s.Length) // no overflow: fewer than 2^32 segments fit in memory
	}
	return sum, nil
}

// target is a position in a list of segments.
type target struct {
	segs []Segment
	used uint32 // of segs[0]
	wr   int    // 1 + index of the WRITE that ends exactly here; 0: none
}

// skip moves past segments that are used up, or empty.
func (t *target) skip() {
	for len(t.segs) > 0 && t.used == t.segs[0].Length {
		t.segs, t.used, t.wr = t.segs[1:], 0, 0
	}
}

// take advances by up to most bytes within one segment, and returns those bytes. At the
// end of the list n is 0.
func (t *target) take(most uint32) (addr uint64, rkey uint32, n uint32) {
	t.skip()
	if len(t.segs) == 0 {
		return 0, 0, 0
	}
	s := t.segs[0]
	addr, rkey, n = s.Addr+uint64(t.used), s.RKey, min(most, s.Length-t.used)
	t.used += n
	return addr, rkey, n
}

// left returns how many bytes there are from the position to the end.
func (t *target) left() uint64 {
	var sum uint64
	for _, s := range t.segs {
		sum += uint64(s.Length)
	}
	return sum - uint64(t.used)
}

// writeList is a list of WRITEs that is being built.
type writeList struct {
	wrs  []SendWR
	sges []SGE // those of wrs, one after the other
	last int   // bytes of the last WRITE
}

func (p *writeList) reset() {
	clear(p.wrs)
	p.wrs, p.sges, p.last = p.wrs[:0], p.sges[:0], 0
}

// add appends the WRITEs that bring piece to t, which must have room for it: a
// new request per segment and per lim.msg bytes. Where the request before ended
// at t, pieces are gathered into it up to lim.sge.
func (p *writeList) add(t *target, piece SGE, lim limits) {
	for piece.Length > 0 {
		t.skip()
		var w *SendWR
		most := min(piece.Length, lim.msg)
		if t.wr > 0 && t.wr == len(p.wrs) && uint32(p.last) < lim.msg && len(p.wrs[t.wr-1].SGL) < lim.sge {
			w = &p.wrs[t.wr-1]
			most = min(piece.Length, lim.msg-uint32(p.last))
		}
		addr, rkey, n := t.take(most)
		if n == 0 {
			panic("rdma: a WRITE beyond the remote segments")
		}
		start := len(p.sges)
		if w == nil {
			p.wrs = append(p.wrs, SendWR{Opcode: OpWrite, RemoteAddr: addr, RKey: rkey})
			w, p.last = &p.wrs[len(p.wrs)-1], 0
		} else {
			start -= len(w.SGL)
		}
		p.sges = append(p.sges, SGE{Addr: piece.Addr, Length: n, LKey: piece.LKey})
		w.SGL = p.sges[start:len(p.sges):len(p.sges)]
		p.last += int(n)
		t.wr = len(p.wrs)
		piece.Addr += uint64(n)
		piece.Length -= n
	}
}
