package proto

import (
	"math/bits"

	"fileserver/nfs/xdr"
)

// maxBitmap is how many words of a bitmap4 are accepted: more than any RFC assigns.
const maxBitmap = 8

// Bitmap is a bitmap4 of attributes, words 0 to 2 (RFC 8881 3.3.7).
type Bitmap [3]uint32

// Bits makes a bitmap of attribute numbers.
func Bits(attrs ...int) (m Bitmap) {
	for _, a := range attrs {
		m.Set(a)
	}
	return m
}

// Has reports whether the attribute is in the set.
func (m *Bitmap) Has(a int) bool { return m[a/32]&(1<<(a%32)) != 0 }

// Set adds the attribute.
func (m *Bitmap) Set(a int) { m[a/32] |= 1 << (a % 32) }

// Clear removes the attribute.
func (m *Bitmap) Clear(a int) { m[a/32] &^= 1 << (a % 32) }

// IsEmpty reports whether nothing is in the set.
func (m *Bitmap) IsEmpty() bool { return *m == Bitmap{} }

// And returns what is in both.
func (m Bitmap) And(o Bitmap) Bitmap { return Bitmap{m[0] & o[0], m[1] & o[1], m[2] & o[2]} }

// Or returns what is in either.
func (m Bitmap) Or(o Bitmap) Bitmap { return Bitmap{m[0] | o[0], m[1] | o[1], m[2] | o[2]} }

// Without returns what is in m but not in o.
func (m Bitmap) Without(o Bitmap) Bitmap { return Bitmap{m[0] &^ o[0], m[1] &^ o[1], m[2] &^ o[2]} }

// Next returns the lowest attribute at or behind a, or -1.
func (m *Bitmap) Next(a int) int {
	for w := a / 32; w < len(m); w++ {
		v := m[w]
		if w == a/32 {
			v &^= 1<<(a%32) - 1
		}
		if v != 0 {
			return w*32 + bits.TrailingZeros32(v)
		}
	}
	return -1
}

// DecodeBitmap consumes a bitmap4. beyond reports whether it held attributes that do not fit a Bitmap.
func DecodeBitmap(d *xdr.Decoder) (m Bitmap, beyond bool) {
	for i := range d.Count(maxBitmap, 4) {
		v := d.Uint32()
		switch {
		case i < len(m):
			m[i] = v
		case v != 0:
			beyond = true
		}
	}
	return m, beyond
}

// Append appends a bitmap4, without trailing words of zero.
func (m *Bitmap) Append(b []byte) []byte {
	n := len(m)
	for n > 0 && m[n-1] == 0 {
		n--
	}
	b = xdr.AppendUint32(b, uint32(n))
	for _, v := range m[:n] {
		b = xdr.AppendUint32(b, v)
	}
	return b
}
