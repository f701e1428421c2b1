package workload

import (
	"encoding/binary"
	"fmt"
)

// Fill fills p with the data of a file with that seed, starting at offset off in bytes. Every byte depends on both, so that [Check]
// notices data of another file, of another offset, or of an earlier version (a different seed).
func Fill(p []byte, seed uint64, off int64) {
	var word [8]byte
	for i := 0; i < len(p); {
		at := off + int64(i)
		binary.LittleEndian.PutUint64(word[:], mix(seed^uint64(at/8)*0x9e3779b97f4a7c15))
		i += copy(p[i:], word[at%8:])
	}
}

// Check returns an error that names the first byte of p that [Fill] would not have written.
func Check(p []byte, seed uint64, off int64) error {
	want := make([]byte, len(p))
	Fill(want, seed, off)
	for i := range p {
		if p[i] != want[i] {
			return fmt.Errorf("byte %d is %#02x, want %#02x (%d of %d bytes from offset %d)", off+int64(i), p[i], want[i], i, len(p), off)
		}
	}
	return nil
}

// mix is a bijection that changes half of the bits on average (splitmix64's finaliser).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
