package rdma

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

// show prints a list of WRITEs: remote address/key, then each local piece.
func show(p *writeList) string {
	var s []string
	for _, w := range p.wrs {
		var l []string
		for _, g := range w.SGL {
			l = append(l, fmt.Sprintf("%d+%d", g.Addr, g.Length))
		}
		s = append(s, fmt.Sprintf("%d/%d<-%s", w.RemoteAddr, w.RKey, strings.Join(l, ",")))
	}
	return strings.Join(s, " ")
}

func seg(addr uint64, n, key uint32) Segment { return Segment{Addr: addr, Length: n, RKey: key} }

func TestPlanWrite(t *testing.T) {
	for _, c := range []struct {
		name   string
		lim    limits
		segs   []Segment
		pieces []int // lengths; they begin at 0, 1000, 2000 …
		want   string
	}{
		{"one", limits{4, 100}, []Segment{seg(7, 50, 1)}, []int{50}, "7/1<-0+50"},
		{"nothing", limits{4, 100}, []Segment{seg(7, 50, 1)}, []int{0}, ""},
		{"segment longer than data", limits{4, 100}, []Segment{seg(7, 50, 1), seg(0, 9, 2)}, []int{10}, "7/1<-0+10"},
		{"empty segments", limits{4, 100}, []Segment{seg(1, 0, 9), seg(7, 5, 1), seg(2, 0, 8), seg(3, 0, 8), seg(9, 5, 2), seg(0, 0, 7)},
			[]int{10}, "7/1<-0+5 9/2<-5+5"},
		{"message limit", limits{4, 30}, []Segment{seg(0, 100, 1)}, []int{100}, "0/1<-0+30 30/1<-30+30 60/1<-60+30 90/1<-90+10"},
		{"gathered", limits{4, 100}, []Segment{seg(0, 100, 1)}, []int{10, 20, 30}, "0/1<-0+10,1000+20,2000+30"},
		{"more pieces than elements", limits{2, 100}, []Segment{seg(0, 100, 1)}, []int{10, 10, 10, 10, 10},
			"0/1<-0+10,1000+10 20/1<-2000+10,3000+10 40/1<-4000+10"},
		{"more segments than elements", limits{2, 100}, []Segment{seg(10, 1, 1), seg(20, 1, 2), seg(30, 1, 3), seg(40, 1, 4)}, []int{4},
			"10/1<-0+1 20/2<-1+1 30/3<-2+1 40/4<-3+1"},
		{"piece across segments", limits{4, 100}, []Segment{seg(10, 15, 1), seg(30, 15, 2)}, []int{10, 10, 10},
			"10/1<-0+10,1000+5 30/2<-1005+5,2000+10"},
		{"gathered to the message limit", limits{4, 25}, []Segment{seg(0, 100, 1)}, []int{10, 10, 10, 10},
			"0/1<-0+10,1000+10,2000+5 25/1<-2005+5,3000+10"},
		{"nothing in between", limits{4, 100}, []Segment{seg(0, 100, 1)}, []int{10, 0, 10}, "0/1<-0+10,2000+10"},
		{"adjacent segments stay apart", limits{4, 100}, []Segment{seg(0, 10, 1), seg(10, 10, 1)}, []int{20}, "0/1<-0+10 10/1<-10+10"},
		{"up to the end of the address space", limits{1, math.MaxUint32}, []Segment{seg(math.MaxUint64-10, 10, 1)}, []int{10},
			"18446744073709551605/1<-0+10"},
	} {
		var p writeList
		to := target{segs: c.segs}
		for i, n := range c.pieces {
			p.add(&to, SGE{Addr: uint64(i * 1000), Length: uint32(n)}, c.lim)
		}
		if got := show(&p); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestPlanWriteTwoLists: a second list of segments begins a request of its own,
// also where it goes on at the same address.
func TestPlanWriteTwoLists(t *testing.T) {
	var p writeList
	lim := limits{4, 100}
	a := target{segs: []Segment{seg(0, 10, 1)}}
	p.add(&a, SGE{Addr: 0, Length: 10}, lim)
	b := target{segs: []Segment{seg(10, 10, 1)}}
	p.add(&b, SGE{Addr: 50, Length: 5}, lim)
	if got, want := show(&p), "0/1<-0+10 10/1<-50+5"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSegmentsLen(t *testing.T) {
	for _, c := range []struct {
		segs []Segment
		want uint64
		bad  bool
	}{
		{nil, 0, false},
		{[]Segment{seg(5, math.MaxUint32, 1), seg(5, math.MaxUint32, 1)}, 2 * math.MaxUint32, false},
		{[]Segment{seg(math.MaxUint64, 0, 1)}, 0, false},
		{[]Segment{seg(math.MaxUint64-9, 9, 1)}, 9, false},
		{[]Segment{seg(math.MaxUint64-9, 10, 1)}, 0, true},
		{[]Segment{seg(0, 1, 1), seg(math.MaxUint64, 1, 1)}, 0, true},
	} {
		n, err := segmentsLen(c.segs)
		if n != c.want || errors.Is(err, ErrSegments) != c.bad || (err != nil) != c.bad {
			t.Errorf("%v: %d, %v", c.segs, n, err)
		}
	}
}

func TestLimits(t *testing.T) {
	for size, want := range map[int64]uint32{0: math.MaxUint32, 100: 100, math.MaxUint32: math.MaxUint32, 1 << 40: math.MaxUint32} {
		if l := limitsOf(Caps{MaxMsgSize: size}, 0); l.msg != want || l.sge != 1 {
			t.Errorf("MaxMsgSize %d: %+v", size, l)
		}
	}
}

func TestWRID(t *testing.T) {
	for kind := range 4 {
		for _, c := range [][3]uint32{{0, 0, 0}, {maxSlots, indexMask, genMask}, {17, 12345, 999}} {
			k, n, i, g := splitID(wrID(kind, int(c[0]), c[1], c[2]))
			if k != kind || n != int(c[0]) || i != c[1] || g != c[2] {
				t.Errorf("%d %v: %d %d %d %d", kind, c, k, n, i, g)
			}
		}
	}
}

// fuzzSegments makes a list of segments of arbitrary bytes: 3 each.
func fuzzSegments(b []byte) (segs []Segment) {
	for ; len(b) >= 3; b = b[3:] {
		segs = append(segs, seg(uint64(b[0])<<16, uint32(b[1])*3, uint32(b[2])))
	}
	return segs
}

// FuzzWriteList executes plans against a model: every byte goes where it should, once,
// and no limit is exceeded.
func FuzzWriteList(f *testing.F) {
	f.Add([]byte{1, 10, 1, 2, 0, 2, 3, 20, 3}, []byte{5, 0, 90, 30}, uint8(2), uint16(40))
	f.Add([]byte{9, 255, 1}, []byte{255, 255}, uint8(0), uint16(0))
	f.Add([]byte{1, 1, 1, 1, 1, 1, 1, 1, 1}, []byte{1, 1, 1}, uint8(9), uint16(1))
	f.Fuzz(func(t *testing.T, s, pieces []byte, sge uint8, msg uint16) {
		segs := fuzzSegments(s)
		lim := limits{max(1, int(sge)), max(1, uint32(msg))}
		room, err := segmentsLen(segs)
		if err != nil {
			t.Fatal(err)
		}
		type place struct {
			at  uint64
			key uint32
		}
		var want []place // of each byte, in order
		for _, s := range segs {
			for i := range s.Length {
				want = append(want, place{s.Addr + uint64(i), s.RKey})
			}
		}
		if uint64(len(want)) != room {
			t.Fatalf("%d bytes of room, not %d", room, len(want))
		}
		var p writeList
		to := target{segs: segs}
		var source []uint64
		for i, n := range pieces {
			if uint64(n) > to.left() {
				break
			}
			for k := range uint64(n) {
				source = append(source, uint64(i)<<32+k)
			}
			p.add(&to, SGE{Addr: uint64(i) << 32, Length: uint32(n)}, lim)
			if to.left() != room-uint64(len(source)) {
				t.Fatalf("%d left of %d after %d", to.left(), room, len(source))
			}
		}
		k := 0
		for _, w := range p.wrs {
			n := uint64(0)
			if len(w.SGL) == 0 || len(w.SGL) > lim.sge {
				t.Fatalf("%d elements, limit %d", len(w.SGL), lim.sge)
			}
			for _, g := range w.SGL {
				if g.Length == 0 {
					t.Fatal("an empty element")
				}
				for j := range uint64(g.Length) {
					if source[k] != g.Addr+j || want[k] != (place{w.RemoteAddr + n, w.RKey}) {
						t.Fatalf("byte %d goes astray", k)
					}
					k++
					n++
				}
			}
			if n > uint64(lim.msg) {
				t.Fatalf("a message of %d bytes, limit %d", n, lim.msg)
			}
		}
		if k != len(source) {
			t.Fatalf("%d bytes of %d planned", k, len(source))
		}
	})
}

// FuzzTargetTake is the same for what a READ takes of a list.
func FuzzTargetTake(f *testing.F) {
	f.Add([]byte{1, 10, 1, 2, 0, 2, 3, 20, 3}, uint16(7))
	f.Add([]byte{0, 0, 0}, uint16(1))
	f.Fuzz(func(t *testing.T, s []byte, msg uint16) {
		segs := fuzzSegments(s)
		from := target{segs: segs}
		left := from.left()
		most := max(1, uint32(msg))
		i, used := 0, uint32(0)
		for left > 0 {
			addr, key, n := from.take(most)
			for used == segs[i].Length {
				i, used = i+1, 0
			}
			if n == 0 || n > most || addr != segs[i].Addr+uint64(used) || key != segs[i].RKey || n > segs[i].Length-used {
				t.Fatalf("took %d bytes at %d of segment %d", n, addr, i)
			}
			used += n
			left -= uint64(n)
			if from.left() != left {
				t.Fatalf("%d left, not %d", from.left(), left)
			}
		}
		if _, _, n := from.take(most); n != 0 {
			t.Fatal("took more than there is")
		}
	})
}
