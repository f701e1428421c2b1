package slab

import (
	"testing"

	"pgregory.net/rapid"
)

// TestModel runs random programs against what a pool promises: buffers never
// overlap, stay within the limit, keep their contents, and whatever is released can
// be had again.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		arenas := rapid.IntRange(1, 3).Draw(t, "arenas")
		p := New(Config{Limit: int64(arenas) * ArenaSize})
		type held struct {
			b    *Buf
			refs int
		}
		var live []held
		stamp := func(b *Buf) byte { return byte(b.Arena().ID*31 + b.Offset()>>minShift) }
		t.Repeat(map[string]func(*rapid.T){
			"get": func(t *rapid.T) {
				n := 1 << rapid.IntRange(0, maxShift).Draw(t, "shift")
				b, ok := p.TryGet(n)
				if !ok {
					return
				}
				for _, h := range live {
					if h.b.Arena() == b.Arena() && h.b.Offset() < b.Offset()+b.Cap() && b.Offset() < h.b.Offset()+h.b.Cap() {
						t.Fatalf("buffers overlap: %d+%d, %d+%d", h.b.Offset(), h.b.Cap(), b.Offset(), b.Cap())
					}
				}
				b.Bytes()[0], b.Bytes()[n-1] = stamp(b), stamp(b)
				live = append(live, held{b, 1})
			},
			"retain": func(t *rapid.T) {
				if len(live) > 0 {
					h := &live[rapid.IntRange(0, len(live)-1).Draw(t, "which")]
					h.b.Retain()
					h.refs++
				}
			},
			"release": func(t *rapid.T) {
				if len(live) == 0 {
					return
				}
				i := rapid.IntRange(0, len(live)-1).Draw(t, "which")
				h := &live[i]
				if m := h.b.Bytes(); m[0] != stamp(h.b) || m[len(m)-1] != stamp(h.b) {
					t.Fatal("contents changed")
				}
				h.b.Release()
				if h.refs--; h.refs == 0 {
					live = append(live[:i], live[i+1:]...)
				}
			},
			"": func(t *rapid.T) {
				var bytes int64
				for _, h := range live {
					bytes += int64(h.b.Cap())
				}
				s := p.Stats()
				if s.Buffers != int64(len(live)) || s.Bytes != bytes || s.Mapped > int64(arenas)*ArenaSize || len(p.Leaks()) != len(live) {
					t.Fatalf("%d buffers of %d bytes: %+v", len(live), bytes, s)
				}
			},
		})
		for _, h := range live {
			for range h.refs {
				h.b.Release()
			}
		}
		// All of it can be had again, in the largest pieces.
		var all []*Buf
		for range arenas {
			b, ok := p.TryGet(MaxSize)
			if !ok {
				t.Fatal("memory was lost")
			}
			all = append(all, b)
		}
		for _, b := range all {
			b.Release()
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
