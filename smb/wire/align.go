package wire

// pad appends zeros until b is a multiple of n bytes longer than at.
func pad(b []byte, at, n int) []byte {
	for (len(b)-at)%n != 0 {
		b = append(b, 0)
	}
	return b
}

// align rounds v up to a multiple of n, a power of two.
func align(v, n uint64) uint64 { return (v + n - 1) &^ (n - 1) }

// put16 and put32 overwrite a number that was appended before it was known.
func put16(b []byte, at int, v int) { le.PutUint16(b[at:], uint16(v)) }
func put32(b []byte, at int, v int) { le.PutUint32(b[at:], uint32(v)) }

func zeros(b []byte, n int) []byte {
	for range n {
		b = append(b, 0)
	}
	return b
}

// Uint16s is a list of 16-bit numbers in wire form: dialects, ciphers, algorithms.
type Uint16s []byte

// AppendUint16s appends numbers to b in the wire form of [Uint16s].
func AppendUint16s[T ~uint16](b []byte, v ...T) Uint16s {
	for _, n := range v {
		b = le.AppendUint16(b, uint16(n))
	}
	return b
}

// Len returns how many numbers the list has.
func (u Uint16s) Len() int { return len(u) / 2 }

// At returns number i.
func (u Uint16s) At(i int) uint16 { return le.Uint16(u[2*i:]) }

// Has reports whether n is in the list.
func (u Uint16s) Has(n uint16) bool {
	for i := range u.Len() {
		if u.At(i) == n {
			return true
		}
	}
	return false
}
