package smbdirect

import (
	"bytes"
	"testing"
	"time"

	"fileserver/internal/slab"
)

// FuzzAssembly: whatever fragments a peer sends, a message is what their data make, one behind the other, and no memory
// is kept. b is a list of SENDs: the low 7 bits of the first byte of each are its length, in units of 12 bytes, and the high
// bit makes it a good first fragment of what the next byte says.
func FuzzAssembly(f *testing.F) {
	f.Add([]byte{0x85, 3, 1, 2, 3}, true)
	f.Add([]byte{0xff, 200, 9, 0xff, 100, 0x7f, 1, 0x81, 0}, false)
	pool := slab.New(slab.Config{Limit: slab.ArenaSize})
	f.Fuzz(func(t *testing.T, b []byte, early bool) {
		now := time.Now()
		m := newMachine(Params{}.withDefaults(false), false, now)
		for range m.receives {
			m.posted()
		}
		if _, err := m.requested(usual().append(nil), now); err != nil {
			t.Fatal(err)
		}
		before := pool.Stats().Bytes
		var in assembly
		var want []byte
		defer func() {
			in.drop()
			if n := pool.Stats().Bytes - before; n != 0 {
				t.Errorf("%d bytes are kept", n)
			}
		}()
		for len(b) > 0 {
			m.posted()
			m.grant()
			var msg []byte
			if msg, b = nextSend(b, m); msg == nil {
				return
			}
			fr, err := m.received(msg, now)
			if err != nil {
				return
			}
			if fr.total > 0 {
				n := firstSize(fr, early)
				buf, ok := pool.TryGet(n + tailroom)
				if !ok || in.buf != nil {
					t.Fatalf("no memory, or a message that begins inside of another: %v", in)
				}
				in.begin(buf, n, fr)
				want = want[:0]
			}
			want = append(want, fr.data...)
			whole, err := in.add(fr, pool)
			if err != nil {
				t.Fatal(err)
			}
			if whole == nil {
				if len(want) > 0 && fr.last {
					t.Fatal("the last fragment makes no message")
				}
				continue
			}
			if !bytes.Equal(whole.Bytes(), want) {
				t.Fatalf("a message of %d bytes, the fragments have %d", whole.Len(), len(want))
			}
			if whole.Cap() < whole.Len()+tailroom {
				t.Fatal("no room for a cipher's tag")
			}
			whole.Release()
			want = want[:0]
		}
	})
}

// nextSend takes a SEND off the front of b: one as it is, or, so that messages become whole now and then, a good fragment.
func nextSend(b []byte, m *machine) (msg, rest []byte) {
	kind := b[0]
	b = b[1:]
	if kind < 0x80 {
		n := min(int(kind)*12, len(b))
		return b[:n:n], b[n:]
	}
	size := int(kind&0x7f) * 12
	remaining := 0
	switch {
	case m.assembling:
		size = min(size, int(m.left))
		remaining = int(m.left) - size
	case len(b) > 0:
		remaining = int(b[0]) << 8
		b = b[1:]
	}
	if size == 0 {
		remaining = 0
	}
	return data(255, 1, uint32(remaining), pattern(size)), b
}
