package nfsrdma

import (
	"bytes"
	"testing"

	"fileserver/internal/slab"
	"fileserver/nfs/xdr"
)

// FuzzPrivateData: what a peer says of itself is within the bounds of RFC 8797, and survives being said again.
func FuzzPrivateData(f *testing.F) {
	f.Add([]byte{0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 3})
	f.Add([]byte{0xf6, 0xab, 0x0e, 0x18, 2, 1, 3, 3})
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		p := parsePrivate(b)
		for _, n := range []int{p.sendSize, p.recvSize} {
			if n < 1<<10 || n > 256<<10 || n%(1<<10) != 0 {
				t.Errorf("an inline threshold of %d bytes", n)
			}
		}
		if again := parsePrivate(p.append(nil)); again != p {
			t.Errorf("%+v became %+v", p, again)
		}
	})
}

// FuzzCall: a message of which parts came in Read chunks is the one that the client took them out of, whatever
// the header says; and the reply has the room behind the chunks. msg is header and message, steps is how it is decoded.
func FuzzCall(f *testing.F) {
	s := seg(1, 12, 0x1000)
	f.Add(hdr(procMsg).read(8, s).end().end().end().inline(16), []byte{1, 0, 5, 12, 1})
	f.Add(hdr(procNoMsg).read(0, seg(1, 40, 0)).read(16, s).end().end().end().inline(0), []byte{1, 1, 1, 4, 3})
	f.Add(hdr(procMsg).read(4, s).read(4, seg(2, 3, 0)).read(20, seg(3, 1, 0)).end().end().end().inline(12), []byte{1, 6, 15, 6, 1})
	f.Add(hdr(procMsg).end().end().array(seg(9, 8, 0)).inline(24), []byte{3, 8, 4, 4, 1})
	pool := slab.New(slab.Config{Limit: 4 * slab.ArenaSize})
	f.Fuzz(func(t *testing.T, msg, steps []byte) {
		k := &call{c: &Conn{inline: DefaultInline}}
		rest, err := k.hdr.parse(msg, 64<<10)
		if err != nil || k.hdr.proc == procDone || k.hdr.proc == procError {
			return
		}
		k.inline = rest
		chunks, total := k.ownLen()
		if total > 0 {
			var ok bool
			if k.own, ok = pool.TryGet(total); !ok {
				t.Fatalf("no memory for %d bytes", total)
			}
			defer k.own.Release()
			pattern(k.own.Bytes(), len(msg))
		}
		if len(k.hdr.reads) > 0 {
			k.placeChunks()
		}
		if k.outOff != chunks || chunks > total {
			t.Fatalf("the reply begins at %d of %d, the chunks have %d", k.outOff, total, chunks)
		}
		decodeAll(t, k, steps)
	})
}

// decodeAll decodes the call's message as steps says, and compares all that comes out with the message as it was.
func decodeAll(t *testing.T, k *call, steps []byte) {
	want := original(k)
	d := k.message()
	for len(steps) > 0 && d.Err() == nil {
		step := steps[0]
		steps = steps[1:]
		at := d.Pos()
		var got []byte
		switch step % 3 {
		case 0:
			got = xdr.AppendUint32(nil, d.Uint32())
		case 1:
			n := int(step) / 3
			got = d.Fixed(n)
		default:
			p := d.Payload(64 << 10)
			if d.Err() != nil {
				break
			}
			got = p.Data
			if uint64(at)+4+uint64(len(got)) > uint64(len(want)) || !bytes.Equal(got, want[at+4:][:len(got)]) {
				t.Fatalf("an item of %d bytes at %d is another", len(got), at)
			}
			continue
		}
		if d.Err() == nil && !bytes.Equal(got, want[at:][:len(got)]) {
			t.Fatalf("% x at %d, want % x", got, at, want[at:][:len(got)])
		}
	}
	if d.Finish() == nil && int(d.Pos()) != len(want) {
		t.Errorf("finished at %d of %d bytes", d.Pos(), len(want))
	}
}

// original is the message before the client took the chunks out.
func original(k *call) []byte {
	left, chunks := k.inline, k.chunks
	if k.hdr.hasPositionZero() {
		left, chunks = chunks[0].Data, chunks[1:]
	}
	var b []byte
	for _, c := range chunks {
		n := int(c.Pos) - len(b)
		b = append(b, left[:n]...)
		left = left[n:]
		b = append(b, c.Data...)
		b = append(b, make([]byte, xdr.Pad(len(c.Data)))...)
	}
	return append(b, left...)
}
