package xdr

import (
	"bytes"
	"errors"
	"testing"

	"github.com/buildbarn/go-xdr/pkg/runtime"
)

// message is one of every kind of item.
func message() []byte {
	b := AppendUint32(nil, 0xdeadbeef)
	b = AppendUint64(b, 0x0123456789abcdef)
	b = AppendBool(AppendBool(b, true), false)
	b = AppendFixed(b, []byte("fixed"))
	b = AppendOpaque(b, []byte("opaque!"))
	b = AppendString(b, "string")
	b = AppendUint32(b, 2)
	b = AppendUint32(AppendUint32(b, 7), 8)
	return AppendOpaque(b, []byte("payload"))
}

type items struct {
	u32           uint32
	u64           uint64
	yes, no       bool
	fixed, opaque []byte
	str           string
	list          []uint32
	payload       []byte
}

func consume(d *Decoder) (m items) {
	m.u32, m.u64, m.yes, m.no = d.Uint32(), d.Uint64(), d.Bool(), d.Bool()
	m.fixed, m.opaque, m.str = d.Fixed(5), d.Opaque(7), d.String(6)
	for range d.Count(2, 4) {
		m.list = append(m.list, d.Uint32())
	}
	m.payload = d.Payload(7).Data
	return m
}

func TestRoundTrip(t *testing.T) {
	d := NewDecoder(message())
	m := consume(&d)
	if err := d.Finish(); err != nil {
		t.Fatal(err)
	}
	if m.u32 != 0xdeadbeef || m.u64 != 0x0123456789abcdef || !m.yes || m.no || string(m.fixed) != "fixed" || string(m.opaque) != "opaque!" ||
		m.str != "string" || len(m.list) != 2 || m.list[1] != 8 || string(m.payload) != "payload" {
		t.Fatalf("%+v", m)
	}
	if d.Pos() != uint32(len(message())) {
		t.Fatalf("position %d", d.Pos())
	}
}

func TestTruncated(t *testing.T) {
	b := message()
	for i := range b {
		d := NewDecoder(b[:i])
		consume(&d)
		if !errors.Is(d.Finish(), ErrShort) {
			t.Fatalf("prefix of %d bytes: %v", i, d.Err())
		}
		// Sticky: after an error there is nothing.
		if d.Uint32() != 0 || d.Uint64() != 0 || d.Bool() || d.Fixed(4) != nil || d.Opaque(4) != nil || d.String(4) != "" || d.Count(4, 4) != 0 || d.Payload(4).Data != nil || d.Len() != 0 {
			t.Fatal("values after an error")
		}
	}
}

func TestAgainstRuntime(t *testing.T) {
	var w bytes.Buffer
	check := func(ours []byte) {
		t.Helper()
		if !bytes.Equal(ours, w.Bytes()) {
			t.Fatalf("ours %x, theirs %x", ours, w.Bytes())
		}
		w.Reset()
	}
	for n := range 9 {
		data := bytes.Repeat([]byte{0xa5}, n)
		runtime.WriteVariableLengthOpaque(&w, 100, data)
		check(AppendOpaque(nil, data))
		if n > 0 {
			runtime.WriteFixedLengthOpaque(&w, data)
			check(AppendFixed(nil, data))
		}
	}
	runtime.WriteASCIIString(&w, 100, "hello")
	check(AppendString(nil, "hello"))
	runtime.WriteBool(&w, true)
	check(AppendBool(nil, true))
	runtime.WriteUnsignedInt(&w, 77)
	check(AppendUint32(nil, 77))
	runtime.WriteUnsignedHyper(&w, 1<<50)
	check(AppendUint64(nil, 1<<50))
}

func TestLimits(t *testing.T) {
	huge := AppendUint32(nil, 0xffffffff)
	for name, tt := range map[string]struct {
		b    []byte
		f    func(*Decoder)
		want error
	}{
		"opaque over the limit":  {AppendOpaque(nil, make([]byte, 9)), func(d *Decoder) { d.Opaque(8) }, ErrTooLong},
		"opaque of 4 GiB":        {huge, func(d *Decoder) { d.Opaque(1 << 40) }, ErrShort},
		"string over the limit":  {AppendString(nil, "123456789"), func(d *Decoder) { d.String(8) }, ErrTooLong},
		"count over the limit":   {AppendUint32(nil, 3), func(d *Decoder) { d.Count(2, 1) }, ErrTooLong},
		"count over the message": {AppendUint32(nil, 3), func(d *Decoder) { d.Count(1<<30, 4) }, ErrShort},
		"count of 4 Gi":          {huge, func(d *Decoder) { d.Count(1<<40, 1<<20) }, ErrShort},
		"payload over the limit": {AppendOpaque(nil, make([]byte, 9)), func(d *Decoder) { d.Payload(8) }, ErrTooLong},
		"payload of 4 GiB":       {huge, func(d *Decoder) { d.Payload(1 << 40) }, ErrShort},
		"negative length":        {make([]byte, 8), func(d *Decoder) { d.Fixed(-1) }, ErrShort},
		"boolean":                {AppendUint32(nil, 2), func(d *Decoder) { d.Bool() }, ErrBadValue},
		"trailing":               {make([]byte, 4), func(*Decoder) {}, ErrTrailing},
	} {
		t.Run(name, func(t *testing.T) {
			d := NewDecoder(tt.b)
			tt.f(&d)
			if err := d.Finish(); !errors.Is(err, tt.want) {
				t.Fatalf("%v, want %v", err, tt.want)
			}
		})
	}
}

