package iwarp

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// recorder is a segmentHandler that takes everything and remembers it.
type recorder struct {
	segs   []segment
	data   [][]byte
	begun  int
	refuse int // the number of the segment to refuse; 0: none
}

func (r *recorder) begin(s *segment, control []byte) (placement, Reason) {
	r.begun++
	if r.begun == r.refuse {
		return placement{}, ReasonBounds
	}
	r.segs = append(r.segs, *s)
	if control != nil {
		r.data = append(r.data, bytes.Clone(control))
		return placement{}, 0
	}
	b := make([]byte, s.length)
	r.data = append(r.data, b)
	if s.length > 6 { // in uneven pieces
		return placement{cur: b[:1], rest: [][]byte{b[1:1], b[1:5], b[5:]}}, 0
	}
	return placement{cur: b}, 0
}

func (r *recorder) end(*segment) Reason { return 0 }

// program is a stream with segments of every kind and padding.
func program(crc bool) (stream []byte, ulpdus [][]byte) {
	add := func(u []byte) {
		ulpdus = append(ulpdus, u)
		stream = appendFPDU(stream, u, crc)
	}
	for n := range 6 {
		p := bytes.Repeat([]byte{byte(0x40 + n)}, n)
		add(ulpdu(segment{op: opWrite, tagged: true, last: n%2 == 0, stag: 7, to: 1 << 40}, p))
		add(sendSeg(1, 0, true, p))
		add(ulpdu(segment{op: opReadResponse, tagged: true, last: true, stag: 9}, append(p, "payload"...)))
	}
	add(readSeg(1, readRequest{size: 5}))
	add(ulpdu(segment{op: opTerminate, qn: 2, msn: 1, last: true}, make([]byte, 4)))
	return stream, ulpdus
}

// feed gives the stream to a machine in pieces that end where cut says.
func feed(s *stream, b []byte, cut func(i int) bool) (int, Reason) {
	start := 0
	for end := 1; end <= len(b); end++ {
		if end < len(b) && !cut(end) {
			continue
		}
		n, r := s.consume(b[start:end])
		start += n
		if r != 0 {
			return start, r
		}
	}
	return start, 0
}

func checkProgram(t *testing.T, rec *recorder, ulpdus [][]byte) {
	t.Helper()
	if len(rec.segs) != len(ulpdus) {
		t.Fatalf("%d segments of %d", len(rec.segs), len(ulpdus))
	}
	for i, u := range ulpdus {
		if got := ulpdu(rec.segs[i], rec.data[i]); !bytes.Equal(got, u) {
			t.Fatalf("segment %d is % x, want % x", i, got, u)
		}
	}
}

func TestStreamSplits(t *testing.T) {
	for _, crc := range []bool{false, true} {
		b, want := program(crc)
		cuts := map[string]func(int) bool{"whole": func(int) bool { return false }, "bytes": func(int) bool { return true }}
		for name, cut := range cuts {
			rec := &recorder{}
			if n, r := feed(&stream{h: rec, crc: crc}, b, cut); n != len(b) || r != 0 {
				t.Fatalf("%s: %d of %d bytes, %v", name, n, len(b), r)
			}
			checkProgram(t, rec, want)
		}
		for at := range b { // every split in two, and in three
			for _, second := range []int{at + 1, at + 7, len(b)} {
				rec := &recorder{}
				n, r := feed(&stream{h: rec, crc: crc}, b, func(i int) bool { return i == at || i == second })
				if n != len(b) || r != 0 {
					t.Fatalf("split at %d: %d of %d bytes, %v", at, n, len(b), r)
				}
				checkProgram(t, rec, want)
			}
		}
	}
}

// TestStreamSkip: payload that is read into place is the stream's business no more.
func TestStreamSkip(t *testing.T) {
	payload := bytes.Repeat([]byte("0123456789"), 5)
	b := appendFPDU(nil, write(1, 2, 50), false)
	copy(b[16:], payload)
	for have := range 50 {
		rec := &recorder{}
		s := &stream{h: rec}
		if n, r := s.consume(b[:16+have]); n != 16+have || r != 0 {
			t.Fatal(n, r)
		}
		if !s.inSeg || s.left != 50-have {
			t.Fatalf("%d bytes missing", s.left)
		}
		for i := have; i < 50; i++ { // as readv would
			s.dst.cur[0] = payload[i]
			s.skip(1)
			if s.left > 0 && len(s.dst.cur) == 0 {
				s.dst.advance(0)
			}
		}
		if n, r := s.consume(b[66:]); n != len(b)-66 || r != 0 || s.inSeg {
			t.Fatal(n, r)
		}
		if !bytes.Equal(rec.data[0], payload) {
			t.Fatalf("placed %q", rec.data[0])
		}
	}
}

// TestStreamPlacesNothingUnverified: with CRC, a segment reaches its handler only whole and sound.
func TestStreamPlacesNothingUnverified(t *testing.T) {
	b := appendFPDU(nil, sendSeg(1, 0, true, []byte("payload")), true)
	for i := range len(b) * 8 {
		bad := bytes.Clone(b)
		bad[i/8] ^= 1 << (i % 8)
		rec := &recorder{}
		s := &stream{h: rec, crc: true}
		_, r := s.consume(append(bad, make([]byte, maxFPDU)...))
		if r != ReasonCRC || rec.begun != 0 {
			t.Fatalf("bit %d: %v, %d segments", i, r, rec.begun)
		}
	}
}

func TestStreamStops(t *testing.T) {
	b, _ := program(false)
	rec := &recorder{refuse: 3}
	s := &stream{h: rec}
	n, r := s.consume(b)
	if r != ReasonBounds || len(rec.segs) != 2 {
		t.Fatalf("%v after %d segments", r, len(rec.segs))
	}
	if h, l := s.offender(); !bytes.Equal(h[:taggedLen], b[n+2:n+2+taggedLen]) || l != int(binary.BigEndian.Uint16(b[n:])) {
		t.Errorf("offender % x, %d", h, l)
	}
}

// FuzzStream: whatever comes, in whatever pieces, the segments are the same, lie
// inside the stream, and nothing panics.
func FuzzStream(f *testing.F) {
	for _, crc := range []bool{false, true} {
		b, _ := program(crc)
		f.Add(b, crc, uint8(3))
		f.Add(b[:len(b)-5], crc, uint8(1))
	}
	f.Add(appendFPDU(nil, make([]byte, 5), false), false, uint8(2))
	f.Fuzz(func(t *testing.T, b []byte, crc bool, step uint8) {
		whole, pieces := &recorder{}, &recorder{}
		sw, sp := &stream{h: whole, crc: crc}, &stream{h: pieces, crc: crc}
		nw, rw := sw.consume(b)
		k := int(step) + 1
		np, rp := feed(sp, b, func(i int) bool { return i%k == 0 })
		if nw != np || rw != rp || len(whole.segs) != len(pieces.segs) {
			t.Fatalf("whole: %d, %v, %d segments; in pieces: %d, %v, %d", nw, rw, len(whole.segs), np, rp, len(pieces.segs))
		}
		for i := range whole.segs {
			if whole.segs[i] != pieces.segs[i] || !bytes.Equal(whole.data[i], pieces.data[i]) {
				t.Fatalf("segment %d differs", i)
			}
		}
	})
}