// chunked is message with its payload in a chunk.
func chunked(c []byte) Decoder {
	b := message()
	return NewChunkedDecoder(b[:len(b)-8], nil, []Chunk{{Pos: uint32(len(b) - 8), Data: c}})
}

func TestChunk(t *testing.T) {
	for _, c := range []string{"payload", "payload\x00"} { // with and without pad
		d := chunked([]byte(c))
		if m := consume(&d); string(m.payload) != "payload" || d.Finish() != nil || d.Pos() != uint32(len(message())) {
			t.Fatalf("%q: %v", m.payload, d.Err())
		}
	}
	for _, c := range []string{"", "payloa", "payload\x00\x00"} {
		d := chunked([]byte(c))
		if consume(&d); !errors.Is(d.Finish(), ErrChunk) {
			t.Fatalf("chunk %q: %v", c, d.Err())
		}
	}
}

// TestChunkBetween: what follows the chunk goes on inline, at the position behind the pad.
func TestChunkBetween(t *testing.T) {
	b := AppendUint32(nil, 5)
	d := NewChunkedDecoder(AppendUint32(AppendUint32(b, 3), 77), nil, []Chunk{{Pos: 4, Data: []byte("12345")}, {Pos: 16, Data: []byte("abc")}})
	if p := d.Payload(5); string(p.Data) != "12345" || d.Pos() != 12 {
		t.Fatalf("%q at %d", p.Data, d.Pos())
	}
	if len(d.Chunks()) != 1 {
		t.Fatal(d.Chunks())
	}
	if p := d.Payload(5); string(p.Data) != "abc" || d.Pos() != 20 {
		t.Fatalf("%q at %d", p.Data, d.Pos())
	}
	if d.Uint32() != 77 || d.Finish() != nil {
		t.Fatal(d.Err())
	}
}

func TestChunkMisplaced(t *testing.T) {
	for name, tt := range map[string]struct {
		pos uint32
		f   func(*Decoder)
	}{
		"inside a word":   {2, func(d *Decoder) { d.Uint32() }},
		"no payload item": {4, func(d *Decoder) { d.Uint32(); d.Uint32() }},
		"an opaque":       {4, func(d *Decoder) { d.Opaque(100) }},
		"not consumed":    {8, func(d *Decoder) { d.Uint64() }},
	} {
		d := NewChunkedDecoder(words(4, 4, 4), nil, []Chunk{{Pos: tt.pos, Data: make([]byte, 4)}})
		if tt.f(&d); !errors.Is(d.Finish(), ErrChunk) {
			t.Errorf("%s: %v", name, d.Err())
		}
	}
}

func words(w ...uint32) (b []byte) {
	for _, v := range w {
		b = AppendUint32(b, v)
	}
	return b
}

// FuzzDecoder: the items and their order come from the input. Nothing panics, nothing
// is taken from outside the message, and what is decoded encodes to what was consumed.
func FuzzDecoder(f *testing.F) {
	f.Add([]byte{0, 1, 2, 2, 3, 4, 5, 6, 7}, message(), uint16(200), []byte("chunk"))
	f.Add([]byte{7}, AppendUint32(nil, 5), uint16(4), []byte("chunk"))
	f.Fuzz(func(t *testing.T, ops, b []byte, pos uint16, chunk []byte) {
		var chunks []Chunk
		if len(chunk) > 0 {
			chunks = []Chunk{{Pos: uint32(pos), Data: chunk}}
		}
		d := NewChunkedDecoder(b, nil, chunks)
		var again []byte
		for _, op := range ops {
			at := d.Pos()
			switch op % 8 {
			case 0:
				again = AppendUint32(again, d.Uint32())
			case 1:
				again = AppendUint64(again, d.Uint64())
			case 2:
				again = AppendBool(again, d.Bool())
			case 3:
				again = AppendFixed(again, d.Fixed(int(op/8)))
			case 4:
				again = AppendOpaque(again, d.Opaque(64))
			case 5:
				again = AppendString(again, d.String(64))
			case 6:
				n := d.Count(8, 1)
				again = AppendUint32(again, uint32(n))
			case 7:
				p := d.Payload(64)
				again = AppendOpaque(again, p.Data)
			}
			if d.Err() != nil {
				return
			}
			if d.Pos() < at || int(d.Pos()) != len(again) {
				t.Fatalf("position %d after %d bytes", d.Pos(), len(again))
			}
		}
		if d.Finish() == nil && len(chunks) == 0 && len(again) != len(b) {
			t.Fatalf("%d of %d bytes", len(again), len(b))
		}
	})
}
